"""Numbers as protobuf writes them, for what is written without it: seven bits a byte, the lowest first."""

from __future__ import annotations

from typing import Final

NUMBERS_KEPT: Final = 1024


def number(value: int) -> bytes:
    """A number that is not negative."""
    if value < NUMBERS_KEPT:
        return NUMBERS[value]
    return bytes([value & 0x7F | 0x80]) + number(value >> 7)


def _made(value: int) -> bytes:
    return bytes([value]) if value < 0x80 else bytes([value & 0x7F | 0x80, value >> 7])


NUMBERS: Final = [_made(value) for value in range(NUMBERS_KEPT)]
"""Those below `NUMBERS_KEPT`."""
