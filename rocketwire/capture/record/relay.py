"""What a proxy does with the bytes of one connection: sans I/O, so that tests need no sockets.

Bytes to the server pass at once, and so do those of a broker. Those of a name server pass frame by frame, since answers
with routes are changed. Bytes that are no frames pass unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from rocketwire.capture.contents.secrets import Secrets
from rocketwire.capture.file.events import CutParts, Event, FrameSent, Role, StreamSource, UnreadableBytes
from rocketwire.capture.record.routes import WITH_ADDRESSES, replaced
from rocketwire.wire.connection import FrameReader, RawFrame
from rocketwire.wire.errors import WireError
from rocketwire.wire.frame import FRAME_PREFIX, LENGTH_SIZE, TYPE_SHIFT
from rocketwire.wire.header import Header, decode_header

_MOST_REQUESTS: Final = 65_536
"""Requests of a side that may wait for answers; the codes of older ones are forgotten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingOptions:
    """What is recorded: `bodies` and `secrets`: whether these are."""

    bodies: bool = True
    secrets: bool = False


class RecordedConnection:
    """The two directions of one connection.

    Args:
        connection: Its number.
        role: What it leads to.
        add: Gets each event.
        now: Microseconds since the start of the recording.
        local: Gives the proxy's address in the place of a broker's.
        options: What is recorded.
    """

    def __init__(
        self,
        connection: int,
        role: Role,
        *,
        add: Callable[[Event], None],
        now: Callable[[], int],
        local: Callable[[str], str],
        options: RecordingOptions,
    ) -> None:
        self._connection = connection
        self._by_frames = role is Role.NAME_SERVER
        self._add = add
        self._now = now
        self._local = local
        self._options = options
        self._secrets = Secrets()
        self._readers: dict[StreamSource, FrameReader | None] = {side: FrameReader() for side in StreamSource}
        self._requests: dict[tuple[StreamSource, int], int] = {}

    def passed(self, source: StreamSource, data: bytes) -> bytes:
        """Take the bytes that one side sent, and return the bytes for the other."""
        reader = self._readers[source]
        if reader is None:
            self._unreadable(source, data)
            return data
        frames, broken = reader.receive(memoryview(data))
        whole = [self._frame(source, frame) for frame in frames]
        if broken is not None:
            rest = self._rest(source)
            self._unreadable(source, rest)
            whole.append(rest)
        return b"".join(whole) if self._by_frames and source is StreamSource.SERVER else data

    def ended(self, source: StreamSource) -> bytes:
        """One side sends no more: return the rest of its bytes, the beginning of a frame."""
        reader = self._readers[source]
        if reader is None or not reader.pending_bytes:
            return b""
        rest = self._rest(source)
        self._unreadable(source, rest)
        return rest if self._by_frames and source is StreamSource.SERVER else b""

    def _rest(self, source: StreamSource) -> bytes:
        reader = self._readers[source]
        self._readers[source] = None
        return b"" if reader is None else reader.all_pending()

    def _frame(self, source: StreamSource, raw: RawFrame) -> bytes:
        """Record a frame, and return what the other side gets of a name server's."""
        word = raw.serialize_type << TYPE_SHIFT | len(raw.header)
        data = b"".join(
            (FRAME_PREFIX.pack(len(raw.header) + len(raw.body) + FRAME_PREFIX.size - LENGTH_SIZE, word), *raw[1:])
        )
        try:
            header = decode_header(raw.header, raw.serialize_type)
        except WireError:
            self._unreadable(source, data)
            return data
        code = self._code(source, header)
        body = bytes(raw.body)
        self._record(source, data, header, body, raw.serialize_type, code)
        if self._by_frames and source is StreamSource.SERVER and header.is_response and code in WITH_ADDRESSES:
            changed = replaced(body, self._local)
            if changed != body:
                head = FRAME_PREFIX.pack(len(raw.header) + len(changed) + FRAME_PREFIX.size - LENGTH_SIZE, word)
                return head + bytes(raw.header) + changed
        return data

    def _code(self, source: StreamSource, header: Header) -> int:
        """The code of the request, also of an answer; -1 if it is not known."""
        if not header.is_response:
            if not header.is_oneway:
                if len(self._requests) >= _MOST_REQUESTS:
                    self._requests.pop(next(iter(self._requests)))
                self._requests[source, header.opaque] = header.code
            return header.code
        asker = StreamSource.SERVER if source is StreamSource.CLIENT else StreamSource.CLIENT
        return self._requests.pop((asker, header.opaque), -1)

    def _record(
        self, source: StreamSource, data: bytes, header: Header, body: bytes, serialize_type: int, code: int
    ) -> None:
        size, left = len(data), CutParts(0)
        try:
            if not self._options.secrets:
                data, left = self._secrets.masked(data, header, body, serialize_type, code)
            if body and not self._options.bodies:
                data, left = without_body(data), left | CutParts.BODY
        except WireError:
            self._unreadable(source, data)
            return
        self._add(
            FrameSent(time=self._now(), connection=self._connection, source=source, left=left, size=size, data=data)
        )

    def _unreadable(self, source: StreamSource, data: bytes) -> None:
        if data:
            shown = data if self._options.secrets and self._options.bodies else b""
            self._add(
                UnreadableBytes(
                    time=self._now(), connection=self._connection, source=source, size=len(data), data=shown
                )
            )


def without_body(data: bytes) -> bytes:
    """A frame up to its body, the length fitting."""
    _, word = FRAME_PREFIX.unpack_from(data)
    end = FRAME_PREFIX.size + (word & 0xFFFFFF)
    return FRAME_PREFIX.pack(end - LENGTH_SIZE, word) + data[FRAME_PREFIX.size : end]
