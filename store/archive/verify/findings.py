"""What a verification finds: one thing at one place of one file, said in one line."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias


class Kind(enum.Enum):
    """How bad it is."""

    DAMAGE = "damage"
    """Something is lost or wrong, and no start of a broker mends it."""
    NOTE = "note"
    """What a stop in the middle of work leaves behind, or an operator did; the next start of a broker deals with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing.

    Attributes:
        kind: How bad it is.
        path: The file or directory, from the store's directory on.
        what: What it is.
        position: Byte of the file where it begins.
        topic, queue_id, offset: The message it is about; `offset` is the first one's when there are more.
        count: How many messages or entries it is about.
    """

    kind: Kind
    path: str
    what: str
    position: int | None = None
    topic: str | None = None
    queue_id: int | None = None
    offset: int | None = None
    count: int = 1

    def __str__(self) -> str:
        place = self.path if self.position is None else f"{self.path} at byte {self.position}"
        if self.topic is not None:
            place += f", {self.topic}"
        if self.queue_id is not None:
            place += f" queue {self.queue_id}"
        if self.offset is not None:
            last = self.offset + self.count - 1
            place += f" offset {self.offset}" if last == self.offset else f" offsets {self.offset} to {last}"
        return f"{self.kind.value}: {place}: {self.what}"


Report: TypeAlias = Callable[[Finding], None]
