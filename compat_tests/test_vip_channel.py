"""Clients before 4.5 send to the broker's port - 2 by default (VIP channel)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from compat_tests.connections import Watch
from compat_tests.endpoints import Rocketwire
from compat_tests.programs import Programs
from rocketwire.compat.brokers.endpoint import Endpoint, running
from rocketwire.compat.brokers.ports import port_of
from rocketwire.compat.clients.client import Client, Clients
from rocketwire.compat.messages import Outgoing, assert_each_once

OLD = "4.4.0"
VIP_OFF = {"JAVA_TOOL_OPTIONS": "-Dcom.rocketmq.sendMessageWithVIPChannel=false"}
SENT = [Outgoing(body=f"VIP {i}", tags="T", keys=f"k{i}") for i in range(24)]


def send_and_consume(client: Client, topic: str, group: str) -> None:
    """Create the topic, send and let a push consumer take everything."""
    client.run("CreateTopic", topic=topic, queues=2)
    sent = client.only("sent", "SendSync", topic=topic, message=SENT)
    assert [event["status"] for event in sent] == ["SEND_OK"] * len(SENT)
    assert_each_once(client.only("received", "PushConcurrent", topic=topic, group=group, count=len(SENT)), SENT)


def test_an_old_client_sends_through_it(endpoint: Endpoint, clients: Clients, unique: Callable[[str], str]) -> None:
    port = port_of(endpoint.broker)
    client = Client(clients=clients, id=f"java-{OLD}", namesrv=endpoint.namesrv)
    with Watch(port, port - 2) as watch:
        send_and_consume(client, unique("Vip"), unique("vip"))
    assert watch.seen[port - 2], "no client connected to the VIP channel"


def test_a_new_client_does_not(endpoint: Endpoint, clients: Clients, unique: Callable[[str], str]) -> None:
    port = port_of(endpoint.broker)
    client = Client(clients=clients, id="java-4.9.7", namesrv=endpoint.namesrv)
    with Watch(port, port - 2) as watch:
        send_and_consume(client, unique("NoVip"), unique("no_vip"))
    assert watch.seen[port]
    assert not watch.seen[port - 2]


@pytest.mark.usefixtures("only_rocketwire")  # Apache's broker always opens it
def test_a_broker_without_it(programs: Programs, tmp_path: Path) -> None:
    broker = Rocketwire(tmp_path, settings={"fastRemoting": "false"})
    with running(broker) as endpoint, Clients(programs, VIP_OFF) as clients:
        port = port_of(endpoint.broker)
        with Watch(port, port - 2) as watch:
            send_and_consume(Client(clients=clients, id=f"java-{OLD}", namesrv=endpoint.namesrv), "Plain", "plain")
        assert watch.seen[port]
        assert not watch.seen[port - 2]
