"""How often each combination of values occurs in columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

#: Cells a row at which counting in a table of all combinations costs more than sorting.
_SPARSE: Final = 16


def grouped(
    columns: Sequence[NDArray[Any]], weights: NDArray[Any] | None = None
) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """The combinations that occur, as columns, and how many rows have each: or the sum of its rows' weights.

    There is one column at least, and one row.
    """
    lows = [int(column.min()) for column in columns]
    widths = [int(column.max()) - low + 1 for column, low in zip(columns, lows, strict=True)]
    if np.prod(widths, dtype=np.float64) > len(columns[0]) * _SPARSE:
        found, places = np.unique(np.stack(columns).astype(np.int64), axis=1, return_inverse=True)
        return list(found), np.bincount(places.ravel(), weights).astype(np.int64)
    cell = np.zeros(len(columns[0]), np.int64)
    for column, low, width in zip(columns, lows, widths, strict=True):
        cell *= width
        cell += column
        cell -= low
    counts = np.bincount(cell, weights).astype(np.int64)
    cells = np.flatnonzero(counts)
    parts = np.unravel_index(cells, widths)
    return [part + low for part, low in zip(parts, lows, strict=True)], counts[cells]
