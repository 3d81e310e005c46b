"""What a group has consumed outlives its clients and the server's restart; so do messages, topics and offsets."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from compat_tests.endpoints import Rocketwire
from rocketwire.compat.brokers.endpoint import Endpoint, running
from rocketwire.compat.brokers.ports import LOOPBACK, free_ports
from rocketwire.compat.brokers.processes import EndpointError
from rocketwire.compat.clients.client import Client, Clients, events
from rocketwire.compat.environment.artifacts import CLIENT_VERSIONS
from rocketwire.compat.messages import Outgoing, assert_each_once


def test_everything_outlives_a_restart_of_the_server(own_endpoint: Endpoint, clients: Clients) -> None:
    """All client versions share the one restart, which takes some seconds at Apache."""
    everyone = [
        (
            Client(clients=clients, id=f"java-{version}", namesrv=own_endpoint.namesrv),
            {"topic": f"Kept_{version.replace('.', '_')}", "group": f"kept_{version.replace('.', '_')}"},
        )
        for version in CLIENT_VERSIONS
    ]
    first = [Outgoing(body=f"before {i}", keys=f"k{i}", properties={"属性": str(i)}) for i in range(12)]
    second = [Outgoing(body=f"after {i}") for i in range(6)]
    for client, names in everyone:
        client.run("CreateTopic", topic=names["topic"], queues=3)
        client.run("SendSync", topic=names["topic"], message=first)
        assert_each_once(client.only("received", "PushConcurrent", names, count=12), first)
    own_endpoint.restart()
    for client, names in everyone:
        sent = client.only("sent", "SendSync", topic=names["topic"], message=second)
        assert {event["queueId"] for event in sent} == {0, 1, 2}
        assert_each_once(client.only("received", "PushConcurrent", names, count=6), second)
        got = client.run("PullAll", topic=names["topic"], group="reader", count=18)
        assert_each_once(events(got, "received"), [*first, *second])
        for key in ("k3", "k11"):
            (found,) = client.only("by key", "Query", topic=names["topic"], key=[key])
            assert found["keys"] == key


@pytest.mark.usefixtures("only_rocketwire")
def test_a_server_whose_port_is_taken_counts_as_not_started(tmp_path: Path) -> None:
    """Otherwise a test continues with whichever process has the port, and compares it with itself."""
    ports = free_ports()
    with (
        socket.create_server((LOOPBACK, ports[1])),
        pytest.raises(EndpointError, match="before it was ready"),
        running(Rocketwire(tmp_path, ports=ports)),
    ):
        pass
