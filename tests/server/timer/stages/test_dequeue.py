"""Units whose times differ from those of their records."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from rocketwire.server.timer.stages.dequeue import DequeueMessage
from rocketwire.server.timer.wheel.loaded import DueCopy
from rocketwire.store.layout.timer_log import UNIT
from rocketwire.wire.facts.layout import positions
from tests.server.timer.support import Timers


def make_earlier(path: Path, ms: int) -> None:
    """Change the time of the first unit in a file."""
    unit = bytearray(path.read_bytes())
    at = positions(UNIT)["delay"]
    struct.pack_into(">i", unit, at, struct.unpack_from(">i", unit, at)[0] - ms)
    path.write_bytes(unit)


async def test_a_damaged_unit_causes_no_early_delivery(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
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


@pytest.mark.parametrize("on_again", [0, 3000])
async def test_a_clock_set_back_after_messages_came_out_is_no_damage(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, on_again: int
) -> None:
    timers = Timers(tmp_path)
    fetch = DequeueMessage._fetch

    def fetch_set_back(*args: Any) -> list[DueCopy]:
        monkeypatch.setattr(DequeueMessage, "_fetch", fetch)
        timers.clock.now -= 3000
        copies = fetch(*args)
        timers.clock.now += on_again
        return copies

    monkeypatch.setattr(DequeueMessage, "_fetch", fetch_set_back)
    async with timers.running():
        for body in (b"a", b"b"):
            timers.send_in(body, 5000)
        await timers.pass_time(5000)
        for _ in range(6):
            await timers.pass_time(500)
        assert timers.delivered() == [b"a", b"b"]
        assert timers.timer.counts.rolled == 0
    assert "damaged" not in caplog.text
    timers.stop()
