"""Rows in which a name stands twice, out of the names of many properties.

Names are compared by numbers made of their bytes, each with those that follow it in its row. Two names may look the
same and not be: who asks looks at such rows again.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

#: Bytes that are read at once; behind each name there are so many.
WORD: Final = 8
#: By how many bytes of a word belong to a name: what leaves these.
_MASKS: Final = np.array([(1 << 8 * count) - 1 for count in range(WORD + 1)], np.uint64)
#: Odd numbers that spread what is multiplied by them.
_SPREADS: Final = tuple(map(np.uint64, (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)))
_HALF: Final = np.uint64(32)
#: In rows of more names than this, those that are the same are found by sorting.
_FEW: Final = 16


def rows_with_doubled_names(
    octets: NDArray[np.uint8], begins: NDArray[np.int64], ends: NDArray[np.int64], counts: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Of names between these places, so many a row: the rows in which one seems to stand twice, rising."""
    rows = np.repeat(np.arange(len(counts)), counts)
    most = int(counts.max(initial=0))
    if most < 2:
        return rows[:0]
    words: NDArray[np.uint64] = np.ndarray((len(octets) - WORD + 1,), "<u8", octets, strides=(1,))
    lengths = ends - begins
    masks = _MASKS[np.minimum(lengths, WORD)]
    first, second, third = _SPREADS
    numbers = (words[begins] & masks) * first
    numbers += lengths.view(np.uint64) * second
    numbers += rows.view(np.uint64) * third
    if not _again(numbers, most).any():
        return rows[:0]
    # Names may begin with the same eight bytes; then their last ones count, too.
    numbers ^= numbers >> _HALF
    numbers += (words[np.maximum(ends - WORD, begins)] & masks) * second
    found: NDArray[np.int64] = np.unique(rows[_again(numbers, most)])
    return found


def _again(numbers: NDArray[np.uint64], most: int) -> NDArray[np.bool_]:
    """Which numbers were there before, among the `most` last ones or further away."""
    again = np.zeros(len(numbers), bool)
    if most <= _FEW:
        for distance in range(1, most):
            again[distance:] |= numbers[distance:] == numbers[:-distance]
    else:
        order = np.argsort(numbers)
        again[order[1:]] = numbers[order[1:]] == numbers[order[:-1]]
    return again
