"""The stages together: when and how timer messages are delivered."""

from __future__ import annotations

from pathlib import Path

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
