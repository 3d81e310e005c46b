"""Arrow arrays as pyarrow's own functions make them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from rocketwire.spark.columns.plain_arrays import of_numbers, of_texts, repeated


@pytest.mark.parametrize("values", [np.arange(14, dtype=np.int32), np.arange(2), np.arange(0)])
def test_numbers(values: NDArray[np.int32 | np.int64]) -> None:
    for given in (values, values[::2]):
        found = of_numbers(given)
        found.validate(full=True)
        assert found.equals(pa.array(given.tolist(), values.dtype.name))


def test_numbers_of_other_kinds_are_refused() -> None:
    with pytest.raises(KeyError):
        of_numbers(np.zeros(1, np.int16))


@pytest.mark.parametrize("values", [[], [""], ["a", "", "bü", "日本"]])
def test_texts(values: list[str]) -> None:
    found = of_texts(values)
    found.validate(full=True)
    assert found.equals(pa.array(values, pa.string()))


@pytest.mark.parametrize("value", ["", "/data/störe"])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_one_text_many_times(value: str, count: int) -> None:
    found = repeated(value, count)
    found.validate(full=True)
    assert found.equals(pa.array([value] * count, pa.string()))
