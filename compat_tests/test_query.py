"""Messages found again by key, by offset message id and by unique key."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compat_tests import remoting, stored
from compat_tests.endpoints import Rocketwire
from compat_tests.remoting import Connection
from compat_tests.shared_store import assert_undamaged
from compat_tests.store_traffic import create_topic
from compat_tests.waiting import wait_until
from rocketwire.compat.brokers.endpoint import Endpoint
from rocketwire.compat.clients.client import Client, Clients
from rocketwire.compat.messages import Outgoing, assert_each_once

QUERY_MESSAGE = 12
PULL_RETRY_IMMEDIATELY = 20


def found_by(endpoint: Endpoint, topic: str, unique_key: str) -> list[int]:
    """The queue offsets of the messages that a broker finds by an id that a client made."""
    fields: dict[str, str | int] = {"topic": topic, "key": unique_key, "maxNum": 32}
    fields |= {"beginTimestamp": 0, "endTimestamp": 1 << 62, "_UNIQUE_KEY_QUERY": "true"}
    with Connection(endpoint.broker) as connection:
        body = connection.ask(QUERY_MESSAGE, fields).body
    return sorted(each.queue_offset for each in stored.records(body))


@pytest.mark.parametrize("version", ["5.5.0", "4.9.7"])
def test_a_batch_by_the_ids_that_its_consumer_and_its_producer_were_given(
    clients: Clients, own_endpoint: Endpoint, target: str, version: str
) -> None:
    """A 5.5.0 client gives the batch an id too. 4.9.7 stores it behind each message's own, and it alone counts then."""
    client = Client(clients=clients, id=f"java-{version}", namesrv=own_endpoint.namesrv)
    client.run("CreateTopic", topic="Batches", queues=1)
    messages = [Outgoing(body=f"{i}", tags="T", keys=f"key-{i}") for i in range(3)]
    (sent,) = client.only("sent", "SendBatch", topic="Batches", message=messages)
    received = client.only("received", "PullAll", topic="Batches", group="reader", count=3)
    assert_each_once(received, messages)
    client.run("Query", topic="Batches", key=["key-2"])  # then the index has them all
    seen, reported = [event["msgId"] for event in received], sent["msgId"].split(",")
    found = client.only("missing", "Query", topic="Batches", missing=[*seen, *sent["offsetMsgId"].split(",")])
    assert [event.get("found") for event in found] == [True] * 6
    if version == "4.9.7" or target == "apache-5.5.0":
        assert seen == reported
        assert [found_by(own_endpoint, "Batches", each) for each in seen] == [[0], [1], [2]]
    else:
        assert len({*seen, *reported}) == 4
        assert [found_by(own_endpoint, "Batches", each) for each in seen] == [[0, 1, 2]] * 3
        assert [found_by(own_endpoint, "Batches", each) for each in reported] == [[], [], []]
    if isinstance(own_endpoint, Rocketwire):
        own_endpoint.stop()
        assert_undamaged(own_endpoint.store)
        own_endpoint.start()
        assert found_by(own_endpoint, "Batches", seen[0])[0] == 0


def test_of_properties_that_a_client_sends_twice_the_last_count(swift: Endpoint, unique: Callable[[str], str]) -> None:
    """Those by which a message is delivered, found and filtered; one without a value is not there."""
    topic = unique("Twice")
    text = (
        "DELAY\x0118\x02TRAN_MSG\x01true\x02UNIQ_KEY\x01old\x02KEYS\x01a\x02TAGS\x01A\x02n\x011\x02"
        "DELAY\x010\x02TRAN_MSG\x01false\x02UNIQ_KEY\x01new\x02KEYS\x01b c\x02TAGS\x01B\x02n\x012\x02"
        "UNIQ_KEY\x01\x02KEYS\x01\x02TAGS\x01\x02n\x01"
    )
    with Connection(swift.broker) as connection:
        create_topic(connection, topic, 1)
        assert connection.ask(*remoting.send(topic, properties=text)).code == 0
    wait_until(lambda: found_by(swift, topic, "new") == [0])  # Apache's index is filled behind the log
    assert found_by(swift, topic, "b") == found_by(swift, topic, "c") == [0]
    assert found_by(swift, topic, "old") == found_by(swift, topic, "a") == []
    assert [pulled(swift, topic, expression) for expression in ("A", "B", "n = 1", "n = 2")] == [0, 1, 0, 1]


def pulled(endpoint: Endpoint, topic: str, expression: str) -> int:
    """How many messages of queue 0 a pull with a filter brings."""
    kind = "SQL92" if "=" in expression else "TAG"
    answer = remoting.request(endpoint.broker, *remoting.pull(topic, subscription=expression, expressionType=kind))
    assert answer.code in {0, PULL_RETRY_IMMEDIATELY}, answer
    return len(list(stored.records(answer.body)))
