"""What expressions were compiled to, by expression: the newest ones, as far as memory goes.

A compiled expression takes some hundred bytes for each of its characters, so they are counted by those.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, Generic, TypeVar

T = TypeVar("T")

MOST_CHARACTERS: Final = 131_072
"""In all expressions that are kept."""
_LEAST: Final = 64  # characters that any expression counts for


class Kept(Generic[T]):
    """Values by expression; those not asked for the longest time go."""

    def __init__(self) -> None:
        self._values: OrderedDict[str, T] = OrderedDict()
        self._characters = 0

    def __len__(self) -> int:
        """How many are kept."""
        return len(self._values)

    def get(self, expression: str) -> T | None:
        """The value of an expression; None when none is kept."""
        value = self._values.get(expression)
        if value is not None:
            self._values.move_to_end(expression)
        return value

    def put(self, expression: str, value: T) -> None:
        """Keep the value of an expression that has none."""
        self._values[expression] = value
        self._characters += _size(expression)
        while self._characters > MOST_CHARACTERS:
            oldest, _ = self._values.popitem(last=False)
            self._characters -= _size(oldest)


def _size(expression: str) -> int:
    return max(_LEAST, len(expression))
