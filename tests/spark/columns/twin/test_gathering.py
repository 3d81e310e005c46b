"""Parts of a buffer as a column."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.spark.columns.twin import gathering
from rocketwire.spark.columns.twin.gathering import column_of, gathered, octets_of, offsets_of, with_nulls

DATA = bytes(range(200))
parts = st.tuples(st.integers(0, 200), st.integers(0, 200)).map(sorted)


def places(*values: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array(values, np.int64)


@given(st.lists(parts, max_size=40))
def test_any_parts_in_any_order(chosen: list[list[int]]) -> None:
    begins, ends = places(*[begin for begin, _ in chosen]), places(*[end for _, end in chosen])
    column = gathered(DATA, begins, ends, pa.binary())
    column.validate(full=True)
    expected = [DATA[begin:end] for begin, end in chosen]
    assert column.to_pylist() == expected
    assert octets_of(column)[: sum(map(len, expected))].tobytes() == b"".join(expected)
    assert np.diff(offsets_of(column)).tolist() == list(map(len, expected))[: max(0, len(expected))]


def test_of_an_array_and_of_memory_that_changes_later() -> None:
    buffer = bytearray(b"one two")
    column = gathered(np.frombuffer(buffer, np.uint8), places(0, 4), places(3, 7), pa.string())
    buffer[:] = bytes(len(buffer))
    assert column.to_pylist() == ["one", "two"]


def test_more_than_a_column_holds_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "INT32_MAX", 10)
    with pytest.raises(ValueError, match="2 values have 2 GiB or more"):
        gathered(DATA, places(0, 0), places(5, 6), pa.binary())


def test_nulls_and_numbers() -> None:
    column = gathered(DATA, places(*range(65, 75)), places(*range(66, 76)), pa.string())
    present = np.arange(10) % 3 != 0
    assert with_nulls(column, present).to_pylist() == [None, "B", "C", None, "E", "F", None, "H", "I", None]
    assert column_of(pa.int32(), np.arange(6, dtype=np.int32)[::2]).to_pylist() == [0, 2, 4]
