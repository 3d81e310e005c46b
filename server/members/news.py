"""What brokers of one server and their supervisor send each other: one JSON object a line, over pipes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import trio

from rocketwire.wire.bodies import decode_body, encode_body
from rocketwire.wire.bodies.topic import TopicConfig

_TOPICS_OF_A_LINE: Final = 500
"""A line of so many is written, or read, in a few milliseconds."""
_READ: Final = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberNews:
    """What changed at one broker."""

    broker: str = ""
    address: str | None = None
    """Where clients reach it; None: it does not run."""
    topics: tuple[TopicConfig, ...] = ()
    """New or changed ones."""
    removed: tuple[str, ...] = ()
    """The names of removed topics."""


def news_lines(
    broker: str, address: str | None, topics: Sequence[TopicConfig] = (), removed: Sequence[str] = ()
) -> Iterator[bytes]:
    """The lines about a broker, at least one."""
    for start in range(0, max(1, len(topics), len(removed)), _TOPICS_OF_A_LINE):
        part = slice(start, start + _TOPICS_OF_A_LINE)
        news = MemberNews(broker=broker, address=address, topics=tuple(topics[part]), removed=tuple(removed[part]))
        yield encode_body(news) + b"\n"


def read_news(line: bytes) -> MemberNews:
    """What a line says.

    Raises:
        BodyInvalid: it is none.
    """
    return decode_body(MemberNews, line, most_entries=None)


class LineReader:
    """Reads lines from a stream."""

    def __init__(self, stream: trio.abc.ReceiveStream) -> None:
        """Read from a stream."""
        self._stream = stream
        self._rest = b""

    async def receive(self) -> list[bytes] | None:
        """The lines that came with the next read, without their ends; None: the stream has ended."""
        data = await self._stream.receive_some(_READ)
        if not data:
            return None
        *lines, self._rest = (self._rest + data).split(b"\n")
        return lines
