"""Which messages of a topic are read, where reading a queue begins (`--from PLACE`), and commits of a group."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rocketwire.cli.times import parsed
from rocketwire.remoting.errors import NoBroker, NotReached

if TYPE_CHECKING:
    from rocketwire.cli.message.reading import TopicReader
    from rocketwire.remoting.messages import Queue
    from rocketwire.store.offline.read.selected import SelectedMessage


EVERYTHING: Final = "*"


@dataclass(frozen=True, kw_only=True)
class MessageSelection:
    """A filter: the client applies the tags, the broker those and the expression, the command the key.

    Attributes:
        tags: Tags with `||` between, or `*` for all.
        sql: An expression of SQL92; None for none. The broker needs enablePropertyFilter.
        key: One of the message's keys, or its id; None for any.
    """

    tags: str = EVERYTHING
    sql: str | None = None
    key: str | None = None

    @property
    def is_everything(self) -> bool:
        """Whether it takes all messages."""
        return self == MessageSelection()

    def has_key(self, one: SelectedMessage) -> bool:
        """Whether a message has the wanted key, if there is one."""
        return self.key is None or self.key in one.keys or self.key == one.message_id


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


_EVERY_SECONDS: Final = 1.0


class CommitProgress:
    """Commits the offsets of the group of a reader."""

    def __init__(self, reader: TopicReader) -> None:
        self._reader = reader
        self._behind: dict[Queue, int] = {}
        self._last = time.monotonic()

    def reached(self, queue: Queue, offset: int) -> None:
        """Everything of a queue before an offset is done. A broker that does not answer gets it later."""
        self._behind[queue] = offset
        if time.monotonic() - self._last >= _EVERY_SECONDS:
            with contextlib.suppress(NotReached, NoBroker):
                self.commit()
            self._last = time.monotonic()

    def commit(self) -> None:
        """Commit what is not committed yet.

        Raises:
            NotReached, NoBroker, Refused: a broker does not answer, is not known, or refuses.
        """
        for queue in list(self._behind):
            self._reader.commit(queue, self._behind[queue])
            del self._behind[queue]
