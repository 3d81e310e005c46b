"""Clients that reach the broker through another port than the one it listens on (`--advertise`), as behind NAT."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat_tests import remoting
from compat_tests.connections import Forwarder, Watch
from compat_tests.endpoints import Rocketwire
from rocketwire.compat.brokers.endpoint import running
from rocketwire.compat.brokers.ports import port_of
from rocketwire.compat.clients.client import Client, Clients, events
from rocketwire.compat.messages import Outgoing, assert_each_once, assert_same


@pytest.mark.usefixtures("only_rocketwire")  # Apache's broker can advertise an address, but no port
def test_the_client_goes_through_the_advertised_port(clients: Clients, tmp_path: Path) -> None:
    topic = "Advertised"
    messages = [Outgoing(body=f"around {i}", tags="T") for i in range(12)]
    with Forwarder() as forwarder:
        advertised = f"127.0.0.1:{forwarder.port}"
        with running(Rocketwire(tmp_path, settings={"fastRemoting": "false"}, advertise=advertised)) as endpoint:
            forwarder.target = port_of(endpoint.broker)
            client = Client(clients=clients, id="java-4.9.7", namesrv=endpoint.namesrv)
            with Watch(forwarder.target) as watch:
                client.run("CreateTopic", topic=topic, queues=2)
                assert remoting.broker_addresses(endpoint.namesrv, topic) == {advertised}
                got = client.run("Query", topic=topic, message=messages)
                received = client.only("received", "PushConcurrent", topic=topic, group="g", count=len(messages))

    assert forwarder.onward, "no client used the advertised port"
    assert watch.seen[forwarder.target] <= forwarder.onward, "a client went past it"
    for event in events(got, "sent"):
        assert event["offsetMsgId"][:16] == f"7F000001{forwarder.port:08X}"
    for event, message in zip(events(got, "by offset id"), messages, strict=True):
        assert_same(event, message)
    assert_each_once(received, messages)
    assert {event["storeHost"] for event in received} == {f"/{advertised}"}
