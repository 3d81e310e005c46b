"""Recorded frames, decoded, each answer with its request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from rocketwire.capture.file.events import Event, FrameSent, StreamSource
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.frame import decode_frame
from rocketwire.wire.header import Header
from rocketwire.wire.headers.send import SendMessageRequestHeader

SHORT_CODES: Final = frozenset(
    {RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE, RequestCode.SEND_REPLY_MESSAGE_V2}
)
"""Requests whose fields have names of one letter."""
_REQUESTS: Final = {int(each): each.name for each in RequestCode}
_RESPONSES: Final = {int(each): each.name for each in ResponseCode}
_TOPICS: Final = ("topic", "originTopic")
_GROUPS: Final = ("consumerGroup", "producerGroup", "group", "groupName")


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


LONG_NAMES: Final = {short: _camel(name) for name, short in SendMessageRequestHeader.SHORT_NAMES.items()}
"""What the names of one letter stand for."""


@dataclass(frozen=True, slots=True, eq=False)
class RecordedFrame:
    """A recorded frame, decoded.

    Attributes:
        number: Its place in the recording, from 1 on.
        sent: The event.
        header: The header.
        body: The body as far as it is recorded.
        serialize_type: The header's form.
        request: The request that it answers; None for a request, and where the recording does not have it.
    """

    number: int
    sent: FrameSent
    header: Header
    body: bytes
    serialize_type: int
    request: RecordedFrame | None

    @property
    def code(self) -> int:
        """The code of the request, also of an answer; -1 where it is not recorded."""
        if not self.header.is_response:
            return self.header.code
        return -1 if self.request is None else self.request.header.code

    @property
    def code_name(self) -> str:
        """The name of the request's code, or its number; `?` where it is not recorded."""
        return "?" if self.code < 0 and self.header.is_response else request_name(self.code)

    @property
    def fields(self) -> dict[str, str]:
        """The extension fields with long names."""
        ext = self.header.ext or {}
        if self.header.is_response or self.header.code not in SHORT_CODES:
            return ext
        return {LONG_NAMES.get(name, name): value for name, value in ext.items()}

    @property
    def topic(self) -> str:
        """The topic of the request; empty where it names none."""
        return _first((self.request or self).fields, _TOPICS)

    @property
    def group(self) -> str:
        """The group of the request; empty where it names none."""
        return _first((self.request or self).fields, _GROUPS)

    @property
    def latency(self) -> int | None:
        """Of an answer: microseconds since its request."""
        return None if self.request is None else self.sent.time - self.request.sent.time


def _first(fields: dict[str, str], names: tuple[str, ...]) -> str:
    return next((fields[name] for name in names if name in fields), "")


def request_name(code: int) -> str:
    """The name of a request code, or its number."""
    return _REQUESTS.get(code, str(code))


def response_name(code: int) -> str:
    """The name of a response code, or its number."""
    return _RESPONSES.get(code, str(code))


class RequestMatcher:
    """Decodes the frames of one recording in their order, and finds each answer's request."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[int, StreamSource, int], RecordedFrame] = {}
        self._count = 0

    def frame(self, sent: FrameSent) -> RecordedFrame:
        """The next frame.

        Raises:
            WireError: it cannot be decoded.
        """
        self._count += 1
        header, body, serialize_type = decode_frame(sent.data)
        request = None
        if header.is_response:
            asker = StreamSource.SERVER if sent.source is StreamSource.CLIENT else StreamSource.CLIENT
            request = self._waiting.pop((sent.connection, asker, header.opaque), None)
        found = RecordedFrame(self._count, sent, header, bytes(body), serialize_type, request)
        if not header.is_response and not header.is_oneway:
            self._waiting[sent.connection, sent.source, header.opaque] = found
        return found


def decoded(events: Iterable[Event]) -> Iterator[Event | RecordedFrame]:
    """The events, frames decoded; one that cannot be decoded stays the event that it is."""
    pairs = RequestMatcher()
    for event in events:
        if not isinstance(event, FrameSent):
            yield event
            continue
        try:
            yield pairs.frame(event)
        except WireError:
            yield event
