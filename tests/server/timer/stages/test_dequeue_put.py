"""The last two stages while the disk refuses: the stored messages, repetitions, and memory."""

from __future__ import annotations

import errno
import logging
from pathlib import Path

import pytest

from rocketwire.server.timer.stages import dequeue_put
from rocketwire.store.errors import DiskNearlyFull
from tests.server.timer.support import Refusing, Timers


async def test_a_refused_message_is_retried_alone(timers: Timers) -> None:
    """Apache issue 6984: there its whole batch is stored again."""
    refusing = Refusing(timers, b"3", b"4", b"7")
    for number in range(10):
        timers.send_in(b"%d" % number, 5000)
    await timers.pass_time(5000)
    for _ in range(4):
        await timers.pass_time(500)
    assert sorted(timers.delivered()) == [b"0", b"1", b"2", b"5", b"6", b"8", b"9"]
    refusing.bodies.clear()
    await timers.pass_time(500)
    assert sorted(timers.delivered()) == [b"%d" % number for number in range(10)]
    assert timers.timer.counts.delivered == 10


async def test_a_full_disk_delays_messages_and_repeats_none(timers: Timers, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(1000):
        timers.send_in(b"%d" % number, 5000)
    await timers.pass_time(1)
    timers.store.disk_refusal = DiskNearlyFull("full")
    for _ in range(10):
        await timers.pass_time(1000)
    assert timers.delivered() == []
    assert timers.timer.lag_ms > 4000
    assert len([each for each in caplog.records if each.levelno >= logging.WARNING]) == 1
    timers.store.disk_refusal = None
    for _ in range(4):
        await timers.pass_time(500)
    assert sorted(timers.delivered()) == sorted(b"%d" % number for number in range(1000))
    assert timers.timer.lag_ms == 0


async def test_few_large_messages_are_kept_and_stored_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dequeue_put, "_MOST_BYTES", 1 << 20)
    sent = [b"%d" % (100 + number) * 33_000 for number in range(40)]
    async with Timers.started(tmp_path, commit_log_file_size=1 << 24) as timers:
        for number, body in enumerate(sent):
            timers.send_in(body, 5000, key=f"k{number}")
        await timers.pass_time(1)
        refusing = Refusing(timers, *sent)
        for _ in range(20):
            await timers.pass_time(1000)
        assert 10 <= len({body for group in refusing.groups for body in group}) <= 20
        refusing.bodies.clear()
        refusing.groups.clear()
        for _ in range(4):
            await timers.pass_time(500)
        assert sorted(timers.delivered()) == sent
        assert 8 <= len(refusing.groups) < 12


async def test_a_message_that_can_never_be_stored_delays_no_other(timers: Timers) -> None:
    timers.send_in(b"a", 5000)
    timers.send_in(b"bad", 5000, topic="no/topic")
    timers.send_in(b"b", 5000)
    await timers.pass_time(6001)
    assert timers.delivered() == [b"a", b"b"]
    assert (timers.timer.counts.dropped, timers.timer.counts.delivered, timers.timer.pending) == (1, 2, 0)


@pytest.mark.parametrize("what", ["log_part", "queue_entries", "record_at"])
async def test_a_record_that_cannot_be_read_now_is_retried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """As when no file can be opened because connections use all descriptors."""

    def refused(*_: object) -> None:
        raise OSError(errno.EMFILE, "too many open files")

    async with Timers.started(tmp_path) as timers:
        timers.send_in(b"a", 5000)
        timers.send_in(b"x", 5000)
        timers.cancel_in("x", 5000)
        await timers.pass_time(1)
        with monkeypatch.context() as patch:
            patch.setattr(timers.store, what, refused)
            timers.send_in(b"b", 5000)
            timers.cancel_in("nothing", 5000)
            for _ in range(6):
                await timers.pass_time(1000)
        for _ in range(3):
            await timers.pass_time(500)
        assert sorted(timers.delivered()) == [b"a", b"b"]
        assert (timers.timer.counts.delivered, timers.timer.counts.cancelled) == (2, 1)
