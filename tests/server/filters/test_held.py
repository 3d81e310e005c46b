from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable

import pytest

from rocketwire.server.filters import EVERYTHING, MessageFilter, selection, tag
from rocketwire.server.filters.held import FilterMemory
from rocketwire.server.filters.sql import _compile


def test_a_filter_counts_once_for_all_its_users() -> None:
    filters = FilterMemory()
    wanted = tag._read("a||b", None)
    again = tag._read("a||b", None)
    assert wanted.size
    assert filters.size_with(wanted) == wanted.size
    for _ in range(2):
        filters.take(wanted)
        assert (filters.size, filters.size_with(wanted)) == (wanted.size, wanted.size)
    assert filters.size_with(again) == 2 * wanted.size
    filters.take(again)
    filters.drop(wanted)
    assert filters.size == 2 * wanted.size
    filters.drop(wanted)
    filters.drop(again)
    assert (filters.size, filters._users) == (0, {})


def test_a_filter_that_passes_everything_takes_no_memory() -> None:
    filters = FilterMemory()
    filters.take(EVERYTHING)
    assert (filters.size, filters.size_with(EVERYTHING)) == (0, 0)
    filters.drop(EVERYTHING)


def tags(number: int, count: int) -> MessageFilter:
    return tag._read("||".join(chr(0x3000 + number + each) for each in range(count)), None)


def names(number: int, count: int) -> MessageFilter:
    """The comparisons that take the most memory for each of their characters."""
    return selection._by_sql(_compile(" OR ".join(f"x{number * count + each:x}=1" for each in range(count))))


@pytest.mark.parametrize(
    ("make", "count"),
    [*((tags, count) for count in (1, 6, 20, 78, 308, 4000)), *((names, count) for count in (1, 10, 100))],
)
def test_a_filter_takes_no_more_memory_than_is_counted(make: Callable[[int, int], MessageFilter], count: int) -> None:
    make(0, count)  # loads and caches what the first use needs
    # Python's tables, such as that of interned texts, may grow by megabytes meanwhile, but not in all rounds.
    assert any(taken < counted for taken, counted in (measured(make, count, first) for first in (1, 5, 9)))


def measured(make: Callable[[int, int], MessageFilter], count: int, first: int) -> tuple[int, int]:
    """The memory of four filters, and the counted bytes."""
    gc.collect()
    tracemalloc.start()
    kept = [make(number, count) for number in range(first, first + 4)]
    gc.collect()
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return taken, sum(each.size for each in kept)
