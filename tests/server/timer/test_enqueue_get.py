"""The first stage, and who sends faster than it reads in groups."""

from __future__ import annotations

from pathlib import Path

import trio

from tests.server.harness import mock_clock
from tests.server.timer.support import Timers, timer_draft

DAY = 86_400_000


async def test_nothing_waits_for_a_flood_of_sends_to_end(tmp_path: Path) -> None:
    timers = Timers(tmp_path, consume_queue_file_size=20 << 10)
    flood = [timer_draft(b"far", timers.clock.now + DAY, key=f"{number}") for number in range(1000)]
    async with timers.running():
        timers.send_in(b"a", 5000)
        timers.send_in(b"b", 5001)
        await timers.pass_time(5000)
        timers.clock.now += 1
        mock_clock().jump(0.5)
        for turn in range(40):  # more in each turn of the loop than the groups of any stage have
            if turn == 20:
                timers.send_in(b"c", 0)
            timers.send(*flood)
            await trio.lowlevel.checkpoint()
        assert timers.delivered() == [b"a", b"b", b"c"]
        assert timers.timer.enqueue_behind < 10_000
    timers.stop()
