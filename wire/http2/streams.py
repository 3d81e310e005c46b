"""Which streams of a client are over, and how: what a frame that comes for one means depends on that."""

from __future__ import annotations

from collections import deque
from enum import Enum, auto
from typing import Final

_MOST_RESET: Final = 1000
_MOST_SKIPPED: Final = 100


class How(Enum):
    """How a stream became what it is."""

    IDLE = auto()
    """It has not begun."""
    SKIPPED = auto()
    """It cannot begin any more: a later one has."""
    ENDED = auto()
    """Both sides ended it."""
    RESET_HERE = auto()
    """This side reset it: what comes was under way, perhaps."""
    RESET_THERE = auto()
    """The client reset it."""


class Streams:
    """All streams but those that are open.

    Only the last thousand that were reset are known, and the last hundred gaps: older ones count as ended.

    Attributes:
        last: The last stream that has begun.
    """

    __slots__ = ("_reset", "_skipped", "last")

    def __init__(self) -> None:
        self.last = 0
        self._reset: dict[int, How] = {}
        self._skipped: deque[range] = deque(maxlen=_MOST_SKIPPED)

    def begin(self, stream: int) -> None:
        """Note a stream that begins; it is idle so far."""
        if stream > self.last + 2:
            self._skipped.append(range(self.last + 1, stream))
        self.last = stream

    def reset(self, stream: int, how: How) -> None:
        """Note that a stream is reset."""
        self._reset[stream] = how
        if len(self._reset) > _MOST_RESET:
            del self._reset[next(iter(self._reset))]

    def how(self, stream: int) -> How:
        """What a stream is that is not open."""
        if stream > self.last or stream % 2 == 0:
            return How.IDLE
        if stream in self._reset:
            return self._reset[stream]
        return How.SKIPPED if any(stream in gap for gap in self._skipped) else How.ENDED
