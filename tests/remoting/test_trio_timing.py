"""When the push consumer does what: trio's mock clock, and a broker in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing
from trio.testing import MockClock as Clock

from rocketwire.remoting import Begin, Later, ReceivedMessage
from rocketwire.remoting.aio import PushConsumer
from rocketwire.wire.bodies import decode_body, encode_body
from rocketwire.wire.bodies.client import GetConsumerListByGroupResponseBody, MessageQueue
from rocketwire.wire.bodies.online import (
    ConsumeMessageDirectlyResult,
    ConsumerRunningInfo,
    GetConsumerStatusBody,
    ResetOffsetBody,
)
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.message import MessageRecord as Record
from rocketwire.wire.message import encode_record
from tests.cli.endpoint import FakeAnswer
from tests.remoting.trio_broker import NAME_SERVER, Broker


class Seen:
    """A handler that remembers; `outcome` is what it returns, or raises."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.times: list[float] = []
        self.outcome: Later | Exception | None = None
        self.most = 0
        self._now = 0
        self.seconds = 0.0

    async def __call__(self, message: ReceivedMessage) -> Later | None:
        self._now += 1
        self.most = max(self.most, self._now)
        self.bodies.append(message.body)
        self.times.append(round(trio.current_time(), 1))
        await trio.sleep(self.seconds)
        self._now -= 1
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


@asynccontextmanager
async def consuming(
    broker: Broker, handler: Any, *, topics: tuple[str, ...] = ("T",), **named: Any
) -> AsyncIterator[PushConsumer]:
    named = {"begin": Begin.FIRST, "concurrency": 2, **named}
    with pytest.MonkeyPatch.context() as patch:
        async with trio.open_nursery() as nursery:
            broker.install(patch, nursery)
            async with PushConsumer("G", NAME_SERVER, **named) as consumer:
                for topic in topics:
                    consumer.subscribe(topic)
                await consumer.start(handler)
                yield consumer
            nursery.cancel_scope.cancel()


def topics(**queues: int) -> dict[str, int]:
    return {"%RETRY%G": 1, **queues}


async def test_heartbeats_rebalances_and_commits_have_their_times(autojump_clock: Clock) -> None:
    broker = Broker(**topics(T=2))
    seen = Seen()
    async with consuming(broker, seen):
        await trio.sleep(7)
        broker.put("T", 1, b"one")
        await trio.sleep(64)
    assert seen.bodies == [b"one"]
    assert seen.times == [7]
    assert broker.times(RequestCode.HEART_BEAT) == [0, 30, 60]
    assert broker.times(RequestCode.GET_CONSUMER_LIST_BY_GROUP) == [0, 0, 20, 20, 40, 40, 60, 60]
    commits = [
        (round(when, 1), ext["queueId"], ext["commitOffset"]) for when, code, ext in broker.requests if code == 15
    ]
    # The start of each queue once, in any order, and then what has changed.
    assert sorted(commits) == [(5, "0", "0"), (5, "0", "0"), (5, "1", "0"), (10, "1", "1")]
    assert broker.times(RequestCode.UNREGISTER_CLIENT) == [71]
    assert broker.members == []


async def test_a_new_member_gets_its_part_at_once(autojump_clock: Clock) -> None:
    broker = Broker(**topics(T=4))
    seen = Seen()
    async with consuming(broker, seen):
        await trio.sleep(8)
        broker.put("T", 3, b"before")
        await trio.sleep(1)
        broker.others = ["zzz"]  # behind the consumer's own id, which begins with an address
        await broker.ask(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, {"consumerGroup": "G"}, oneway=True)
        await trio.sleep(0.5)
        assert broker.committed["T", 3] == 1  # released, with what was consumed
        broker.put("T", 0, b"mine")
        broker.put("T", 3, b"not mine")
        await trio.sleep(30)
        broker.others = []
        await trio.sleep(20)
    assert seen.bodies == [b"before", b"mine", b"not mine"]


async def test_a_broker_that_restarts_is_joined_again_within_seconds(autojump_clock: Clock) -> None:
    broker = Broker(**topics(T=1))
    seen = Seen()
    async with consuming(broker, seen):
        await trio.sleep(3)
        await broker.go_down()
        await trio.sleep(10.5)
        broker.is_down = False
        broker.put("T", 0, b"after")
        await trio.sleep(5)
        assert len(broker.members) == 1
        assert seen.bodies == [b"after"]
        assert seen.times[0] < 16


async def test_a_broker_that_has_forgotten_the_consumer_gets_a_heartbeat(autojump_clock: Clock) -> None:
    broker = Broker(**topics(T=1))
    async with consuming(broker, Seen()):
        await trio.sleep(3)
        broker.members = []
        await trio.sleep(18)
        assert len(broker.members) == 1
        assert set(broker.times(RequestCode.HEART_BEAT)) == {0, 20}


async def test_a_pull_that_is_not_answered_times_out(autojump_clock: Clock) -> None:
    broker = Broker(**topics(T=1))
    broker.answers[RequestCode.PULL_MESSAGE] = lambda _: None
    seen = Seen()
    async with consuming(broker, seen, timeout=5):
        await trio.sleep(1)
        del broker.answers[RequestCode.PULL_MESSAGE]
        broker.put("T", 0, b"late")
        await trio.sleep(25)
    assert seen.times == [21]  # held for 15 s, 5 s for the way, and a second's pause


async def test_what_fails_is_sent_back(autojump_clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    broker = Broker(**topics(T=1))
    seen = Seen()
    seen.outcome = ValueError("as wanted")
    broker.put("T", 0, b"bad", properties=b"UNIQ_KEY\x01ID")
    async with consuming(broker, seen, max_retries=5):
        await trio.sleep(1)
        seen.outcome = Later(-1)
        broker.put("T", 0, b"hopeless")
        await trio.sleep(10)
    back = [ext for _, code, ext in broker.requests if code == RequestCode.CONSUMER_SEND_MSG_BACK]
    assert [(each["offset"], each["delayLevel"], each["originTopic"]) for each in back] == [
        ("0", "0", "T"),
        ("100", "-1", "T"),
    ]
    assert back[0]["maxReconsumeTimes"] == "5"
    assert broker.committed["T", 0] == 2
    assert "message ID of T is tried again later" in caplog.text
    assert "as wanted" in caplog.text


async def test_what_cannot_be_sent_back_is_handled_again_here(autojump_clock: Clock) -> None:
    broker = Broker(**topics(T=1))
    broker.answers[RequestCode.CONSUMER_SEND_MSG_BACK] = lambda _: FakeAnswer(1, remark="not now")
    seen = Seen()
    seen.outcome = Later()
    broker.put("T", 0, b"bad")
    async with consuming(broker, seen):
        await trio.sleep(7)
        assert seen.times == [0, 5]
        assert broker.committed["T", 0] == 0
        seen.outcome = None
        await trio.sleep(10)
    assert seen.times == [0, 5, 10]
    assert broker.committed["T", 0] == 1


async def test_no_more_messages_are_handled_at_a_time_than_allowed(autojump_clock: Clock) -> None:
    broker = Broker(**topics(T=1))
    seen = Seen()
    seen.seconds = 10
    for number in range(6):
        broker.put("T", 0, b"%d" % number)
    async with consuming(broker, seen, concurrency=2):
        await trio.sleep(1)
        assert seen.bodies == [b"0", b"1"]
        await trio.sleep(30)
    assert seen.most == 2
    assert seen.times == [0, 0, 10, 10, 20, 20]
    assert broker.committed["T", 0] == 6


async def test_only_so_many_messages_wait_for_handlers(autojump_clock: Clock) -> None:
    broker = Broker(**topics(T=1))
    seen = Seen()
    seen.seconds = 1
    for _ in range(1500):
        broker.put("T", 0, b"x")
    async with consuming(broker, seen, concurrency=100):
        await trio.sleep(0.5)
        offsets = [int(ext["queueOffset"]) for _, code, ext in broker.requests if code == 11 and ext["topic"] == "T"]
        assert max(offsets) == 992  # with which 1024 are pulled
        await trio.sleep(20)
    assert len(seen.bodies) == 1500


async def test_an_offset_that_does_not_exist(autojump_clock: Clock) -> None:
    broker = Broker(T=1)
    broker.committed["T", 0] = 7
    moved = {"suggestWhichBrokerId": "0", "nextBeginOffset": "0", "minOffset": "0", "maxOffset": "1"}

    def gone(_: dict[str, str]) -> FakeAnswer:
        del broker.answers[RequestCode.PULL_MESSAGE]
        return FakeAnswer(21, moved)

    broker.answers[RequestCode.PULL_MESSAGE] = gone
    seen = Seen()
    async with consuming(broker, seen):
        broker.put("T", 0, b"the oldest")
        await trio.sleep(10)
    assert seen.bodies == [b"the oldest"]
    assert broker.committed["T", 0] == 1


async def test_the_handler_that_runs_ends_before_the_consumer_leaves(autojump_clock: Clock) -> None:
    broker = Broker(**topics(T=1))
    seen = Seen()
    seen.seconds = 3
    broker.put("T", 0, b"one")
    async with consuming(broker, seen):
        await trio.sleep(1)
        started = trio.current_time()
    assert trio.current_time() - started == pytest.approx(2)
    assert broker.committed["T", 0] == 1


async def test_a_consumer_that_is_cancelled_commits_what_was_handled_and_leaves(autojump_clock: Clock) -> None:
    broker = Broker(**topics(T=1))
    broker.put("T", 0, b"quick")
    broker.put("T", 0, b"slow")
    ended: list[bytes] = []

    async def handle(message: ReceivedMessage) -> None:
        await trio.sleep(1 if message.body == b"quick" else 100)
        ended.append(message.body)

    with pytest.MonkeyPatch.context() as patch:
        async with trio.open_nursery() as nursery:
            broker.install(patch, nursery)
            with trio.move_on_after(3):
                async with PushConsumer("G", NAME_SERVER, begin=Begin.FIRST) as consumer:
                    consumer.subscribe("T")
                    await consumer.run(handle)
            assert trio.current_time() < 4
            nursery.cancel_scope.cancel()
    assert ended == [b"quick"]
    assert broker.committed["T", 0] == 1
    assert broker.members == []


async def test_a_broker_that_is_down_delays_no_other(autojump_clock: Clock) -> None:
    broker = Broker(**topics(T=1))
    broker.far = "192.0.2.1:10911"
    seen = Seen()
    async with consuming(broker, seen, timeout=30):
        await trio.sleep(3)
        await broker.lose_far()
        for number in range(20):
            await trio.sleep(3)
            broker.put("T", 0, b"%d" % number)
        await trio.sleep(1)
    assert seen.times == [3 * number + 6 for number in range(20)]


async def test_queues_of_other_brokers_are_taken_when_one_is_down(autojump_clock: Clock) -> None:
    broker = Broker(**topics(T=1))
    broker.far = "192.0.2.1:10911"
    broker.is_far_stuck = True
    seen = Seen()
    broker.put("T", 0, b"one")
    async with consuming(broker, seen, timeout=5):
        await trio.sleep(30)
        assert seen.bodies == [b"one"]


async def test_run_ends_when_the_handler_stops_it(autojump_clock: Clock) -> None:
    broker = Broker(**topics(T=1))
    broker.put("T", 0, b"one")
    with pytest.MonkeyPatch.context() as patch:
        async with trio.open_nursery() as nursery:
            broker.install(patch, nursery)
            async with PushConsumer("G", NAME_SERVER, begin=Begin.FIRST) as consumer:
                consumer.subscribe("T")

                async def handle(_: ReceivedMessage) -> None:
                    consumer.stop()

                await consumer.run(handle)
            nursery.cancel_scope.cancel()
    assert broker.committed["T", 0] == 1


async def test_a_topic_that_comes_to_be_later(autojump_clock: Clock) -> None:
    broker = Broker(**topics())
    seen = Seen()
    async with consuming(broker, seen):
        await trio.sleep(9)
        broker.queues["T"] = 1
        broker.put("T", 0, b"first")
        await trio.sleep(2.5)
        await trio.sleep(2.5)
        assert seen.bodies == [b"first"]


async def test_a_group_is_joined_soon_after_its_first_topic_comes_to_be(autojump_clock: Clock) -> None:
    broker = Broker()
    seen = Seen()
    refusal = FakeAnswer(1, remark="no consumer for this group")

    def members(_: dict[str, str]) -> FakeAnswer:
        found = GetConsumerListByGroupResponseBody(consumer_id_list=tuple(broker.members))
        return FakeAnswer(body=encode_body(found)) if broker.members else refusal

    broker.answers[RequestCode.GET_CONSUMER_LIST_BY_GROUP] = members
    async with consuming(broker, seen):
        await trio.sleep(9)
        broker.queues["T"] = 1
        broker.put("T", 0, b"first")
        await trio.sleep(5)
        assert seen.bodies == [b"first"]


async def test_requests_of_the_broker_are_answered(autojump_clock: Clock) -> None:
    broker = Broker(**topics(T=1))
    seen = Seen()
    queue = MessageQueue(topic="T", broker_name="b", queue_id=0)
    async with consuming(broker, seen):
        broker.put("T", 0, b"one")
        broker.put("T", 0, b"two")
        await trio.sleep(1)
        await broker.ask(221, {"topic": "T", "group": "G"})
        await broker.ask(307, {"consumerGroup": "G", "clientId": "c"})
        direct = Record(topic="T", queue_id=0, body=b"directly")
        await broker.ask(309, {"consumerGroup": "G", "brokerName": "b"}, encode_record(direct))
        await broker.ask(309, {"consumerGroup": "G", "brokerName": "b"}, b"no record")
        await broker.ask(326, {})
        await trio.sleep(1)
        answers = {each.opaque: each.answer for each in broker.replies}
        status = decode_body(GetConsumerStatusBody, answers[1001].body)
        assert status.message_queue_table == {queue: 2}
        info = decode_body(ConsumerRunningInfo, answers[1002].body)
        assert info.mq_table[queue].commit_offset == 2
        assert info.properties["PROP_CONSUME_TYPE"] == "CONSUME_PASSIVELY"
        assert {each.topic for each in info.subscription_set} == {"T", "%RETRY%G"}
        result = decode_body(ConsumeMessageDirectlyResult, answers[1003].body)
        assert result.consume_result == "CR_SUCCESS"
        assert answers[1004].code == 1
        assert answers[1005].code == 3
        body = encode_body(ResetOffsetBody(offset_table={queue: 1}))
        await broker.ask(220, {"topic": "T", "group": "G", "timestamp": "0"}, body, oneway=True)
        await trio.sleep(10)
    assert seen.bodies == [b"one", b"two", b"directly", b"two"]
    assert broker.committed["T", 0] == 2
