"""The hashes by which an index knows keys, of many keys at once with numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from rocketwire.wire.java import string_hash

if TYPE_CHECKING:
    from numpy.typing import NDArray

_INT32_MAX: Final = 0x7FFFFFFF
_UINT32: Final = 0xFFFFFFFF
_FACTOR: Final = 31


def positive_hashes(prefixes: list[int], keys: list[str]) -> NDArray[np.int64]:
    """`key_hash.positive_hash` of many keys, each behind a prefix that is given by its Java hash."""
    result = np.zeros(len(keys), np.uint32)
    starts = np.array(prefixes, np.int64).astype(np.uint32)
    lengths = np.fromiter(map(len, keys), np.int64, len(keys))
    for length in set(lengths.tolist()):
        chosen = np.flatnonzero(lengths == length)
        texts = keys if len(chosen) == len(keys) else [keys[i] for i in chosen.tolist()]
        joined = "".join(texts)
        if joined.isascii():
            units = np.frombuffer(joined.encode(), np.uint8).reshape(len(texts), length)
            hashes = (units * _powers(length)).sum(axis=1, dtype=np.uint32)
            result[chosen] = starts[chosen] * np.uint32(pow(_FACTOR, length, 1 << 32)) + hashes
        else:
            result[chosen] = [
                (
                    prefix * pow(_FACTOR, len(text.encode("utf-16-le", "surrogatepass")) // 2, 1 << 32)
                    + string_hash(text)
                )
                & _UINT32
                for prefix, text in zip(starts[chosen].tolist(), texts, strict=True)
            ]
    signed = np.abs(result.astype(np.int32).astype(np.int64))
    signed[signed > _INT32_MAX] = 0
    return signed


def _powers(length: int) -> NDArray[np.uint32]:
    powers = np.empty(length, np.uint32)
    value = 1
    for i in range(length - 1, -1, -1):
        powers[i] = value
        value = value * _FACTOR & _UINT32
    return powers
