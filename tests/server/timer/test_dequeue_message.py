"""What is made of units whose records say something else."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from rocketwire.store.layout.derive import field_offsets
from rocketwire.store.layout.timer_log import UNIT
from tests.server.timer.support import Timers


def make_earlier(path: Path, ms: int) -> None:
    """Change the time of the first unit in a file."""
    unit = bytearray(path.read_bytes())
    at = field_offsets(UNIT)["delay"]
    struct.pack_into(">i", unit, at, struct.unpack_from(">i", unit, at)[0] - ms)
    path.write_bytes(unit)


async def test_a_damaged_unit_delivers_nothing_early(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    timers = Timers(tmp_path)
    async with timers.running():
        timers.send_in(b"a", 9000)
        await timers.pass_time(1100)
    timers.kill()
    make_earlier(tmp_path / "store" / "timerlog" / f"{0:020d}", 5000)
    again = Timers(tmp_path, clock=timers.clock)
    async with again.running():
        for _ in range(4):
            await again.pass_time(1900)
        assert again.delivered() == []
        counts = again.timer.counts
        assert (counts.rolled, counts.delivered, again.timer.pending) == (1, 0, 1)
        assert "damaged" in caplog.text
        await again.pass_time(300)
        assert again.delivered() == [b"a"]
        await again.pass_time(3000)
    assert again.delivered() == [b"a"]
    again.stop()
