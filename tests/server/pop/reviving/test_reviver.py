"""Redelivery: when, to which topic, and the effect of stops, faults and another broker."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from rocketwire.server.core.errors import ServiceUnavailable
from rocketwire.server.pop.reviving.reviver import Reviver
from rocketwire.store.append.drafts import Draft
from rocketwire.store.errors import RecordTooLarge
from rocketwire.wire import names
from rocketwire.wire.names import REVIVE_GROUP
from tests.server.harness import Clock
from tests.server.pop.requests import Got
from tests.server.pop.rooms import PopTimers
from tests.server.timer.support import HOST, Refusing

RETRY = "%RETRY%G_T"
REVIVE = "rmq_sys_REVIVE_LOG_C"


def reviver(room: PopTimers) -> Reviver:
    assert room.pops.reviver is not None
    return room.pops.reviver


async def pass_ms(room: PopTimers, ms: int) -> None:
    """Let time pass in steps in which the reviver decides."""
    for step in (ms - 20, 10, 5, 5):
        await room.pass_time(step)


def filled(folder: Path, clock: Clock | None = None, count: int = 5) -> PopTimers:
    room = PopTimers(folder, clock=clock)
    for number in range(count):
        assert room.put(b"m%d" % number)
    return room


def bodies(messages: list[Got]) -> list[bytes]:
    return [got.body for got in messages]


@pytest.mark.parametrize("invisible_time", [1, 500, 1000, 1001, 12_345])
async def test_an_unacknowledged_message_is_redelivered_soon_after_its_time(
    filled_room: PopTimers, invisible_time: int
) -> None:
    taken = filled_room.pop(invisible_time=invisible_time)
    filled_room.ack_all(taken[1], taken[3])
    if invisible_time > 1:
        await filled_room.pass_time(invisible_time - 1)
        assert filled_room.delivered(RETRY) == []
    for _ in range(8):
        await filled_room.pass_time(5)
    assert filled_room.delivered(RETRY) == [b"m0", b"m2", b"m4"]
    counts = reviver(filled_room).counts
    assert (counts.revived, counts.settled, counts.lost, counts.unreadable) == (3, 1, 0, 0)
    assert counts.lateness <= 40
    assert reviver(filled_room).pending == 0


async def test_the_offset_of_the_revive_topic_passes_finished_check_points(tmp_path: Path) -> None:
    room = filled(tmp_path, count=9)
    async with room.running():
        for _ in range(9):  # of eight revive queues
            assert room.pop(most=1) or (room.put(b"more") and room.pop(most=1))
        for _ in range(200):
            await room.pass_time(100)
    offsets = {queue_id: room.offsets.query(REVIVE_GROUP, REVIVE, queue_id) for queue_id in range(8)}
    assert offsets[0] == 1  # two check points, and behind them two acknowledgements
    assert {offsets[queue_id] for queue_id in range(1, 8)} == {0}
    room.stop()


async def test_a_message_is_not_redelivered_twice_by_the_next_process(tmp_path: Path) -> None:
    room = filled(tmp_path)
    async with room.running():
        room.ack(room.pop()[0])
        room.offsets.persist()
        await pass_ms(room, 10_100)
        assert room.delivered(RETRY) == [b"m1", b"m2", b"m3", b"m4"]
    room.kill()
    async with PopTimers.started(tmp_path, clock=room.clock) as again:
        assert bodies(again.pop()) == [b"m1", b"m2", b"m3", b"m4"]
        await pass_ms(again, 1000)
        assert len(again.delivered(RETRY)) == 4


async def test_messages_that_another_broker_redelivered_before_its_kill_are_not_redelivered_again(
    tmp_path: Path,
) -> None:
    """Apache's broker stores no acknowledgement with it."""
    room = filled(tmp_path)
    room.pop(most=3)
    born = room.clock.now
    room.clock.now += 11_000
    room.topics.create_own_retry(RETRY, 1)
    for body, tries in ((b"m0", 1), (b"m1", 2)):
        room.store.append([Draft(RETRY, 0, body, b"", 0, 0, born, HOST, reconsume_times=tries)])
    room.kill()
    room.clock.now += 5000
    async with PopTimers.started(tmp_path, clock=room.clock) as again:
        await pass_ms(again, 100)
        assert again.delivered(RETRY) == [b"m0", b"m1", b"m1", b"m2"]  # the other m1 has one more try


async def test_while_the_store_refuses_messages_wait(filled_room: PopTimers) -> None:
    filled_room.pop(most=3)
    await pass_ms(filled_room, 9500)
    refusing = Refusing(filled_room, b"m1")
    await pass_ms(filled_room, 600)
    assert filled_room.delivered(RETRY) == [b"m0"]
    assert reviver(filled_room).pending == 1
    refusing.bodies.clear()
    for _ in range(30):
        await filled_room.pass_time(100)
    assert filled_room.delivered(RETRY) == [b"m0", b"m1", b"m2"]
    assert (reviver(filled_room).pending, reviver(filled_room).counts.lost) == (0, 0)


async def test_a_message_that_can_never_be_stored_is_dropped(
    filled_room: PopTimers, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    filled_room.pop(most=3)
    await pass_ms(filled_room, 9500)
    append = filled_room.storing.append

    def too_large(drafts: list[Draft]) -> object:
        appended, refusals = append(drafts)
        wrong = {number: RecordTooLarge(5, 4) for number, draft in enumerate(drafts) if draft.body == b"m1"}
        return appended, {**refusals, **wrong}

    monkeypatch.setattr(filled_room.storing, "append", too_large)
    with caplog.at_level(logging.WARNING):
        await pass_ms(filled_room, 600)
    assert "message 1 of queue 0 of topic T is not redelivered" in caplog.text
    assert (reviver(filled_room).pending, reviver(filled_room).counts.lost) == (0, 1)


async def test_messages_of_removed_topics_and_groups_are_dropped(filled_room: PopTimers) -> None:
    filled_room.pop(most=2)
    filled_room.pop("H", most=2)
    filled_room.groups.table.remove("H")
    await pass_ms(filled_room, 10_100)
    assert filled_room.delivered(RETRY) == [b"m0", b"m1"]
    assert filled_room.delivered("%RETRY%H_T") == []
    filled_room.pop(most=2)
    filled_room.topics.remove("T")
    await pass_ms(filled_room, 10_100)
    assert filled_room.delivered(RETRY) == [b"m0", b"m1"]
    assert reviver(filled_room).pending == 0


async def test_malformed_records_are_skipped(filled_room: PopTimers, caplog: pytest.LogCaptureFixture) -> None:
    filled_room.pop(most=1)
    for tag, body in ((b"ck", b"{"), (b"ack", b"[]"), (b"x", b""), (b"ck", b'{"t":"T","c":"G","n":1,"so":9}')):
        filled_room.store.append([Draft(REVIVE, 0, body, b"TAGS\x01" + tag, 0, 0, 1, HOST)])
    await pass_ms(filled_room, 10_100)
    assert filled_room.delivered(RETRY) == [b"m0"]
    counts = reviver(filled_room).counts
    assert (counts.unreadable, counts.lost) == (3, 1)


async def test_a_group_beyond_the_limit_of_offsets_gets_redeliveries(filled_room: PopTimers) -> None:
    filled_room.pop(most=1)
    filled_room.offsets.max_offsets = 0
    await pass_ms(filled_room, 10_100)
    assert filled_room.delivered(RETRY) == [b"m0"]
    filled_room.offsets.max_offsets = 1000
    assert b"m0" in bodies(filled_room.pop())


async def test_retry_topics_that_cannot_be_created_now_are_created_later(
    filled_room: PopTimers, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled_room.pop(most=1)
    real = filled_room.topics.create_own_retry

    def refuse(topic: str, queues: int) -> object:
        raise ServiceUnavailable("full")

    monkeypatch.setattr(filled_room.topics, "create_own_retry", refuse)
    await pass_ms(filled_room, 10_100)
    assert reviver(filled_room).pending == 1
    monkeypatch.setattr(filled_room.topics, "create_own_retry", real)
    for _ in range(20):
        await filled_room.pass_time(100)
    assert filled_room.delivered(RETRY) == [b"m0"]


async def test_an_offset_behind_the_revive_topic_is_corrected(tmp_path: Path) -> None:
    room = filled(tmp_path)
    room.offsets.put(REVIVE_GROUP, REVIVE, 0, 1000)
    async with room.running():
        room.pop(most=1)
        await pass_ms(room, 10_100)
        assert room.delivered(RETRY) == [b"m0"] or room.offsets.query(REVIVE_GROUP, REVIVE, 0) == 0
    assert names.is_system_group(REVIVE_GROUP)
    room.stop()


@pytest.mark.slow
async def test_requests_are_served_during_many_late_redeliveries(tmp_path: Path) -> None:
    """A backlog takes its share of the time, which passes with each reading; timely redeliveries do not wait."""
    room = filled(tmp_path, count=600)
    loop = room.loop
    loop.keep_busy()
    async with room.running():
        room.pop(most=20, invisible_time=5000)
        await pass_ms(room, 5000)
        for _ in range(8):
            await room.pass_time(5)
        assert len(room.delivered(RETRY)) == 20
        assert loop.rests == []
        popped = sum(len(room.pop(most=20, invisible_time=60_000)) for _ in range(29))
        room.clock.now += 600_000  # as after a stop
        for _ in range(20):
            await room.pass_time(100)
        assert reviver(room).counts.revived == 20 + popped > 500
        assert len(loop.rests) > 10
    room.stop()
