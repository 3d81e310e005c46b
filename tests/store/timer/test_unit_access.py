"""Units read and settled many at once: over the ends of files, by whichever of kernel and twin runs, and the twin."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.layout.timer_log import BLANK_SIZE, NO_COPY, NO_UNIT, UNIT_SIZE, UNIT_STRUCT, WAITS
from rocketwire.store.timer import log as timer_log
from rocketwire.store.timer import unit_access
from rocketwire.store.timer.log import TimerLog
from rocketwire.store.timer.units import DueTimerUnit

UNITS = 4
FILE_SIZE = UNITS * UNIT_SIZE + BLANK_SIZE

Opened = tuple[TimerLog, "array[int]"]


@pytest.fixture(params=["as it runs", "twin"])
def opened(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A log of ten units in three files, and their positions: markers, rolling ones, of two topics."""
    if request.param == "twin":
        monkeypatch.setattr(timer_log, "due_units", unit_access.due_units_by_python)
        monkeypatch.setattr(timer_log, "settle_units", unit_access.settle_units_by_python)
    log = TimerLog(str(tmp_path), FILE_SIZE, FileSystem())
    log.load()
    positions = array("q")
    for number in range(10):
        log.make_room(1)
        magic = (1, 3, 5)[number % 3]
        row = (UNIT_SIZE, NO_UNIT, magic, 5000 + number, 10, 300 * number, 300, number % 2 + 7, WAITS)
        positions.append(log.append(UNIT_STRUCT.pack(*row)))
    yield log, positions
    log.close()


def test_units_of_several_files_are_read(opened: Opened) -> None:
    log, positions = opened
    chosen = array("q", [positions[number] for number in (9, 1, 0, 5)])
    assert log.due_units(chosen) == [
        DueTimerUnit(300 * number, 300, 5000 + number, positions[number], rolls=number % 3 == 1)
        for number in (9, 1, 0, 5)
    ]
    assert log.due_units(array("q")) == []


def test_units_of_several_files_are_settled(opened: Opened) -> None:
    log, positions = opened
    log.take_unsynced()
    counts = log.settle([(positions[number], 1000 + number) for number in (0, 1, 2, 9, 4)])
    assert counts == {7: 2, 8: 2}  # number 2 is a marker
    assert [segment.start for segment in log.take_unsynced()] == [0, FILE_SIZE, 2 * FILE_SIZE]
    assert log.settle([(positions[0], NO_COPY), (positions[3], 5)]) == {8: 1}
    found = [log.unit(position) for position in positions]
    assert [unit.outcome for unit in found if unit] == [NO_COPY, 1001, 1002, 5, 1004, 0, 0, 0, 0, 1009]
    assert log.settle([]) == {}


def test_where_no_unit_can_stand_is_an_error(opened: Opened) -> None:
    log, _ = opened
    requested: list[Callable[[int], object]] = [
        lambda position: log.due_units(array("q", [position])),
        lambda position: log.settle([(position, 1)]),
    ]
    for call in requested:
        with pytest.raises(IndexError):
            call(FILE_SIZE - UNIT_SIZE + 1)
