"""The kernel's column of keys gives what its twin gives, and its index entries are the twin's."""

from __future__ import annotations

import mmap
from array import array
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketwire import _kernel as kernel
from rocketwire.store.index_put import Room, python_put
from rocketwire.store.key_column import PythonKeyColumn
from rocketwire.store.layout.index import ENTRY_SIZE, HEADER_SIZE, SLOT_SIZE
from rocketwire.wire.java import string_hash

names = st.none() | st.text(max_size=12) | st.sampled_from(["", " ", "a b", "polygenelubricants", "\ud800", "a \udfff"])
messages = st.lists(st.tuples(st.text(max_size=4), names, names), min_size=1, max_size=4)
groups = st.lists(st.tuples(messages, st.sampled_from([0, 0, 0, 20, 50])), max_size=12)


@given(groups=groups, ends=st.lists(st.integers(0, 500), max_size=5))
def test_columns_give_the_same(
    groups: list[tuple[list[tuple[str, str | None, str | None]], int]], ends: list[int]
) -> None:
    columns = [PythonKeyColumn(1000), kernel.KeyColumn(1000)]
    at = 0
    for texts, gap in groups:
        start = at = at + gap
        values: list[Any] = []
        for topic, unique_key, keys in texts:
            values += [string_hash(f"{topic}#"), unique_key, keys, at, at + 7]
            at += 10
        for column in columns:
            column.add(start, at, values)
    for end in [*sorted(ends), *range(0, at, 10)]:
        ours, kernels = [column.take(end, 1 << 20) for column in columns]
        assert (ours and [*map(list, ours[:3]), *ours[3:]]) == (kernels and [*map(list, kernels[:3]), *kernels[3:]])
        assert columns[0].start == columns[1].start


@pytest.mark.parametrize(
    "values", [[1, "k", None, 0, "late"], [1, 7, None, 0, 0], [1, "k", b"k", 0, 0], ["#", "k", None, 0, 0]]
)
def test_a_group_that_is_none_leaves_nothing(values: list[Any]) -> None:
    column = kernel.KeyColumn(1000)
    with pytest.raises(TypeError):
        column.add(0, 20, [1, "good", "a b", 0, 0, *values])
    assert (column.pending, column.start) == (0, None)
    column.add(20, 30, [1, "good", None, 20, 0])
    assert column.pending == 1


SLOTS, ENTRIES = 7, 60
ENTRIES_AT = HEADER_SIZE + SLOTS * SLOT_SIZE
hashes = st.integers(0, 30) | st.integers(0, 2**31 - 1)
times = st.integers(-5_000, 5_000_000) | st.sampled_from([0, 2**41, 2**45, 2**62])


@given(
    keys=st.lists(st.tuples(hashes, st.integers(0, 2**62), times), min_size=1, max_size=40),
    first=st.integers(1, 20),
    begin=st.sampled_from([-1, 0, 1, 1_000_000]),
    slots=st.lists(st.integers(-3, 70), min_size=SLOTS, max_size=SLOTS),
    garbage=st.binary(min_size=ENTRY_SIZE, max_size=ENTRY_SIZE),
)
@example([(1, 0, 0), (8, 0, 0), (1, 0, 0)], 1, 0, [0, 2, 0, 0, 0, 0, 0], b"\0" * ENTRY_SIZE)
@example([(1, 0, 0), (8, 0, 0), (2, 0, 0)], 1, 5, [0, 0, 2, 0, 0, 0, 0], b"\0" * ENTRY_SIZE)
def test_entries_are_the_twin_s_whatever_the_slots_say(
    keys: list[tuple[int, int, int]], first: int, begin: int, slots: list[int], garbage: bytes
) -> None:
    rows = [memoryview(array("q", [key[i] for key in keys])) for i in range(3)]
    room = Room(HEADER_SIZE, SLOTS, ENTRIES_AT, first, begin)
    found = []
    for put in (python_put, kernel.put_index_entries):
        mapping = mmap.mmap(-1, ENTRIES_AT + ENTRIES * ENTRY_SIZE)
        mapping[HEADER_SIZE:] = b"".join(slot.to_bytes(4, signed=True) for slot in slots) + garbage * ENTRIES
        newcomers = put(mapping, room, rows[0], rows[1], rows[2], len(keys))
        found.append((newcomers, mapping[:]))
    assert found[0] == found[1]


def test_many_entries_are_the_twin_s() -> None:
    """So many that the interpreter is left to other threads meanwhile."""
    count, slots = 5_000, 1_009
    numbers = range(count)
    rows = [memoryview(array("q", row)) for row in ([n * n * 7919 % 2**31 for n in numbers], numbers, numbers)]
    entries_at = HEADER_SIZE + slots * SLOT_SIZE
    found = []
    for put in (python_put, kernel.put_index_entries):
        mapping = mmap.mmap(-1, entries_at + (count + 1) * ENTRY_SIZE)
        room = Room(HEADER_SIZE, slots, entries_at, 1, 0)
        found.append((put(mapping, room, rows[0], rows[1], rows[2], count), mapping[:]))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("slots_at", "slots", "entries_at", "first", "count"),
    [(0, 0, 40, 1, 1), (0, 1000, 40, 1, 1), (-1, 4, 40, 1, 1), (0, 4, -1, 1, 1), (0, 4, 900, 1, 5), (0, 4, 40, 1, 9),
     (0, 4, 40, 46, 3), (0, 4, 40, 1, -1), (2000, 4, 40, 1, 1), (0, 4, 2000, 0, 0)],
)  # fmt: skip
def test_what_does_not_fit_is_refused(slots_at: int, slots: int, entries_at: int, first: int, count: int) -> None:
    mapping = bytearray(1000)
    row = memoryview(array("q", range(8)))
    with pytest.raises(ValueError, match="no room"):
        kernel.put_index_entries(mapping, (slots_at, slots, entries_at, first, 0), row, row, row, count)
    assert not any(mapping)
