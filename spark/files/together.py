"""Asking about many queues of a store far away: several at once, for each answer is waited for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from rocketwire.spark.files.far import FarFiles
from rocketwire.store.archive.read.file_system import FileSystem

T = TypeVar("T")
R = TypeVar("R")

#: Requests that are on their way at once: fewer than connections that implementations keep.
AT_ONCE: Final = 16
#: Slices for each thread, so that none is left with all that is slow.
_SLICES: Final = 4


def in_slices(files: FileSystem, ask: Callable[[Sequence[T]], Iterable[R]], items: Sequence[T]) -> list[R]:
    """What `ask` gives for items, in their order: far away by several threads, each of which asks for a few of them.

    Args:
        files: Where what is asked for is. On this machine there is one slice, and no thread.
        ask: Gives the answers for a slice. What it opens must be its own.
        items: What is asked for.

    Raises:
        Exception: what `ask` raised first, by the order of items; those that were not begun are not asked for.
    """
    if not isinstance(files, FarFiles) or not items[1:]:
        return [*ask(items)]
    size = max(1, len(items) // (AT_ONCE * _SLICES))
    slices = [items[at : at + size] for at in range(0, len(items), size)]
    with ThreadPoolExecutor(AT_ONCE, "rocketmq-planning") as pool:
        return [answer for answers in pool.map(lambda some: [*ask(some)], slices) for answer in answers]
