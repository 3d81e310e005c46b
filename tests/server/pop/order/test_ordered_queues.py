"""Pops in order: against Apache 5.5.0's answers and file, and a simple model of a queue."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from rocketwire.server.core.background import BackgroundBudget
from rocketwire.server.core.errors import MessageIllegal
from rocketwire.server.pop.ordered import OrderedBatch, PopQueue
from rocketwire.store.tables.pop.order_info import OrderInfo
from rocketwire.wire.bodies.fastjson import loads
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.pop_handle import OrderCount, decode_pop_handle, decode_popped_queues, encode_order_count_info
from tests.server.harness import NOW, mock_clock, settle
from tests.server.pop.order.support import QUEUE, Setting
from tests.wire import golden


def taken(offsets: list[int], *, at: int = NOW, attempt: str | None = None, invisible: int = 60_000) -> OrderedBatch:
    return OrderedBatch(QUEUE, attempt, at, invisible, offsets)


class Replay:
    """The requests that a 5.5.0 broker got, sent to ours."""

    def __init__(self, folder: Path) -> None:
        self.setting = Setting(folder)
        self.setting.topics.put(TopicConfig(topic_name="Order", read_queue_nums=3, write_queue_nums=3))

    def queue(self, fields: dict[str, Any], queue_id: int) -> PopQueue:
        return PopQueue(fields["topic"], fields["consumerGroup"], queue_id)

    def pop(self, row: dict[str, Any]) -> None:
        fields, answer, ordered = row["fields"], row["header"], self.setting.ordered
        self.setting.clock.now = int(answer["popTime"])
        counts: list[OrderCount] = []
        for popped in decode_popped_queues(answer["startOffsetInfo"], answer["msgOffsetInfo"]):
            queue = self.queue(fields, popped.queue_id)
            assert not ordered.is_blocked(queue, fields.get("attemptId"), fields["invisibleTime"]), row
            assert (self.setting.offsets.query(queue.group, queue.topic, queue.queue_id) or 0) == popped.start_offset
            batch = OrderedBatch(
                queue, fields.get("attemptId"), self.setting.clock.now, fields["invisibleTime"], popped.offsets
            )
            counts += ordered.reconsume_counts(batch)
            ordered.note_popped(batch)
        if row["answer"]:
            queue = self.queue(fields, fields["queueId"])
            expected = row["what"] not in {"empty queue", "no messages match"}
            assert ordered.is_blocked(queue, fields.get("attemptId"), fields["invisibleTime"]) == expected, row
        assert encode_order_count_info(counts) == answer["orderCountInfo"], row

    def ack(self, row: dict[str, Any]) -> None:
        fields = row["fields"]
        handle = decode_pop_handle(fields["extraInfo"])
        queue = self.queue(fields, fields["queueId"])
        try:
            self.setting.ordered.ack(queue, fields["offset"], handle.pop_time, handle.invisible_time)
        except MessageIllegal as error:
            assert row["answer"] == ResponseCode.MESSAGE_ILLEGAL, row
            assert row["remark"].startswith(str(error))
        else:
            assert not row["answer"], row

    def change(self, row: dict[str, Any]) -> None:
        fields, answer = row["fields"], row["header"]
        handle = decode_pop_handle(fields["extraInfo"])
        visible_at = handle.pop_time + int(answer["invisibleTime"])
        known = self.setting.ordered.change(
            self.queue(fields, fields["queueId"]), fields["offset"], handle.pop_time, visible_at
        )
        assert known == (answer["popTime"] != "0"), row


def stable(text: bytes) -> Any:
    """A file without values that may differ: when the broker received a message, and 5.5.0's counters."""
    document = loads(text)
    for queues in document["table"].values():
        for info in queues.values():
            assert info.pop("l") - info["popTime"] < 1000
    return document


def test_answers_and_files_equal_apaches(tmp_path: Path) -> None:
    replay = Replay(tmp_path)
    files = 0
    for row in golden.pop_rows("order"):
        if "file" in row:
            replay.setting.save()
            assert stable((tmp_path / "consumerOrderInfo.json").read_bytes()) == stable(row["file"].encode())
            files += 1
            continue
        replay.setting.clock.now = row["at"]
        if row["what"] == "never popped":  # Apache's offset skips messages that were not acknowledged
            replay.setting.offsets.commit("ol", "Order", 0, 3)
        elif row["code"] == RequestCode.POP_MESSAGE:
            replay.pop(row)
        elif row["code"] == RequestCode.ACK_MESSAGE:
            replay.ack(row)
        else:
            replay.change(row)
    assert files == 4


def test_an_acknowledgement_of_a_lost_batch_skips_nothing(tmp_path: Path) -> None:
    setting = Setting(tmp_path)
    for offset, committed in ((1, None), (0, 1), (1, 2)):
        setting.ordered.ack(QUEUE, offset, NOW, 60_000)
        assert setting.offsets.query("G", "T", 0) == committed


async def test_held_pops_are_woken_when_the_invisible_time_is_over(tmp_path: Path) -> None:
    setting = Setting(tmp_path)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(setting.ordered.run, BackgroundBudget())
        await settle()

        async def passes(seconds: float) -> list[PopQueue]:
            setting.clock.now += int(seconds * 1000)
            mock_clock().jump(seconds)
            await settle()
            found = setting.freed.copy()
            setting.freed.clear()
            return found

        setting.ordered.note_popped(taken([0, 1], invisible=10_000))
        assert await passes(9.999) == []
        assert await passes(0.001) == [QUEUE]
        setting.ordered.note_popped(taken([0, 1], at=setting.clock.now, invisible=10_000))
        setting.ordered.change(QUEUE, 1, setting.clock.now, setting.clock.now + 30_000)
        assert await passes(10) == []
        assert await passes(20) == [QUEUE]
        at = setting.clock.now
        setting.ordered.note_popped(taken([0, 1], at=at, invisible=10_000))
        setting.ordered.ack(QUEUE, 0, at, 10_000)
        setting.ordered.change(QUEUE, 1, at, at + 5)
        assert await passes(0.005) == [QUEUE]
        setting.ordered.note_popped(taken([1], at=at, invisible=100_000))
        setting.ordered.change(QUEUE, 1, at, setting.clock.now)  # its consumer has left
        assert setting.freed == [QUEUE]
        setting.freed.clear()
        nursery.cancel_scope.cancel()


async def test_invisible_messages_are_invisible_after_a_restart(tmp_path: Path) -> None:
    setting = Setting(tmp_path)
    setting.ordered.note_popped(taken([0], attempt="a", invisible=10_000))
    setting.save()
    setting.start()
    assert setting.ordered.is_blocked(QUEUE, None, 1)
    assert not setting.ordered.is_blocked(QUEUE, "a", 1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(setting.ordered.run, BackgroundBudget())
        await settle()
        setting.clock.now += 10_000
        mock_clock().jump(10)
        await settle()
        nursery.cancel_scope.cancel()
    assert setting.freed == [QUEUE]
    assert not setting.ordered.is_blocked(QUEUE, None, 1)


def test_messages_before_the_offset_block_no_client(tmp_path: Path) -> None:
    """The offset is saved more often than the batch: after a kill it may be ahead."""
    setting = Setting(tmp_path)
    setting.ordered.note_popped(taken([0, 1]))
    setting.table.persist()
    setting.offsets.commit("G", "T", 0, 1)
    assert setting.ordered.is_blocked(QUEUE, None, 1)
    setting.ordered.ack(QUEUE, 1, NOW, 60_000)
    setting.offsets.persist()
    setting.start()
    assert setting.table.get("T", "G", 0) is not None
    assert not setting.ordered.is_blocked(QUEUE, None, 1)


def test_an_offset_that_was_moved_ahead_does_not_return(tmp_path: Path) -> None:
    setting = Setting(tmp_path)
    setting.ordered.note_popped(taken([3, 4, 5]))
    setting.offsets.commit("G", "T", 0, 5)
    setting.ordered.ack(QUEUE, 4, NOW, 60_000)
    assert setting.offsets.query("G", "T", 0) == 5
    setting.clock.now += 1
    setting.offsets.commit("G", "T", 0, 4)  # set back
    setting.ordered.ack(QUEUE, 5, NOW, 60_000)
    setting.ordered.ack(QUEUE, 4, NOW, 60_000)
    assert setting.offsets.query("G", "T", 0) == 4
    assert setting.freed == [QUEUE]
    assert not setting.ordered.is_blocked(QUEUE, None, 60_000)


async def test_batches_of_removed_topics_and_groups_are_forgotten(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    setting = Setting(tmp_path)
    fresh, old = OrderInfo(last_consume_timestamp=NOW), OrderInfo(last_consume_timestamp=NOW - 86_400_001)
    table = setting.table
    for topic, group, queue_id, info in (
        ("T", "G", 0, fresh),
        ("T", "G", 1, old),
        ("T", "G", 2, fresh),
        ("U", "G", 0, fresh),
        ("T", "H", 0, fresh),
    ):
        table.put(topic, group, queue_id, info)
    for number in range(300):
        table.put(f"V{number}", "G", 0, fresh)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(setting.ordered.run, BackgroundBudget())
        await settle()
        assert len(table.consumptions()) == 303
        setting.ordered.schedule_cleaning()
        await settle()
        assert (table.consumptions(), table.of("T", "G")) == ([("T", "G")], {0: fresh})
        lines = [line.partition(",")[0] for line in caplog.messages if "in order" in line]
        assert lines == ["nothing is out in order of 304 queues any more"]  # one for all
        setting.clock.now += 86_400_001
        mock_clock().jump(3601)
        await settle()
        assert table.consumptions() == []
        nursery.cancel_scope.cancel()


class QueueMachine(RuleBasedStateMachine):
    """A queue that many attempts pop from: the model has each message separately, without batches."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.setting = Setting(Path(self._folder.name))
        self.end = 0
        self.done: set[int] = set()
        self.out: dict[int, int] = {}
        self.attempt: str | None = None
        self.pop_time = 0
        self.last: set[int] = set()
        self.times: dict[int, int] = {}

    def teardown(self) -> None:
        self._folder.cleanup()

    @property
    def next(self) -> int:
        return next(offset for offset in range(self.end + 1) if offset not in self.done)

    @initialize(count=st.integers(0, 5))
    def messages_arrive(self, count: int) -> None:
        self.end += count

    @rule(count=st.integers(1, 3))
    def more_arrive(self, count: int) -> None:
        self.end += count

    @rule(ms=st.integers(1, 20))
    def time_passes(self, ms: int) -> None:
        self.setting.clock.now += ms

    @rule(attempt=st.sampled_from([None, "a", "b"]), most=st.integers(1, 4), invisible=st.integers(1, 20))
    def pop(self, attempt: str | None, most: int, invisible: int) -> None:
        now = self.setting.clock.now
        blocked = self.setting.ordered.is_blocked(QUEUE, attempt, invisible)
        is_out = any(until > now for until in self.out.values())
        assert blocked == (is_out and (attempt is None or attempt != self.attempt))
        start = self.next
        offsets = list(range(start, min(start + most, self.end)))
        if blocked or not offsets:
            return
        batch = OrderedBatch(QUEUE, attempt, now, invisible, offsets)
        counts = self.setting.ordered.reconsume_counts(batch)
        self.setting.ordered.note_popped(batch)
        same = attempt is not None and attempt == self.attempt
        again = {} if same else {offset: self.times.get(offset, 0) + 1 for offset in offsets if offset in self.last}
        self.times = self.times if same else again
        assert {each.offset: each.times for each in counts if each.offset is not None} == self.times
        # Messages acknowledged behind the first are redelivered, as by Apache: only the last batch is kept.
        self.done = set(range(start))
        self.out = dict.fromkeys(offsets, now + invisible)
        self.last = set(offsets)
        self.attempt, self.pop_time = attempt, now

    @precondition(lambda self: self.out)
    @rule(data=st.data())
    def ack(self, data: st.DataObject) -> None:
        offset = data.draw(st.sampled_from(sorted(self.out)))
        self.setting.freed.clear()
        self.setting.ordered.ack(QUEUE, offset, self.pop_time, 10)
        self.done.add(offset)
        del self.out[offset]
        free = not any(until > self.setting.clock.now for until in self.out.values())
        assert self.setting.freed == [QUEUE] * free

    @precondition(lambda self: self.out)
    @rule(data=st.data(), ms=st.integers(-5, 30))
    def change(self, data: st.DataObject, ms: int) -> None:
        offset = data.draw(st.sampled_from(sorted(self.out)))
        visible_at = self.setting.clock.now + ms
        assert self.setting.ordered.change(QUEUE, offset, self.pop_time, visible_at)
        self.out[offset] = visible_at

    @precondition(lambda self: self.next < self.end)
    @rule()
    def late_acknowledgement(self) -> None:
        self.setting.ordered.ack(QUEUE, self.next, self.pop_time - 1 if self.last else self.pop_time, 10)
        if not self.last:  # an unknown batch
            self.done.add(self.next)

    @rule()
    def restart(self) -> None:
        self.setting.save()
        self.setting.start()

    @invariant()
    def the_offset_is_that_of_the_first_message_not_acknowledged(self) -> None:
        assert (self.setting.offsets.query("G", "T", 0) or 0) == self.next


TestQueueMachine = pytest.mark.slow(QueueMachine.TestCase)
