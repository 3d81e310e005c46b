"""Groups of records, small enough to be read or stored in one step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

GROUP_BYTES: Final = 512 << 10
"""Most bytes of a group's records, unless it is a single one."""

T = TypeVar("T")


def split_into_groups(items: list[T], sizes: Iterable[int]) -> Iterator[list[T]]:
    """Divide items, in their order, into as few groups as possible; see `GROUP_BYTES`.

    Args:
        items: Any number of them.
        sizes: How many bytes each takes.
    """
    first = together = 0
    for number, size in enumerate(sizes):
        together += size
        if together > GROUP_BYTES and number > first:
            yield items[first:number]
            first, together = number, size
    if items:
        yield items[first:]
