"""A bounded cache of compiled expressions: the newest ones.

A compiled expression takes some hundred bytes for each of its characters, so the bound is in characters.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, Generic, TypeVar

T = TypeVar("T")

MOST_CHARACTERS: Final = 131_072
"""The most characters of all cached expressions."""
_LEAST: Final = 64  # characters that every expression counts at least


class CompiledCache(Generic[T]):
    """Values by expression; the least recently used ones are dropped."""

    def __init__(self) -> None:
        self._values: OrderedDict[str, T] = OrderedDict()
        self._characters = 0

    def __len__(self) -> int:
        """The number of cached values."""
        return len(self._values)

    def get(self, expression: str) -> T | None:
        """The value of an expression; None if it is not cached."""
        value = self._values.get(expression)
        if value is not None:
            self._values.move_to_end(expression)
        return value

    def put(self, expression: str, value: T) -> None:
        """Cache the value of an expression that has none."""
        self._values[expression] = value
        self._characters += _size(expression)
        while self._characters > MOST_CHARACTERS:
            oldest, _ = self._values.popitem(last=False)
            self._characters -= _size(oldest)


def _size(expression: str) -> int:
    return max(_LEAST, len(expression))
