"""A real Apache broker registers with the name server under test; clients see its queues beside the endpoint's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compat_tests import remoting
from rocketwire.compat.brokers.apache import ApacheBroker
from rocketwire.compat.brokers.endpoint import Endpoint
from rocketwire.compat.brokers.ports import free_ports
from rocketwire.compat.clients.client import Client, Clients
from rocketwire.compat.messages import Outgoing, assert_each_once


@pytest.fixture
def second_broker(own_endpoint: Endpoint, tmp_path: Path) -> Iterator[ApacheBroker]:
    """Apache's broker, registered with the endpoint's name server."""
    _, port = free_ports()
    broker = ApacheBroker(tmp_path / "second", namesrv=own_endpoint.namesrv, port=port, name="apache-b")
    broker.start()
    try:
        yield broker
    finally:
        broker.stop()


def test_one_route_of_two_brokers(
    own_endpoint: Endpoint, second_broker: ApacheBroker, clients: Clients, unique: Callable[[str], str]
) -> None:
    topic = unique("Both")
    client = Client(clients=clients, id="java-4.9.7", namesrv=own_endpoint.namesrv)
    assert remoting.broker_addresses(own_endpoint.namesrv, "TBW102") == {own_endpoint.broker, second_broker.broker}

    (created,) = client.only("created", "CreateTopic", topic=topic, queues=3)
    queues = {tuple(queue.split(":")) for queue in created["queues"]}
    names = {name for name, _ in queues}
    assert len(names) == 2
    assert "apache-b" in names
    assert queues == {(name, str(queue)) for name in names for queue in range(3)}

    messages = [Outgoing(body=f"{i}", tags="T") for i in range(24)]
    sent = client.only("sent", "SendSync", topic=topic, message=messages)
    assert {event["broker"] for event in sent} == names
    received = client.only("received", "PushConcurrent", topic=topic, group="of_both", count=24)
    assert_each_once(received, messages)

    second_broker.stop()  # it says goodbye to the name server
    assert remoting.broker_addresses(own_endpoint.namesrv, topic) == {own_endpoint.broker}
    later = [Outgoing(body=f"later {i}") for i in range(6)]
    sent = client.only("sent", "SendSync", topic=topic, message=later)
    assert {event["broker"] for event in sent} == names - {"apache-b"}
