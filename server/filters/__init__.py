"""Message filters: which messages of a queue a consumer receives, by tags or SQL92.

Begin with `MessageFilter`, which a scan of a queue applies; `selection` chooses that of a pull, `consumer_filters`
keeps SQL ones.
May import: `core`, `config`; `store`, `wire`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple


class MessageFilter(NamedTuple):
    """A filter of messages: first by the tags code of the queue entry, then by the property text of the record.

    None: no such condition. One scan of the queue examines at most `most_text` bytes of property text. `codes` are the
    codes that `by_code` accepts; `properties` names all properties that `by_properties` depends on, None if unknown.
    The filter takes at most `size` bytes of memory.
    """

    by_code: Callable[[int], bool] | None = None
    by_properties: Callable[[bytes], bool] | None = None
    most_text: int = 0
    codes: frozenset[int] | None = None
    properties: tuple[str, ...] | None = None
    size: int = 0


EVERYTHING: Final = MessageFilter()
