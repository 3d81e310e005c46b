"""Finds the rows in which a property name occurs twice.

Names of a row are compared by hashes of their bytes. Different names may have equal hashes, so the caller checks the
rows found.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

#: Bytes that are read at once; at least so many follow each name.
WORD: Final = 8
#: By the number of bytes of a word that belong to a name: the mask that keeps these.
_MASKS: Final = np.array([(1 << 8 * count) - 1 for count in range(WORD + 1)], np.uint64)
#: Odd multipliers of the hash.
_SPREADS: Final = tuple(map(np.uint64, (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)))
_HALF: Final = np.uint64(32)
#: In rows with more names than this, duplicates are found by sorting.
_FEW: Final = 16


def rows_with_doubled_names(
    octets: NDArray[np.uint8], begins: NDArray[np.int64], ends: NDArray[np.int64], counts: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Of names between these places, so many a row: the rows in which one seems to be duplicate, ascending."""
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
    """Which numbers occurred before, among the `most` last ones or further away."""
    again = np.zeros(len(numbers), bool)
    if most <= _FEW:
        for distance in range(1, most):
            again[distance:] |= numbers[distance:] == numbers[:-distance]
    else:
        order = np.argsort(numbers)
        again[order[1:]] = numbers[order[1:]] == numbers[order[:-1]]
    return again
