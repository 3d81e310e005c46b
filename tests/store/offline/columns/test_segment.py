"""Blocks of segments, and groups: what is written is read, whatever the sizes of blocks."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.store.offline.columns import segment as segments
from rocketwire.store.offline.columns.segment import COLUMNS, GROUP, OpenSegment, SegmentDamaged, grouped, write

INT32 = st.integers(-(1 << 31) + 1, (1 << 31) - 1)
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)


@st.composite
def tables(draw: st.DrawFn) -> tuple[dict[str, Any], list[tuple[int, int]]]:
    """Columns of the same length, and keys with their rows."""
    rows = draw(st.integers(1, 40))
    few = st.integers(0, 2)
    columns: dict[str, Any] = {}
    for name, kind in COLUMNS.items():
        values = draw(st.sampled_from([few, INT64 if kind is np.int64 else INT32]))
        columns[name] = np.array(draw(st.lists(values, min_size=rows, max_size=rows)), kind)
    keys = draw(st.lists(st.tuples(st.sampled_from([-5, 7]) | INT32, st.integers(0, rows - 1)), max_size=40))
    return columns, keys


@given(
    table=tables(),
    block=st.integers(1, 9),
    key_block=st.integers(1, 9),
    flip=st.integers(0, 1 << 20),
    few=st.sampled_from([0, 99]),
)
def test_columns_and_keys_are_read_as_they_were_written(
    table: tuple[dict[str, Any], list[tuple[int, int]]], block: int, key_block: int, flip: int, few: int
) -> None:
    columns, keys = table
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda _: None)
        patch.setattr(segments, "BLOCK", block)
        patch.setattr(segments, "KEY_BLOCK", key_block)
        patch.setattr(segments, "_FEW_GROUPS", few)
        hashes, rows = (np.array([key[part] for key in keys], np.int64) for part in (0, 1))
        segment = write(Path(folder) / "s", columns, hashes, rows)
        opened = OpenSegment(Path(folder), segment)
        for name, column in columns.items():
            assert (opened.whole(name) == column).all()
            assert (opened.block(name, opened.blocks[-1]) == column[opened.blocks[-1] * block :]).all()
        for wanted in {0, 7, *hashes.tolist()}:
            assert opened.rows_of_key(wanted).tolist() == sorted({row for key, row in keys if key == wanted})
        read = zip(*(part.tolist() for part in opened.rows_by_hash()), strict=True)
        assert sorted(read) == sorted(keys)
        groups = opened.groups()
        if groups is not None:
            expected = Counter(
                (row // block, *(int(columns[name][row]) for name in GROUP[1:-1])) for row in range(segment.rows)
            )
            found = zip(*(groups[name].tolist() for name in GROUP), strict=True)
            assert {tuple(values): count for *values, count in found} == expected
        # One bit of any file.
        files = sorted(Path(folder).glob("s/*/data.ninja"))
        file = files[flip % len(files)]
        data = bytearray(file.read_bytes())
        data[flip % len(data)] ^= 1 << flip % 8
        file.write_bytes(data)
        with pytest.raises(SegmentDamaged):
            OpenSegment(Path(folder), segment).whole(file.parent.name)


@given(rows=st.lists(st.tuples(INT32, st.integers(-3, 3), st.integers(1, 9)), min_size=1, max_size=60))
def test_groups_are_what_a_counter_counts(rows: list[tuple[int, int, int]]) -> None:
    for wide in (True, False):
        one, other, weights = (np.array(column) for column in zip(*rows, strict=True))
        columns = [one if wide else other, other]
        counted: Counter[tuple[int, int]] = Counter()
        sums: Counter[tuple[int, int]] = Counter()
        for first, second, weight in zip(*(column.tolist() for column in (*columns, weights)), strict=True):
            counted[first, second] += 1
            sums[first, second] += weight
        for expected, given_weights in ((counted, None), (sums, weights)):
            values, counts = grouped(columns, given_weights)
            assert dict(zip(zip(*(v.tolist() for v in values), strict=True), counts.tolist(), strict=True)) == expected
