"""The stages together: when and how timer messages are delivered."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketwire.server.timer.timer import warn_of_lost_messages
from tests.server.timer.support import Timers


async def test_a_message_is_delivered_when_it_is_due_and_no_sooner(tmp_path: Path) -> None:
    timers = Timers(tmp_path)
    async with timers.running():
        timers.send_in(b"a", 5000)
        await timers.pass_time(4999)
        assert timers.delivered() == []
        await timers.pass_time(1)
        assert timers.delivered() == [b"a"]
        assert timers.timer.counts.delivered == 1
    timers.stop()


def test_a_lap_longer_than_the_log_is_kept_is_told_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    timers = Timers(tmp_path)
    assert timers.timer.lap_ms == 48 * 3_600_000
    timers.stop()
    warn_of_lost_messages(48 * 3_600_000, 48)
    assert not caplog.records
    warn_of_lost_messages(48 * 3_600_000, 47)
    assert [record.message for record in caplog.records] == [
        "timer: messages are lost while they wait, see fileReservedTime (47 h) and timerRollWindowSlot (48.0 h)"
    ]
