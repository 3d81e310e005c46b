"""The kernel finds the records of entries as its twin does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire import native
from rocketwire.store.layout.consume_queue import ENTRY_STRUCT
from rocketwire.store.read.record_runs import python_record_runs, record_runs

Find: TypeAlias = Callable[[memoryview, memoryview], list[memoryview] | None]
LOG = memoryview(bytes(range(256)) * 2)
places = st.lists(st.tuples(st.integers(-3, 40), st.integers(-1, 30)), min_size=1, max_size=12)


def entries_of(gaps: list[tuple[int, int]], base: int) -> memoryview:
    """Entries of records of some sizes, each so many bytes behind the one before."""
    place, found = base, b""
    for gap, size in gaps:
        place += gap
        found += ENTRY_STRUCT.pack(place, size, 0)
        place += size
    return memoryview(found)


@given(places, st.integers(0, 1 << 40))
def test_both_find_the_same(gaps: list[tuple[int, int]], base: int) -> None:
    entries = entries_of(gaps, base)
    if native.kernel is not None:
        assert native.kernel.record_runs(entries, LOG) == python_record_runs(entries, LOG)


@pytest.mark.parametrize("find", [record_runs, python_record_runs])
def test_adjacent_records_are_one_run(find: Find) -> None:
    entries = entries_of([(0, 10), (0, 5), (7, 3), (0, 1)], 1000)
    assert find(entries, LOG) == [LOG[:15], LOG[22:26]]


@pytest.mark.parametrize("find", [record_runs, python_record_runs])
@pytest.mark.parametrize("gaps", [[(0, 10), (-1, 5)], [(0, 0)], [(0, 10), (2, -1)], [(0, 300), (300, 1)]])
def test_entries_that_this_store_did_not_write(find: Find, gaps: list[tuple[int, int]]) -> None:
    assert find(entries_of(gaps, 5), LOG) is None


@pytest.mark.skipif(native.kernel is None, reason="checks of the kernel's arguments")
def test_entries_are_whole() -> None:
    assert native.kernel is not None
    for entries in (b"", bytes(19)):
        with pytest.raises(ValueError, match="20 bytes"):
            native.kernel.record_runs(entries, LOG)
