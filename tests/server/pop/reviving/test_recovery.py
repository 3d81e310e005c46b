"""The offsets of groups that popped, after a kill that lost them."""

from __future__ import annotations

from pathlib import Path

from rocketwire.store.tables.offsets import OffsetTable
from tests.server.pop.reviving.test_reviver import bodies, filled
from tests.server.pop.rooms import PopTimers


async def test_invisible_messages_are_not_delivered_again(tmp_path: Path) -> None:
    room = filled(tmp_path)
    room.pop(most=2)
    room.pop(most=1, invisible_time=500)  # its check point is not in the timer
    room.kill()
    again = PopTimers(tmp_path, clock=room.clock)
    assert bodies(again.pop()) == [b"m3", b"m4"]
    again.kill()
    assert OffsetTable.open(tmp_path / "offsets.json").query("G", "T", 0) == 3  # saved at once


async def test_an_offset_that_is_ahead_stays(tmp_path: Path) -> None:
    room = filled(tmp_path)
    room.pop(most=2)
    room.offsets.commit("G", "T", 0, 4)
    room.offsets.persist()
    room.kill()
    again = PopTimers(tmp_path, clock=room.clock)
    assert again.offsets.query("G", "T", 0) == 4
    again.stop()


async def test_old_check_points_are_ignored(tmp_path: Path) -> None:
    room = filled(tmp_path)
    room.pop(most=4)
    room.offsets.commit("G", "T", 0, 1)  # reset
    room.offsets.persist()
    room.clock.now += 20_000
    room.put(b"last")
    room.kill()
    again = PopTimers(tmp_path, clock=room.clock)
    assert again.offsets.query("G", "T", 0) == 1
    again.stop()


async def test_after_a_clean_stop_the_saved_offsets_count(tmp_path: Path) -> None:
    room = filled(tmp_path)
    room.pop(most=4)
    room.offsets.commit("G", "T", 0, 1)
    async with room.running():
        pass
    room.stop()
    again = PopTimers(tmp_path, clock=room.clock)
    assert again.offsets.query("G", "T", 0) == 1
    again.stop()
