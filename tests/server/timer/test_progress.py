"""When the timer's progress is saved."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.errors import FlushDelayed
from rocketwire.store.timer.check import read_checkpoint
from tests.server.timer.support import Timers


async def test_it_is_saved_while_something_changes_and_after_the_log_is_flushed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    timers = Timers(tmp_path)
    path = timers.settings.timer_check
    real, refused = timers.store.flush_to, True

    def flush_to(offset: int) -> None:
        if refused:
            raise FlushDelayed("commitlog", "no descriptor")
        real(offset)

    monkeypatch.setattr(timers.store, "flush_to", flush_to)
    async with timers.running():
        await timers.pass_time(60_000)
        timers.send_in(b"a", 3_600_000)
        for _ in range(4):
            await timers.pass_time(1000)
        assert read_checkpoint(path, FileSystem()) is None
        refused = False
        for _ in range(4):
            await timers.pass_time(1000)
        check = read_checkpoint(path, FileSystem())
        assert check is not None
        assert (check.last_queue_offset, check.last_log_flushed) == (1, 52)
        assert timers.store.flushed_offset == timers.store.max_physical_offset
        for _ in range(5):
            await timers.pass_time(1000)
        assert read_checkpoint(path, FileSystem()) == check
    timers.stop()
