"""Where reading a queue begins: `--from earliest|latest|TIME|OFFSET`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rocketwire.cli.times import parsed

if TYPE_CHECKING:
    from rocketwire.cli.message.reading import TopicReader
    from rocketwire.remoting.messages import Queue

EARLIEST: Final = "earliest"
LATEST: Final = "latest"
_OFFSET_DIGITS: Final = 10


@dataclass(frozen=True, slots=True)
class StartPlace:
    """A place in each queue: at most one of the two is given; without any, the beginning.

    Attributes:
        time: From what was stored at this time, ms since 1970, on.
        offset: From this offset on.
        end: From the end on.
    """

    time: int | None = None
    offset: int | None = None
    end: bool = False

    def in_queue(self, reader: TopicReader, queue: Queue, offsets: range) -> int:
        """The offset in a queue that now has messages with `offsets`.

        Raises:
            NotReached, Refused: the broker does not answer, or refuses.
        """
        if self.end:
            return offsets.stop
        if self.time is not None:
            return reader.first_at(queue, self.time, offsets)
        if self.offset is not None:
            return min(max(self.offset, offsets.start), offsets.stop)
        return offsets.start


def start(option: str, text: str) -> StartPlace:
    """The place that an option names: a number of up to 10 digits is an offset, all else a time.

    Raises:
        Mistake: the text is none of these.
    """
    if text in (EARLIEST, LATEST):
        return StartPlace(end=text == LATEST)
    if text.isascii() and text.isdigit() and len(text) <= _OFFSET_DIGITS:
        return StartPlace(offset=int(text))
    return StartPlace(time=parsed(option, text))
