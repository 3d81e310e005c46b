"""Messages found again by key, by offset message id and by unique key."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from compat_tests import stored
from compat_tests.endpoints import Rocketwire
from compat_tests.remoting import Connection
from compat_tests.store_traffic import create_topic
from compat_tests.test_store_verify import verified
from rocketwire.compat.brokers.endpoint import Endpoint
from rocketwire.compat.clients.client import Client, Clients, events
from rocketwire.compat.messages import Outgoing, assert_each_once, assert_same

PULL_MESSAGE = 11
QUERY_MESSAGE = 12
SEND_MESSAGE_V2 = 310
PULL_RETRY_IMMEDIATELY = 20
PULL_WITH_FILTER = 4


def test_by_key_and_by_ids(client: Client, topic: str) -> None:
    messages = [
        Outgoing(body="one", tags="T", keys="order-1 shared", properties={"属性": "值"}),
        Outgoing(body="two", tags="T", keys="order-2 shared"),
        Outgoing(body="三", keys="订单"),
        Outgoing(body="no key"),
    ]
    got = client.run("Query", topic=topic, message=messages, key=["order-1", "shared", "订单"])
    found = {
        key: [event for event in events(got, "by key") if event["key"] == key] for key in ("order-1", "shared", "订单")
    }
    assert_each_once(found["order-1"], messages[:1])
    assert_each_once(found["shared"], messages[:2])
    assert_each_once(found["订单"], messages[2:3])
    for how in ("by offset id", "by unique key"):
        looked_up = events(got, how)
        assert len(looked_up) == len(messages)
        for event, message in zip(looked_up, messages, strict=True):
            assert_same(event, message)
    for sent, event in zip(events(got, "sent"), events(got, "by offset id"), strict=True):
        assert (event["queueId"], event["queueOffset"]) == (sent["queueId"], sent["queueOffset"])


def test_no_more_than_asked_for(client: Client, topic: str) -> None:
    messages = [Outgoing(body=f"{i}", keys="same") for i in range(19)]
    messages.append(Outgoing(body="19", keys="same last"))  # once "last" is found, the index has them all
    got = client.run("Query", topic=topic, message=messages, key=["last", "same"], most=5)
    newest = sorted(int(event["text"]) for event in events(got, "by key") if event["key"] == "same")
    assert newest == [15, 16, 17, 18, 19]


def test_a_key_nobody_sent(client: Client, topic: str) -> None:
    client.run("SendSync", topic=topic, message=[Outgoing(body="x", keys="other")])
    (nothing,) = client.only("nothing", "QueryMissing", topic=topic, key="nobody")
    assert nothing["code"] in {17, 208}  # TOPIC_NOT_EXIST: what 4.x clients say when no broker knows; 208 is NO_MESSAGE


def test_an_id_past_the_log(client: Client, topic: str) -> None:
    """An offset message id with a physical offset that was never written."""
    (sent,) = client.only("sent", "SendSync", topic=topic, message=[Outgoing(body="x")])
    missing = sent["offsetMsgId"][:16] + f"{1 << 40:016X}"
    (answer,) = client.only("missing", "Query", topic=topic, missing=[missing])
    assert answer.get("found") is not True


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
    seen, told = [event["msgId"] for event in received], sent["msgId"].split(",")
    found = client.only("missing", "Query", topic="Batches", missing=[*seen, *sent["offsetMsgId"].split(",")])
    assert [event.get("found") for event in found] == [True] * 6
    if version == "4.9.7" or target == "apache-5.5.0":
        assert seen == told
        assert [found_by(own_endpoint, "Batches", each) for each in seen] == [[0], [1], [2]]
    else:
        assert len({*seen, *told}) == 4
        assert [found_by(own_endpoint, "Batches", each) for each in seen] == [[0, 1, 2]] * 3
        assert [found_by(own_endpoint, "Batches", each) for each in told] == [[], [], []]
    if isinstance(own_endpoint, Rocketwire):
        own_endpoint.stop()
        verified(own_endpoint.store)
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
    fields: dict[str, str | int] = {"a": "producers", "b": topic, "c": "TBW102", "d": 1, "e": 0, "f": 0, "g": 1}
    fields |= {"h": 0, "i": text, "j": 0, "k": "false", "m": "false"}
    with Connection(swift.broker) as connection:
        create_topic(connection, topic, 1)
        assert connection.ask(SEND_MESSAGE_V2, fields, b"body").code == 0
    end = time.monotonic() + 60
    while not (found := found_by(swift, topic, "new")):  # Apache's index is filled behind the log
        assert time.monotonic() < end
        time.sleep(0.1)
    assert found == found_by(swift, topic, "b") == found_by(swift, topic, "c") == [0]
    assert found_by(swift, topic, "old") == found_by(swift, topic, "a") == []
    assert [pulled(swift, topic, expression) for expression in ("A", "B", "n = 1", "n = 2")] == [0, 1, 0, 1]


def pulled(endpoint: Endpoint, topic: str, expression: str) -> int:
    """How many messages of queue 0 a pull with a filter brings."""
    fields: dict[str, str | int] = {"consumerGroup": "readers", "topic": topic, "queueId": 0, "queueOffset": 0}
    fields |= {"maxMsgNums": 32, "sysFlag": PULL_WITH_FILTER, "commitOffset": 0, "suspendTimeoutMillis": 0}
    fields |= {"subscription": expression, "subVersion": 0, "expressionType": "SQL92" if "=" in expression else "TAG"}
    with Connection(endpoint.broker) as connection:
        answer = connection.ask(PULL_MESSAGE, fields)
    assert answer.code in {0, PULL_RETRY_IMMEDIATELY}, answer
    return len(list(stored.records(answer.body)))
