"""Messages of one queue that were pulled and are not consumed yet, and the offset that follows from them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Generic, TypeVar

MOST_MESSAGES: Final = 1000
"""Messages of one queue that are pulled and not consumed; then it is pulled no further."""
MOST_BYTES: Final = 64 << 20
"""The same in bytes of bodies."""
M = TypeVar("M")


class ProcessQueue(Generic[M]):
    """The messages of a queue that a member of a group consumes.

    Args:
        offset: Where consuming begins.
        most_bytes: Beyond these bytes no more is pulled.

    Attributes:
        next_offset: Where the next pull begins.
        committed: The offset that was committed last; None: none.
        is_dropped: Whether the queue is another member's now, or its offset was reset: what is still done with its
            messages does not count.
        pulled_at: When the queue was pulled last, in ms since 1970.
        consumed_at: When a handler ended last.
    """

    def __init__(self, offset: int, *, most_bytes: int = MOST_BYTES) -> None:
        self.next_offset = offset
        self.committed: int | None = None
        self.is_dropped = False
        self.pulled_at = 0
        self.consumed_at = 0
        self._most_bytes = most_bytes
        self._messages: dict[int, tuple[M, int]] = {}  # by offset, with their sizes; added in the order of offsets
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._messages)

    def __contains__(self, offset: int) -> bool:
        return offset in self._messages

    def __iter__(self) -> Iterator[M]:
        return (message for message, _ in self._messages.values())

    @property
    def bytes(self) -> int:
        """The sizes of the messages, together."""
        return self._bytes

    @property
    def offsets(self) -> list[int]:
        """The offsets of the messages, in order."""
        return list(self._messages)

    @property
    def offset(self) -> int:
        """What may be committed: all messages before this offset are consumed."""
        return next(iter(self._messages), self.next_offset)

    @property
    def has_room(self) -> bool:
        """Whether more may be pulled."""
        return len(self._messages) < MOST_MESSAGES and self._bytes < self._most_bytes

    def get(self, offset: int) -> M | None:
        """The message with an offset, while it is not consumed."""
        found = self._messages.get(offset)
        return None if found is None else found[0]

    def add(self, offset: int, message: M, size: int) -> None:
        """Take a message that was pulled, and its size in bytes."""
        self._messages[offset] = message, size
        self._bytes += size

    def remove(self, offset: int) -> None:
        """The message with an offset is consumed, or sent back."""
        _, size = self._messages.pop(offset, (None, 0))
        self._bytes -= size
