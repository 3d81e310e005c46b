"""The hash by which index files know a key: Java's hash of the text, made positive. numpy is imported when needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rocketwire.wire.java import INT32_MAX, string_hash

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_UINT32: Final = 0xFFFFFFFF
_FACTOR: Final = 31


def positive_hash(key: str) -> int:
    """The hash of one key; the one Java hash that has no positive twin gives 0."""
    value = abs(string_hash(key))
    return value if value <= INT32_MAX else 0


def positive_hashes(prefixes: list[int], keys: list[str]) -> NDArray[np.int64]:
    """`positive_hash` of many keys, each behind a prefix that is given by its Java hash.

    Raises:
        ImportError: this needs numpy, which cannot be imported.
    """
    import numpy as np  # noqa: PLC0415 - takes 0.1 s of the start

    result = np.zeros(len(keys), np.uint32)
    starts = np.array(prefixes, np.int64).astype(np.uint32)
    lengths = np.fromiter(map(len, keys), np.int64, len(keys))
    for length in set(lengths.tolist()):
        chosen = np.flatnonzero(lengths == length)
        texts = keys if len(chosen) == len(keys) else [keys[i] for i in chosen.tolist()]
        joined = "".join(texts)
        if joined.isascii():
            units = np.frombuffer(joined.encode(), np.uint8).reshape(len(texts), length)
            hashes = (units * np.array(_powers(length), np.uint32)).sum(axis=1, dtype=np.uint32)
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
    signed[signed > INT32_MAX] = 0
    return signed


def _powers(length: int) -> list[int]:
    powers = [1] * length
    for i in range(length - 2, -1, -1):
        powers[i] = powers[i + 1] * _FACTOR & _UINT32
    return powers
