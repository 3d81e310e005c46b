"""Random numbers for choices: queues, retries first or last, faults."""

from __future__ import annotations

import secrets
import struct
from typing import Final

_TAKEN: Final = 1024
_numbers: Final = struct.Struct(f"={_TAKEN}I")
_BITS: Final = 32


class RandomBelow:
    """Gives random numbers below another one. Gets many at once from the system, as each call costs 1 µs."""

    def __init__(self) -> None:
        self._left: list[int] = []

    def __call__(self, below: int) -> int:
        """A random number from 0 on, less than `below`, which is at most 2 ** 32."""
        if not self._left:
            self._left = list(_numbers.unpack(secrets.token_bytes(_numbers.size)))
        return self._left.pop() * below >> _BITS
