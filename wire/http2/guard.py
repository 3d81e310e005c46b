"""What is checked of frames before anything else looks at them: their form, and how many of them only make work.

A connection has credit. Frames that carry no request cost some, each read and each frame of an answer give some back.
So a client may ping every few seconds for ever, and one that floods the server loses its connection, without a clock.
`kernel/http2/frame_guard.c` is the same in C.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from rocketwire.wire.errors import WireError
from rocketwire.wire.http2 import frames as f
from rocketwire.wire.http2.events import ENHANCE_YOUR_CALM, FRAME_SIZE_ERROR, PROTOCOL_ERROR

MOST_CREDIT: Final = 4000
MOST_CONTINUATIONS: Final = 8

_GIVEN_BACK: Final = 4  # for a read, and for a frame of an answer
_RESET_COST: Final = 4
_MOST_SETTINGS: Final = 32  # in one frame; HTTP/2 has ten
_SETTINGS_COST: Final = 40  # they change the windows of all streams
_FEW: Final = 64  # bytes; a shorter DATA frame makes more work than it carries
_SIZES: Final = {f.PRIORITY: 5, f.RST_STREAM: 4, f.PING: 8, f.WINDOW_UPDATE: 4}
_OF_A_STREAM: Final = frozenset({f.DATA, f.HEADERS, f.PRIORITY, f.RST_STREAM, f.CONTINUATION})
_OF_NONE: Final = frozenset({f.SETTINGS, f.PING, f.GOAWAY})
_WHOLE: Final = (f.END_STREAM, f.END_HEADERS)  # DATA, HEADERS: with these flags they are what most requests consist of

Frame: TypeAlias = tuple[int, int, int, bytes]
"""Kind, flags, stream, payload."""


class Http2Violation(WireError):
    """A client broke a rule of the connection.

    Attributes:
        code: HTTP/2's error code.
    """

    def __init__(self, code: int, text: str) -> None:
        """Take the code and what the client did."""
        super().__init__(text)
        self.code = code


class FrameGuard:
    """Cuts the bytes of a connection into frames and checks them; `most_headers` bounds a block of headers in bytes."""

    __slots__ = (
        "_begun",
        "_block",
        "_block_of",
        "_checked",
        "_continuations",
        "_credit",
        "_data",
        "_most_headers",
        "_preface",
    )

    def __init__(self, most_headers: int) -> None:
        self._most_headers = most_headers
        self._credit = MOST_CREDIT
        self._data = b""
        self._preface = False  # whether it has come
        self._begun = False  # whether the first frame has come
        self._checked = False  # whether the frame that `_data` begins with is, though it is not whole
        self._block_of = self._block = self._continuations = 0  # stream, bytes, frames of a block that is not whole

    def restore_credit(self, frames: int = 1) -> None:
        """So many frames of answers were made."""
        self._credit = min(self._credit + _GIVEN_BACK * frames, MOST_CREDIT)

    def charge_reset(self) -> None:
        """The client made the server reset a stream."""
        self._credit -= _RESET_COST

    def split_frames(self, data: bytes | bytearray | memoryview) -> Iterator[Frame]:
        """The frames that are whole now.

        Those that a server need not know are left out: PRIORITY, unknown ones.

        Raises:
            Violation: the connection is to be closed.
        """
        self.restore_credit()
        data = self._data + data if self._data else bytes(data)
        at = 0 if self._preface else self._skip_preface(data)
        unpack, whole = f.HEADER.unpack_from, f.HEADER.size
        while self._preface and len(data) - at >= whole:
            high, low, kind, flags, stream = unpack(data, at)
            length = high << 8 | low
            stream &= f.MOST_NUMBER
            if not self._checked:
                self._check(kind, flags, stream, length)
            end = at + whole + length
            self._checked = end > len(data)
            if self._checked:
                break
            if kind <= f.CONTINUATION and kind != f.PRIORITY:
                yield kind, flags, stream, data[at + whole : end]
            at = end
        self._data = data[at:]

    def _skip_preface(self, data: bytes) -> int:
        if not f.PREFACE.startswith(data[: len(f.PREFACE)]):
            raise Http2Violation(PROTOCOL_ERROR, "no HTTP/2 connection preface")
        self._preface = len(data) >= len(f.PREFACE)
        return len(f.PREFACE) if self._preface else 0

    def _check(self, kind: int, flags: int, stream: int, length: int) -> None:
        if (
            kind <= f.HEADERS
            and flags & _WHOLE[kind]
            and stream & 1
            and not self._block_of
            and self._begun
            and length <= f.MOST_PAYLOAD
            and self._credit >= 0
        ):
            return  # as most frames are: nothing else would be found of it
        self._check_any(kind, flags, stream, length)

    def _check_any(self, kind: int, flags: int, stream: int, length: int) -> None:
        if length > f.MOST_PAYLOAD:
            raise Http2Violation(FRAME_SIZE_ERROR, f"frame of {length} bytes")
        if not self._begun:
            if kind != f.SETTINGS or flags & f.ACK:
                raise Http2Violation(PROTOCOL_ERROR, "the first frame is not SETTINGS")
            self._begun = True
        if self._block_of or kind == f.CONTINUATION:
            self._continue(kind, flags, stream, length)
        elif kind == f.HEADERS:
            self._begin(flags, stream, length)
        if kind == f.PUSH_PROMISE or (kind in _OF_A_STREAM and not stream) or (kind in _OF_NONE and stream):
            raise Http2Violation(PROTOCOL_ERROR, f"frame of type {kind} on stream {stream}")
        if length != _SIZES.get(kind, length) or (kind == f.SETTINGS and (length % 6 or (flags & f.ACK and length))):
            raise Http2Violation(FRAME_SIZE_ERROR, f"frame of type {kind} with {length} bytes")
        if kind == f.SETTINGS and length > _MOST_SETTINGS * 6:
            raise Http2Violation(ENHANCE_YOUR_CALM, f"SETTINGS of {length} bytes")
        self._credit -= self._cost(kind, flags, length)
        if self._credit < 0:
            raise Http2Violation(ENHANCE_YOUR_CALM, "too many frames that carry no request")

    def _begin(self, flags: int, stream: int, length: int) -> None:
        if stream % 2 == 0:
            raise Http2Violation(PROTOCOL_ERROR, f"request on stream {stream}")
        if not flags & f.END_HEADERS:
            self._block_of, self._block, self._continuations = stream, length, 0

    def _continue(self, kind: int, flags: int, stream: int, length: int) -> None:
        if kind != f.CONTINUATION or stream != self._block_of:
            raise Http2Violation(PROTOCOL_ERROR, "a block of headers is interrupted")
        self._block += length
        self._continuations += 1
        if self._block > self._most_headers or self._continuations > MOST_CONTINUATIONS:
            raise Http2Violation(ENHANCE_YOUR_CALM, "a block of headers is too long")
        if flags & f.END_HEADERS:
            self._block_of = 0

    @staticmethod
    def _cost(kind: int, flags: int, length: int) -> int:
        if kind in {f.HEADERS, f.CONTINUATION}:
            return 0
        if kind == f.DATA:
            return int(length < _FEW and not flags & f.END_STREAM)
        if kind == f.SETTINGS:
            return 1 if flags & f.ACK else _SETTINGS_COST
        return _RESET_COST if kind in {f.RST_STREAM, f.GOAWAY} else 1
