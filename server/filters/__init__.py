"""Which messages of a queue a consumer wants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple


class MessageFilter(NamedTuple):
    """What a pull asks of each message: of its queue entry's tags code, then of the property text of its record.

    None: nothing is asked. One look at the queue goes through `most_text` bytes of property text. `codes` are those
    that `by_code` lets pass; `properties` names all that `by_properties` goes by, None where that is not known. It
    takes `size` bytes of memory at most.
    """

    by_code: Callable[[int], bool] | None = None
    by_properties: Callable[[bytes], bool] | None = None
    most_text: int = 0
    codes: frozenset[int] | None = None
    properties: tuple[str, ...] | None = None
    size: int = 0


EVERYTHING: Final = MessageFilter()
