"""Messages of one queue that were pulled and are not consumed yet, and the offset that follows from them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rocketwire.remoting.messages import Queue, ReceivedMessage

MOST_MESSAGES: Final = 1000
"""Messages that wait for handlers, of one queue; then it is pulled no further."""
MOST_BYTES: Final = 64 << 20
"""The same in bytes of bodies."""


class ProcessQueue:
    """The messages of a queue that this member of the group consumes.

    Args:
        queue: The queue.
        offset: Where consuming begins.

    Attributes:
        is_dropped: Whether the queue is another member's now, or its offset was reset: what handlers still do with its
            messages does not count.
        committed: The offset that the broker was told last.
        pulled_at: When the queue was pulled last, in ms since 1970.
        done_at: When a handler ended last.
    """

    def __init__(self, queue: Queue, offset: int) -> None:
        self.queue = queue
        self.is_dropped = False
        self.committed: int | None = None
        self.pulled_at = 0
        self.done_at = 0
        self._sizes: dict[int, int] = {}  # by offset; added in the order of offsets
        self._bytes = 0
        self._next = offset

    def __len__(self) -> int:
        return len(self._sizes)

    @property
    def bytes(self) -> int:
        """Bytes of their bodies."""
        return self._bytes

    @property
    def offsets(self) -> list[int]:
        """The offsets of the messages, in order."""
        return list(self._sizes)

    @property
    def offset(self) -> int:
        """What may be committed: all messages before this offset are consumed."""
        return next(iter(self._sizes), self._next)

    @property
    def has_room(self) -> bool:
        """Whether more may be pulled."""
        return len(self._sizes) < MOST_MESSAGES and self._bytes < MOST_BYTES

    def add(self, messages: Iterable[ReceivedMessage], next_offset: int) -> None:
        """Take the messages of a pull, and the offset at which the next pull begins."""
        for each in messages:
            self._sizes[each.queue_offset] = len(each.body)
            self._bytes += len(each.body)
        self._next = next_offset

    def remove(self, message: ReceivedMessage) -> None:
        """A message is consumed, or sent back."""
        self._bytes -= self._sizes.pop(message.queue_offset, 0)
