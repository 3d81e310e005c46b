"""The timer log's room on the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketwire.store.errors import DiskFull
from rocketwire.store.layout.timer_log import BLANK_SIZE, UNIT_SIZE
from rocketwire.store.timer.log import TimerLog
from tests.store.crash_disk import CrashDisk

FILE_SIZE = 1 << 20


def test_pages_that_were_refused_are_requested_again_before_they_are_written(tmp_path: Path) -> None:
    disk = CrashDisk(tmp_path)
    log = TimerLog(str(tmp_path / "timerlog"), FILE_SIZE, disk)
    log.load()
    assert log.make_room(1) == 1
    last = log.segments.last
    assert last is not None
    ready = last.reserved
    units = (ready - BLANK_SIZE) // UNIT_SIZE
    disk.refusing = {"populate": 14}
    assert log.make_room(units + 1) == units
    log.append(bytes(units * UNIT_SIZE))
    for _ in range(2):
        with pytest.raises(DiskFull):
            log.make_room(1)
    assert last.reserved == ready
    disk.refusing = {}
    assert log.make_room(1) == 1
    assert last.reserved > ready
    log.close()
