"""What a proxy does with the bytes of one connection: sans I/O, so that tests need no sockets.

Bytes to the server pass at once, and so do those of a broker. Those of a name server pass frame by frame, since answers
with routes are changed. Bytes that are no frames pass unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from rocketwire.capture.contents.secrets import Secrets
from rocketwire.capture.file.events import Event, Left, Role, Sent, Side, Unreadable
from rocketwire.capture.record.routes import WITH_ADDRESSES, replaced
from rocketwire.wire.connection import FrameReader, RawFrame
from rocketwire.wire.errors import WireError
from rocketwire.wire.frame import LENGTH_SIZE, PREFIX, TYPE_SHIFT
from rocketwire.wire.header import Header, decode_header

_MOST_ASKED: Final = 65_536
"""Requests of a side that may wait for answers; the codes of older ones are forgotten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What is recorded: `bodies` and `secrets` say whether these are."""

    bodies: bool = True
    secrets: bool = False


class Relay:
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
        options: Options,
    ) -> None:
        self._connection = connection
        self._by_frames = role is Role.NAME_SERVER
        self._add = add
        self._now = now
        self._local = local
        self._options = options
        self._secrets = Secrets()
        self._readers: dict[Side, FrameReader | None] = {side: FrameReader() for side in Side}
        self._asked: dict[tuple[Side, int], int] = {}

    def passed(self, source: Side, data: bytes) -> bytes:
        """Take what one side sent, and return what the other gets now."""
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
        return b"".join(whole) if self._by_frames and source is Side.SERVER else data

    def ended(self, source: Side) -> bytes:
        """One side sends no more: return what is left of it, the beginning of a frame."""
        reader = self._readers[source]
        if reader is None or not reader.pending:
            return b""
        rest = self._rest(source)
        self._unreadable(source, rest)
        return rest if self._by_frames and source is Side.SERVER else b""

    def _rest(self, source: Side) -> bytes:
        reader = self._readers[source]
        self._readers[source] = None
        return b"" if reader is None else reader.remaining()

    def _frame(self, source: Side, raw: RawFrame) -> bytes:
        """Record a frame, and return what the other side gets of a name server's."""
        word = raw.serialize_type << TYPE_SHIFT | len(raw.header)
        data = b"".join((PREFIX.pack(len(raw.header) + len(raw.body) + PREFIX.size - LENGTH_SIZE, word), *raw[1:]))
        try:
            header = decode_header(raw.header, raw.serialize_type)
        except WireError:
            self._unreadable(source, data)
            return data
        code = self._code(source, header)
        body = bytes(raw.body)
        self._record(source, data, header, body, raw.serialize_type, code)
        if self._by_frames and source is Side.SERVER and header.is_response and code in WITH_ADDRESSES:
            changed = replaced(body, self._local)
            if changed != body:
                head = PREFIX.pack(len(raw.header) + len(changed) + PREFIX.size - LENGTH_SIZE, word)
                return head + bytes(raw.header) + changed
        return data

    def _code(self, source: Side, header: Header) -> int:
        """The code of the request, also of an answer; -1 if it is not known."""
        if not header.is_response:
            if not header.is_oneway:
                if len(self._asked) >= _MOST_ASKED:
                    self._asked.pop(next(iter(self._asked)))
                self._asked[source, header.opaque] = header.code
            return header.code
        asker = Side.SERVER if source is Side.CLIENT else Side.CLIENT
        return self._asked.pop((asker, header.opaque), -1)

    def _record(self, source: Side, data: bytes, header: Header, body: bytes, serialize_type: int, code: int) -> None:
        size, left = len(data), Left(0)
        try:
            if not self._options.secrets:
                data, left = self._secrets.masked(data, header, body, serialize_type, code)
            if body and not self._options.bodies:
                data, left = without_body(data), left | Left.BODY
        except WireError:
            self._unreadable(source, data)
            return
        self._add(Sent(time=self._now(), connection=self._connection, source=source, left=left, size=size, data=data))

    def _unreadable(self, source: Side, data: bytes) -> None:
        if data:
            shown = data if self._options.secrets and self._options.bodies else b""
            self._add(
                Unreadable(time=self._now(), connection=self._connection, source=source, size=len(data), data=shown)
            )


def without_body(data: bytes) -> bytes:
    """A frame up to its body, the length fitting."""
    _, word = PREFIX.unpack_from(data)
    end = PREFIX.size + (word & 0xFFFFFF)
    return PREFIX.pack(end - LENGTH_SIZE, word) + data[PREFIX.size : end]
