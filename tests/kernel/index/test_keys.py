"""The kernel's column of keys gives what its twin gives."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire import _kernel as kernel
from rocketwire.store.index.key_column import PythonKeyColumn
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
