"""Units of the timer log in C as store.timer.unit_access reads and settles them."""

from __future__ import annotations

from array import array
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire import _kernel as kernel
from rocketwire.store.layout.timer_log import UNIT_SIZE, UNIT_STRUCT
from rocketwire.store.timer.unit_access import due_units_by_python, settle_units_by_python
from rocketwire.store.timer.units import DueTimerUnit

int32 = st.integers(-(1 << 31), (1 << 31) - 1)
int64 = st.integers(-(1 << 63), (1 << 63) - 1)
LOW = 104_857_600
#: Few of each, so that some wait and some are alike.
units = st.builds(
    UNIT_STRUCT.pack,
    *(st.just(UNIT_SIZE), int64, st.sampled_from([1, 3, 5, 7]) | int32, int64, int32, int64, int32),
    st.sampled_from([1, -1]) | int32,
    st.sampled_from([0, 0, 0, -1, -2, 1 << 40]) | int64,
)
files = st.lists(units, max_size=5).map(b"".join)
places = st.sampled_from([LOW + UNIT_SIZE * number for number in range(6)]) | st.sampled_from(
    [LOW - 1, 0, -1, LOW + 1, LOW + 3 * UNIT_SIZE + 1, (1 << 63) - 1, -(1 << 63)]
)


@given(files, st.lists(places, max_size=8))
def test_units_are_read_as_the_twin_reads_them(data: bytes, positions: list[int]) -> None:
    found = kernel.due_units(DueTimerUnit, data, LOW, array("q", positions))
    assert found == due_units_by_python(DueTimerUnit, bytearray(data), LOW, array("q", positions))
    assert all(type(unit) is DueTimerUnit and type(unit.rolls) is bool for unit in found)


@given(files, st.lists(st.tuples(places, int64), max_size=8), st.integers(0, 9))
def test_units_are_settled_as_the_twin_settles_them(data: bytes, outcomes: list[tuple[int, int]], first: int) -> None:
    ours, twin = bytearray(data), bytearray(data)
    counted: list[dict[int, int]] = [{1: 5}, {1: 5}]
    first = min(first, len(outcomes))
    done = kernel.settle_units(ours, LOW, outcomes, first, counted[0])
    assert done == settle_units_by_python(twin, LOW, outcomes, first, counted[1])
    assert (ours, counted[0]) == (twin, counted[1])


def test_half_a_position_is_none() -> None:
    unit = UNIT_STRUCT.pack(UNIT_SIZE, -1, 3, 5000, 10, 1 << 40, 300, 7, 0)
    positions = array("q", [0, 0]).tobytes()
    assert kernel.due_units(DueTimerUnit, unit, 0, positions[:15]) == [DueTimerUnit(1 << 40, 300, 5000, 0, rolls=True)]
    assert kernel.due_units(DueTimerUnit, unit, -5, positions) == []


@pytest.mark.parametrize("outcomes", [[1], [(1,)], [(0, "1")], [("0", 1)], [(0, 1 << 63)], [(0, 1, 2)], ()])
def test_what_is_no_list_of_pairs_is_an_error(outcomes: Any) -> None:
    with pytest.raises((TypeError, OverflowError)):
        kernel.settle_units(bytearray(52), 0, outcomes, 0, {})


def test_other_arguments_that_are_wrong() -> None:
    with pytest.raises(ValueError, match="from 0"):
        kernel.settle_units(bytearray(52), 0, [(0, 1)], -1, {})
    read_only: Any = bytes(52)
    with pytest.raises((TypeError, BufferError)):
        kernel.settle_units(read_only, 0, [(0, 1)], 0, {})
    counted: Any = {0: "text"}
    with pytest.raises(TypeError):
        kernel.settle_units(bytearray(52), 0, [(0, 1)], 0, counted)
    kind: Any = int
    with pytest.raises(TypeError):
        kernel.due_units(kind, bytes(52), 0, array("q", [0]))
