"""Verifying a timer whose slots Apache's brokers rebuilt; wrong bytes are in test_verify."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from rocketwire.store.disk.segment import file_name
from rocketwire.store.layout.timer_log import NO_UNIT
from rocketwire.store.layout.timer_wheel import SLOT_SIZE, slot_number
from tests.store.offline.support import damages
from tests.store.offline.timers import NOW, made

PREVIOUS: Final = 4  # byte of a unit
FIRST_POSITION: Final = 8  # byte of a slot


def overwrite(path: Path, position: int, value: int) -> None:
    """Put a number of eight bytes there."""
    with path.open("r+b") as file:
        file.seek(position)
        file.write(value.to_bytes(8, "big", signed=True))


def damaged(root: Path) -> list[int | None]:
    """Bytes of the wheel and the log where damage is."""
    return [each.position for each in damages(root) if each.path.startswith("timer")]


def test_a_slots_first_unit_may_be_of_a_chain_before_the_present_one(tmp_path: Path) -> None:
    """Apache's brokers keep it in a slot whose chain rocketwire began again; a unit of another time is none of it."""
    with made(tmp_path) as timers:
        timers.add(NOW + 1500)
        other = timers.last
        timers.add(NOW + 2500)
        timers.add(NOW + 2500)
        timers.save()
        overwrite(tmp_path / "timerlog" / file_name(0), timers.last + PREVIOUS, NO_UNIT)
        slot = slot_number(NOW // 1000 + 2) * SLOT_SIZE
        overwrite(tmp_path / "timerwheel", slot + 24, 1 << 32)  # one message
        assert damaged(tmp_path) == []
        overwrite(tmp_path / "timerwheel", slot + FIRST_POSITION, other)
        assert damaged(tmp_path) == [slot]
