"""Producers of both front ends, against a real server."""

from __future__ import annotations

import zlib
from typing import Any

import pytest

from rocketwire.remoting import Credentials, Message, Producer, Queue, SendStatus
from rocketwire.remoting import trio as for_trio
from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.remoting.errors import (
    ClientClosed,
    MessageInvalid,
    NameServersInvalid,
    NoSuchTopic,
    NotReached,
    Refused,
)
from rocketwire.remoting.requests import pull_header
from rocketwire.wire.facts.codes import RequestCode, SerializeType
from rocketwire.wire.message import MessageRecord as Record
from rocketwire.wire.message import decode_record
from rocketwire.wire.properties import decode_stored_properties
from rocketwire.wire.signature import SecretKey
from tests.cli.endpoint import Addresses, Answers, FakeAnswer, fake_server
from tests.server.harness import free_port
from tests.server.processes import eventually


def stored(endpoint: Addresses, topic: str) -> list[Record]:
    """All messages of a topic, by queue."""
    found = []
    with BlockingCluster(str(endpoint.name_server)) as cluster:
        for broker, number in cluster.readable_queues(topic):
            answer = cluster.broker(broker).ask(
                RequestCode.PULL_MESSAGE, pull_header(topic, number, 0, most=32, group="G"), fine=(0, 19, 20, 21)
            )
            body = bytes(answer.body)
            while body:
                found.append(decode_record(body))
                body = body[int.from_bytes(body[:4], "big") :]
    return found


@pytest.mark.parametrize("serialize", SerializeType)
def test_a_message_is_stored_as_it_was_given(front_end: Any, endpoint: Addresses, serialize: SerializeType) -> None:
    topic = f"Whole_{front_end.name}_{serialize.name}"
    message = Message(topic, b"hello", tags="a", keys=["k1", "k2"], properties={"colour": "blue"}, order_key="o")
    with front_end.producer("P", str(endpoint.name_server), serialize=serialize) as producer:
        result = producer.send(message)
    (record,) = stored(endpoint, topic)
    properties = decode_stored_properties(record.properties)
    assert record.body == b"hello"
    expected = {"TAGS": "a", "KEYS": "k1 k2", "colour": "blue", "__SHARDINGKEY": "o", "UNIQ_KEY": result.message_id}
    assert properties.items() >= expected.items()
    assert result.status is SendStatus.OK
    assert result.queue == Queue(topic, "broker-a", record.queue_id)
    assert result.queue_offset == 0
    assert result.offset_message_id.endswith(f"{record.physical_offset:016X}")
    assert len(result.message_id) == 32


def test_one_key_may_be_given_as_a_text(front_end: Any, endpoint: Addresses) -> None:
    topic = f"OneKey_{front_end.name}"
    with front_end.producer("P", str(endpoint.name_server)) as producer:
        producer.send(Message(topic, b"x", keys="ORDER-7"))
        producer.send_batch([Message(topic, b"y", keys="ORDER-8")])
    found = {decode_stored_properties(record.properties)["KEYS"] for record in stored(endpoint, topic)}
    assert found == {"ORDER-7", "ORDER-8"}


def test_large_bodies_are_compressed(front_end: Any, endpoint: Addresses) -> None:
    topic = f"Large_{front_end.name}"
    with front_end.producer("P", str(endpoint.name_server)) as producer:
        producer.send(Message(topic, b"x" * 10_000))
    (record,) = stored(endpoint, topic)
    assert zlib.decompress(record.body) == b"x" * 10_000
    assert record.sys_flag & 1


def test_a_batch_is_stored_in_order_in_one_queue(front_end: Any, endpoint: Addresses) -> None:
    topic = f"Batch_{front_end.name}"
    with front_end.producer("P", str(endpoint.name_server)) as producer:
        result = producer.send_batch([Message(topic, b"%d" % number, tags="t") for number in range(5)])
    records = stored(endpoint, topic)
    assert [record.body for record in records] == [b"0", b"1", b"2", b"3", b"4"]
    assert {record.queue_id for record in records} == {result.queue.queue_id}
    assert tuple(decode_stored_properties(each.properties)["UNIQ_KEY"] for each in records) == result.message_ids
    assert result.offset_message_id.count(",") == 4


def test_one_way_sends_arrive_too(front_end: Any, endpoint: Addresses) -> None:
    topic = f"OneWay_{front_end.name}"
    with front_end.producer("P", str(endpoint.name_server)) as producer:
        producer.send(Message(topic, b"makes the topic"))
        producer.send_oneway(Message(topic, b"alone"))
        assert eventually(lambda: len(stored(endpoint, topic)) == 2)


def test_sends_take_turns_and_keys_keep_their_queue(front_end: Any, endpoint: Addresses) -> None:
    topic = f"Turns_{front_end.name}"
    with front_end.producer("P", str(endpoint.name_server)) as producer:
        assert len({producer.send(Message(topic, b"x")).queue for _ in range(4)}) == 4
        assert {producer.send(Message(topic, b"x", order_key="ORDER-7")).queue.queue_id for _ in range(3)} == {0}
        queue = producer.queues(topic)[2]
        assert producer.send(Message(topic, b"x"), queue=queue).queue == queue
        with pytest.raises(MessageInvalid, match="there is no such queue"):
            producer.send(Message(topic, b"x"), queue=Queue(topic, "nowhere", 0))


def test_delays_are_set_by_properties(front_end: Any) -> None:
    seen: list[str] = []

    def store(ext: dict[str, str]) -> FakeAnswer:
        seen.append(ext["i"])
        return FakeAnswer(0, {"msgId": "0" * 32, "queueId": ext["e"], "queueOffset": "0", "recallHandle": "handle"})

    with (
        fake_server({RequestCode.SEND_MESSAGE_V2: store}) as server,
        front_end.producer("P", server.address) as producer,
    ):
        producer.send(Message("T", b"x", delay_level=3))
        assert producer.send(Message("T", b"x", deliver_at_ms=1_700_000_000_000)).recall_handle == "handle"
    assert "DELAY\x013" in seen[0]
    assert "TIMER_DELIVER_MS\x011700000000000" in seen[1]


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (Message("T", b""), "at least one byte"),
        (Message("T", b"x" * (4 << 20) + b"x"), "a body of 4194305 bytes: 4194304 are allowed"),
        (Message("not a topic", b"x"), "illegal characters"),
        (Message("SCHEDULE_TOPIC_XXXX", b"x"), "is forbidden"),
        (Message("T", b"x", keys="a b"), "nor have blanks"),
        (Message("T", b"x", keys=["a b"]), "nor have blanks"),
        (Message("T", b"x", properties={"TAGS": "a"}), "property TAGS: use the argument tags"),
        (Message("T", b"x", properties={"a": "\x02"}), "separators"),
        (Message("T", b"x", properties={"a": "x" * 40_000}), "32767 are allowed"),
        (Message("T", b"x", delay_level=-1), "delay level -1"),
    ],
)
def test_what_cannot_be_sent(front_end: Any, message: Message, text: str) -> None:
    with fake_server() as server, front_end.producer("P", server.address) as producer:
        with pytest.raises(MessageInvalid, match=text):
            producer.send(message)
        assert RequestCode.SEND_MESSAGE_V2 not in [code for code, _ in server.requests]


def test_what_cannot_be_sent_in_a_batch(front_end: Any) -> None:
    one = Message("T", b"x")
    with fake_server() as server, front_end.producer("P", server.address, max_message_size=100) as producer:
        for others, text in (
            ([], "at least one message"),
            ([one, Message("U", b"x")], "one topic"),
            ([one, Message("T", b"x", delay_level=1)], "later"),
            ([one] * 5, "100 are allowed"),
        ):
            with pytest.raises(MessageInvalid, match=text):
                producer.send_batch(others)


def test_a_refused_send_is_repeated_if_that_may_help(front_end: Any) -> None:
    codes = iter([2, 14, 0, 13])
    fine = {"msgId": "0" * 32, "queueId": "0", "queueOffset": "5"}
    answers: Answers = {RequestCode.SEND_MESSAGE_V2: lambda _: FakeAnswer(next(codes), fine, remark="as wanted")}
    with fake_server(answers) as server, front_end.producer("P", server.address, retries=2) as producer:
        assert producer.send(Message("T", b"x")).queue_offset == 5
        with pytest.raises(Refused, match="code 13: as wanted"):
            producer.send(Message("T", b"x"))
        requested = [ext["i"].partition("UNIQ_KEY\x01")[2] for code, ext in server.requests if code == 310]
    assert len(requested) == 4
    assert requested[0] == requested[1] == requested[2] != requested[3]


def test_after_a_send_that_failed_the_route_is_queried_again(front_end: Any) -> None:
    codes = iter([14, 0, 0])
    fine = {"msgId": "0" * 32, "queueId": "0", "queueOffset": "5"}
    answers: Answers = {RequestCode.SEND_MESSAGE_V2: lambda _: FakeAnswer(next(codes), fine)}
    with fake_server(answers) as server, front_end.producer("P", server.address, retries=0) as producer:
        with pytest.raises(Refused, match="code 14"):
            producer.send(Message("T", b"x"))
        for _ in range(2):
            producer.send(Message("T", b"x"))
        routes = [ext for code, ext in server.requests if code == 105 and ext["topic"] == "T"]
    assert len(routes) == 2


def test_a_broken_connection_is_made_again(front_end: Any) -> None:
    fine = {"msgId": "0" * 32, "queueId": "0", "queueOffset": "5"}
    answers: Answers = {RequestCode.SEND_MESSAGE_V2: lambda _: FakeAnswer(0, fine)}
    with fake_server(answers) as server, front_end.producer("P", server.address) as producer:
        producer.send(Message("T", b"x"))
        before = server.connections
        producer.send(Message("T", b"x"))
        assert server.connections == before
        server.hang_up()
        producer.send(Message("T", b"x"))
        assert server.connections > before


def test_no_answer_in_time(front_end: Any) -> None:
    answers: Answers = {RequestCode.SEND_MESSAGE_V2: lambda _: None}
    with (
        fake_server(answers) as server,
        front_end.producer("P", server.address, timeout=0.2, retries=0) as producer,
        pytest.raises(NotReached, match=r"no answer within 0\.2 s"),
    ):
        producer.send(Message("T", b"x"))


def test_topics_that_are_not_made(front_end: Any) -> None:
    with (
        fake_server() as server,
        front_end.producer("P", server.address) as producer,
        pytest.raises(NoSuchTopic, match="topic U"),
    ):
        producer.send(Message("U", b"x"))


def test_who_cannot_be_reached(front_end: Any) -> None:
    with pytest.raises(NotReached, match="cannot be reached"), front_end.producer("P", f"127.0.0.1:{free_port()}"):
        pass
    with pytest.raises(NameServersInvalid), front_end.producer("P", "nonsense"):
        pass


def test_a_closed_producer_sends_nothing(endpoint: Addresses) -> None:
    with Producer("P", str(endpoint.name_server)) as producer:
        producer.close()
        with pytest.raises(ClientClosed):
            producer.send(Message("T", b"x"))
        producer.close()


async def test_a_closed_asynchronous_producer_sends_nothing(endpoint: Addresses) -> None:
    producer = for_trio.Producer("P", str(endpoint.name_server))
    with pytest.raises(ClientClosed):
        await producer.send(Message("T", b"x"))
    async with producer:
        await producer.aclose()
        with pytest.raises(ClientClosed):
            await producer.send(Message("T", b"x"))


def test_accounts_sign(front_end: Any) -> None:
    fine = {"msgId": "0" * 32, "queueId": "0", "queueOffset": "5"}
    answers: Answers = {RequestCode.SEND_MESSAGE_V2: lambda _: FakeAnswer(0, fine)}
    account = Credentials(access_key="rocketwire", secret_key="12345678")
    with fake_server(answers) as server, front_end.producer("P", server.address, credentials=account) as producer:
        producer.send(Message("T", b"x"))
        ext = next(ext for code, ext in server.requests if code == 310)
    assert SecretKey("12345678").verify(ext, b"x")
