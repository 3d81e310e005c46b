"""Stores that our own timer wrote: nothing is wrong with them at any time, and damage is found."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
import trio
import trio.testing

from rocketwire.store.layout.timer_log import UNIT
from rocketwire.store.offline.read.directory import StoreState, discover
from rocketwire.store.offline.read.scan import ReadProblem
from rocketwire.store.offline.timer.timer import StoreTimer
from rocketwire.wire.facts.layout import positions
from tests.server.timer.support import Timers
from tests.store.offline.support import damages, flipped, verified

WINDOW: Final = 6  # slots of a second
AT: Final = positions(UNIT)


def _unexpected(trouble: ReadProblem) -> None:
    pytest.fail(str(trouble))


def waiting(root: Path) -> list[str]:
    """Unique keys of messages that wait; with a ! what a marker cancels."""
    with StoreTimer(discover(str(root)), _unexpected) as timer:
        found = [message for _, message in timer.messages(timer.waiting) if message is not None]
    return sorted(f"!{each.cancels}" if each.cancels is not None else each.unique_key or "" for each in found)


async def life(timers: Timers) -> None:
    """Deliver, roll and cancel; in the end `far`, `later` and `never`, which is cancelled, wait."""
    timers.send_in(b"soon", 2500)
    timers.send_in(b"gone", 3500)
    timers.cancel_in("gone", 3500)
    timers.send_in(b"later", 21_000)
    for number in range(30):
        timers.send_in(b"many %d" % number, 4000 + number)
    timers.send_in(b"far", 100_000)
    timers.send_in(b"never", 40_000)
    timers.cancel_in("never", 40_000)
    async with timers.running():
        for _ in range(15):
            await timers.pass_time(1000)
            assert not damages(timers.settings.root)
        assert len(timers.delivered()) == 31
        assert (timers.timer.counts.cancelled, timers.timer.pending) == (1, 3)
        root = timers.settings.root
        assert discover(str(root)).state is StoreState.LIVE
        assert waiting(root) == ["!never", "far", "later", "never"]


@pytest.mark.parametrize("stop", ["clean", "kill"])
def test_what_our_timer_writes_is_whole(stop: str, tmp_path: Path) -> None:
    timers = Timers(tmp_path, timer_roll_window=WINDOW)
    trio.run(life, timers, clock=trio.testing.MockClock())
    if stop == "clean":
        timers.stop()
    else:
        timers.kill()
    root = timers.settings.root
    assert not damages(root)
    assert waiting(root) == ["!never", "far", "later", "never"]
    _, summary = verified(root)
    assert summary.timer_units > 37


def test_a_unit_that_leads_astray_is_found(tmp_path: Path) -> None:
    timers = Timers(tmp_path, timer_roll_window=WINDOW)
    trio.run(life, timers, clock=trio.testing.MockClock())
    timers.stop()
    root = timers.settings.root
    with StoreTimer(discover(str(root)), _unexpected) as timer:
        position = int(timer.waiting["position"][0])
        place = int(timer.waiting["physical_offset"][0])
    size = timers.settings.timer_log_file_size
    file = root / "timerlog" / f"{position // size * size:020}"
    for field in ("physical_offset", "record_size", "topic_hash"):
        with flipped(file, position % size + AT[field] + 3, 1):
            (found,) = damages(root)
            assert (found.path, found.position) == (f"timerlog/{file.name}", position % size)
    with flipped(root / "commitlog" / f"{0:020}", place + 4, 1):
        assert any(each.path.startswith("timerlog/") for each in damages(root))
    assert not damages(root)
