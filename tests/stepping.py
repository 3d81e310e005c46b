"""What is done in steps, run to its end."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeVar

T = TypeVar("T")


def finished(steps: Generator[None, None, T], between: Callable[[], None] = lambda: None) -> tuple[T, int]:
    """What steps give at their end, and how many there were; something may be done between each two of them."""
    count = 1
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result, count
        count += 1
        between()
