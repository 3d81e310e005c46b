"""Pull consumers of both front ends, against a real server."""

from __future__ import annotations

from typing import Any

import pytest

from rocketwire.remoting import Begin, Message, Queue, ReceivedMessage
from rocketwire.remoting.core import fetching
from rocketwire.remoting.errors import NoSuchTopic, Refused, SubscriptionInvalid
from rocketwire.wire.facts.codes import RequestCode, SerializeType
from rocketwire.wire.message import MessageRecord as Record
from rocketwire.wire.message import encode_record
from tests.cli.endpoint import Addresses, Answers, FakeAnswer, fake_server


def polled(consumer: Any, count: int) -> list[ReceivedMessage]:
    found: list[ReceivedMessage] = []
    while len(found) < count and (more := consumer.poll(60)):
        found += more
    return found


@pytest.fixture
def topic(front_end: Any, endpoint: Addresses, request: pytest.FixtureRequest) -> str:
    """A topic whose queue 1 has ten messages, with bodies, tags and numbers from 0 to 9."""
    name = f"T{abs(hash(request.node.nodeid))}"
    with front_end.producer("P", str(endpoint.name_server)) as producer:
        for number in range(10):
            tags = "even" if number % 2 == 0 else "odd"
            message = Message(name, b"%d" % number, tags=tags, properties={"number": str(number)})
            producer.send(message, queue=producer.queues(name)[1])
    return name


@pytest.mark.parametrize("serialize", SerializeType)
def test_it_fetches_and_commits(front_end: Any, endpoint: Addresses, topic: str, serialize: SerializeType) -> None:
    queue = Queue(topic, "broker-a", 1)
    with front_end.pull_consumer(topic, str(endpoint.name_server), max_messages=4, serialize=serialize) as consumer:
        assert consumer.queues(topic)[1] == queue
        consumer.assign(topic)
        assert [each.body for each in polled(consumer, 6)] == [b"%d" % number for number in range(8)]
        consumer.commit()
        assert consumer.committed(queue) == 8
        assert consumer.positions()[queue] == 8
    with front_end.pull_consumer(topic, str(endpoint.name_server)) as consumer:
        consumer.assign(topic, [queue])
        assert [each.body for each in consumer.poll(60)] == [b"8", b"9"]
        assert consumer.poll(0.05) == []
        assert consumer.positions() == {queue: 10}


def test_it_seeks_to_a_given_offset(front_end: Any, endpoint: Addresses, topic: str) -> None:
    queue = Queue(topic, "broker-a", 1)
    with front_end.pull_consumer("G", str(endpoint.name_server), max_messages=1) as consumer:
        consumer.assign(topic, [queue])
        (first,) = consumer.poll(60)
        consumer.seek(queue, 7)
        assert consumer.poll(60)[0].body == b"7"
        consumer.seek_to_first(queue)
        assert consumer.poll(60)[0].body == b"0"
        consumer.seek_to_end(queue)
        assert consumer.positions() == {queue: 10}
        consumer.seek_to_time(queue, first.store_timestamp)
        assert consumer.poll(60)[0].body == b"0"
        assert consumer.offset_at(queue, first.store_timestamp - 1000) == 0
        assert consumer.offset_at(queue, first.store_timestamp + 1_000_000) == 10
        assert (consumer.first_offset(queue), consumer.end_offset(queue)) == (0, 10)


def test_it_filters(front_end: Any, endpoint: Addresses, topic: str) -> None:
    with front_end.pull_consumer("G", str(endpoint.name_server)) as consumer:
        consumer.assign(topic, tags="odd || other")
        assert [each.body for each in polled(consumer, 5)] == [b"1", b"3", b"5", b"7", b"9"]


@pytest.mark.parametrize(("begin", "expected"), [(Begin.FIRST, 3), (Begin.LAST, 9), (0, 3), (5000, 5), (99_000, 9)])
def test_it_begins_at_a_given_place(front_end: Any, begin: Begin | int, expected: int) -> None:
    """Without a committed offset; the message at offset 3 was stored at 3 s, and so on."""

    def pulled(ext: dict[str, str]) -> FakeAnswer:
        offset = int(ext["queueOffset"])
        numbers = {"suggestWhichBrokerId": "0", "nextBeginOffset": "0", "minOffset": "3", "maxOffset": "9"}
        record = Record(topic="T", queue_id=0, body=b"x", queue_offset=offset, store_timestamp=offset * 1000)
        return FakeAnswer(0, numbers, encode_record(record))

    answers: Answers = {
        RequestCode.QUERY_CONSUMER_OFFSET: lambda _: FakeAnswer(22),
        RequestCode.GET_MIN_OFFSET: lambda _: FakeAnswer(0, {"offset": "3"}),
        RequestCode.GET_MAX_OFFSET: lambda _: FakeAnswer(0, {"offset": "9"}),
        RequestCode.PULL_MESSAGE: pulled,
    }
    with fake_server(answers) as server, front_end.pull_consumer("G", server.address, begin=begin) as consumer:
        consumer.assign("T")
        assert set(consumer.positions().values()) == {expected}
        assert all(consumer.committed(queue) is None for queue in consumer.queues("T"))


def test_what_is_no_assignment(front_end: Any, endpoint: Addresses, topic: str) -> None:
    with front_end.pull_consumer("G", str(endpoint.name_server)) as consumer:
        with pytest.raises(SubscriptionInvalid, match="no queue is assigned"):
            consumer.poll(0)
        with pytest.raises(SubscriptionInvalid, match="there is no such queue"):
            consumer.assign(topic, [Queue(topic, "broker-a", 99)])
        with pytest.raises(SubscriptionInvalid, match="is not assigned"):
            consumer.seek(Queue(topic, "broker-a", 1), 0)
        with pytest.raises(NoSuchTopic):
            consumer.assign("no-such-topic")
        with pytest.raises(SubscriptionInvalid, match="either tags or an SQL"):
            consumer.assign(topic, tags="a", sql="b > 1")


def test_refusals_end_a_poll_and_failures_that_pass_do_not(front_end: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "_LONGER_PAUSE", 0.05)
    reported = iter([FakeAnswer(2, remark="busy"), FakeAnswer(24, remark="not this one")])
    answers: Answers = {
        RequestCode.QUERY_CONSUMER_OFFSET: lambda _: FakeAnswer(0, {"offset": "0"}),
        RequestCode.PULL_MESSAGE: lambda ext: next(reported) if ext["queueId"] == "0" else None,
    }
    with fake_server(answers) as server, front_end.pull_consumer("G", server.address) as consumer:
        consumer.assign("T")
        with pytest.raises(Refused, match="code 24: not this one"):
            consumer.poll(60)


def test_a_broker_that_is_away_has_no_messages(front_end: Any) -> None:
    answers: Answers = {
        RequestCode.QUERY_CONSUMER_OFFSET: lambda _: FakeAnswer(0, {"offset": "0"}),
        RequestCode.PULL_MESSAGE: lambda _: None,
    }
    with fake_server(answers) as server, front_end.pull_consumer("G", server.address) as consumer:
        consumer.assign("T")
        server.close()
        assert consumer.poll(0.3) == []
