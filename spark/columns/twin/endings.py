"""Finds properties near the end of their texts, as tags mostly are, without reading the rest.

If one of many texts is different, `texts` decodes them all.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.records.columns import Buffer, gather
from rocketwire.wire.facts.properties import ITEM_SEP, NAME_SEP

#: Numbers of bytes of each text that are examined, at first and then.
_WINDOWS: Final = (16, 32)
_WORD: Final = np.dtype("<u8")


def last_values(
    buffer: Buffer, begins: NDArray[np.int64], ends: NDArray[np.int64], name: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Where in texts between these places the value of a property begins, and where it ends.

    The name has six characters at most. None: it is not near the end of every text exactly once, with a value.
    """
    if not len(ends) or int(ends.min()) < _WINDOWS[-1]:
        return None
    octets = np.frombuffer(buffer, np.uint8)
    wanted = f"{ITEM_SEP}{name}{NAME_SEP}".encode()
    for window in _WINDOWS:
        found = _values_within(octets, begins, ends, wanted, window)
        if found is not None:
            return found
    return None


def _values_within(
    octets: NDArray[np.uint8], begins: NDArray[np.int64], ends: NDArray[np.int64], wanted: bytes, window: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """The same of so many bytes at the end of each text; `wanted` is the name between its separators."""
    count = len(ends)
    # What is read behind the last window is one more of the same.
    firsts = np.append(ends, ends[-1:]) - window
    octets = gather(octets, firsts, np.dtype(f"V{window}")).view(np.uint8)
    firsts = firsts[:-1]
    is_sep = octets[: count * window] == ord(ITEM_SEP)
    if np.count_nonzero(is_sep) == count:
        value_begins = _of_one_length(octets, ends, wanted, window)
        if value_begins is not None:
            return (value_begins, ends) if (value_begins >= begins + len(wanted)).all() else None
    seps = np.flatnonzero(is_sep)
    is_wanted = _are(gather(octets, seps, _WORD), wanted)
    rows = np.arange(0, count * window, window)
    if len(seps) == count and is_wanted.all():  # the last of each, as it mostly is
        within, value_ends = seps - rows, ends
    else:
        found = np.flatnonzero(is_wanted)
        if len(found) != count:
            return None
        within = seps[found] - rows
        # It goes up to what separates it from the next one, or to the end.
        value_ends = np.append(seps, rows[-1] + window)[found + 1] - rows
        np.minimum(value_ends, window, out=value_ends)
        value_ends += firsts
    value_begins = firsts + within
    # One in each, and not before the text; what is less than 0 is a large number here.
    if int(within.view(np.uint64).max()) >= window or not (value_begins >= begins).all():
        return None
    value_begins += len(wanted)
    return (value_begins, value_ends) if (value_begins < value_ends).all() else None


def _of_one_length(
    octets: NDArray[np.uint8], ends: NDArray[np.int64], wanted: bytes, window: int
) -> NDArray[np.int64] | None:
    """Where the values begin if all are as long as the first one, and each is the last of its text; else None."""
    at = octets[:window].tobytes().rfind(wanted)
    length = window - at - len(wanted)
    words: NDArray[np.uint64] = np.ndarray((len(ends),), _WORD, octets, max(at, 0), (window,))
    return ends - length if at >= 0 and length and _are(words, wanted).all() else None


def _are(words: NDArray[np.uint64], wanted: bytes) -> NDArray[np.bool_]:
    """Which words begin with what is wanted."""
    found: NDArray[np.bool_] = words & np.uint64((1 << 8 * len(wanted)) - 1) == int.from_bytes(wanted, "little")
    return found
