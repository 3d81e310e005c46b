"""Queries many queues of a remote store in parallel, because each answer takes a while."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from rocketwire.spark.files.far import RemoteFiles
from rocketwire.store.offline.read.file_system import ReadableFileSystem

T = TypeVar("T")
R = TypeVar("R")

#: Requests in flight: fewer than the connections that implementations keep.
AT_ONCE: Final = 16
#: Slices for each thread, so that none gets all the slow ones.
_SLICES: Final = 4


def in_slices(files: ReadableFileSystem, ask: Callable[[Sequence[T]], Iterable[R]], items: Sequence[T]) -> list[R]:
    """The results of `ask` for items, in their order; for a remote store several threads call it, each for a few items.

    Args:
        files: The file system of the items. A local one has one slice, and no thread.
        ask: Returns the answers for a slice. It must not share open files.
        items: The arguments of `ask`.

    Raises:
        Exception: what `ask` raised first, by the order of items; the others are not started then.
    """
    if not isinstance(files, RemoteFiles) or not items[1:]:
        return [*ask(items)]
    size = max(1, len(items) // (AT_ONCE * _SLICES))
    slices = [items[at : at + size] for at in range(0, len(items), size)]
    with ThreadPoolExecutor(AT_ONCE, "rocketmq-planning") as pool:
        return [answer for answers in pool.map(lambda some: [*ask(some)], slices) for answer in answers]
