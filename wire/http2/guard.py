"""What is checked of frames before anything else looks at them: their form, and how many of them only make work.

A connection has credit. Frames that carry no request cost some, each read and each frame of an answer give some back.
So a client may ping every few seconds for ever, and one that floods the server loses its connection, without a clock.
`kernel/http2/guard.c` is the same in C.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rocketwire.wire.errors import WireError
from rocketwire.wire.http2.events import ENHANCE_YOUR_CALM, FRAME_SIZE_ERROR, PROTOCOL_ERROR

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
MOST_PAYLOAD: Final = 16_384
"""The longest payload of a frame in bytes, HTTP/2's own default."""
MOST_CREDIT: Final = 4000
MOST_CONTINUATIONS: Final = 8

_HEADER: Final = 9
_GIVEN_BACK: Final = 4  # for a read, and for a frame of an answer
_RESET_COST: Final = 4
_MOST_SETTINGS: Final = 32  # in one frame; HTTP/2 has ten
_SETTINGS_COST: Final = 40  # they change the windows of all streams
_FEW: Final = 64  # bytes; a shorter DATA frame makes more work than it carries
GOAWAY: Final = 7
_DATA, _HEADERS, _PRIORITY, _RST_STREAM, _SETTINGS = range(5)
_PUSH_PROMISE, _PING, _, _WINDOW_UPDATE, _CONTINUATION = range(5, 10)
_END_STREAM = _ACK = 1
_END_HEADERS: Final = 4
_SIZES: Final = {_PRIORITY: 5, _RST_STREAM: 4, _PING: 8, _WINDOW_UPDATE: 4}
_OF_A_STREAM: Final = frozenset({_DATA, _HEADERS, _PRIORITY, _RST_STREAM, _CONTINUATION})
_OF_NONE: Final = frozenset({_SETTINGS, _PING, GOAWAY})
_LEFT_OUT: Final = frozenset({_PRIORITY, *range(10, 256)})


class Violation(WireError):
    """A client broke a rule of the connection.

    Attributes:
        code: HTTP/2's error code.
    """

    def __init__(self, code: int, text: str) -> None:
        """Take the code and what the client did."""
        super().__init__(text)
        self.code = code


class Guard:
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
        self._data = bytearray()
        self._preface = False  # whether it has come
        self._begun = False  # whether the first frame has come
        self._checked = False  # whether the frame that `_data` begins with is, though it is not whole
        self._block_of = self._block = self._continuations = 0  # stream, bytes, frames of a block that is not whole

    def give_back(self) -> None:
        """A frame of an answer was made."""
        self._credit = min(self._credit + _GIVEN_BACK, MOST_CREDIT)

    def charge_reset(self) -> None:
        """The client made the server reset a stream."""
        self._credit -= _RESET_COST

    def frames(self, data: bytes | bytearray | memoryview) -> Iterator[bytes]:
        """The frames, with their header, that are whole now; the connection's preface is the first of them.

        Those that a server need not know are left out: PRIORITY, unknown ones.

        Raises:
            Violation: the connection is to be closed.
        """
        self.give_back()
        self._data += data
        rest, at = self._data, 0
        if not self._preface:
            if not PREFACE.startswith(rest[: len(PREFACE)]):
                raise Violation(PROTOCOL_ERROR, "no HTTP/2 connection preface")
            if len(rest) < len(PREFACE):
                return
            self._preface = True
            at = len(PREFACE)
            yield PREFACE
        while len(rest) - at >= _HEADER:
            length, kind, flags = int.from_bytes(rest[at : at + 3], "big"), rest[at + 3], rest[at + 4]
            stream = int.from_bytes(rest[at + 5 : at + 9], "big") & 0x7FFF_FFFF
            if not self._checked:
                self._check(kind, flags, stream, length)
            end = at + _HEADER + length
            self._checked = end > len(rest)
            if self._checked:
                break
            if kind not in _LEFT_OUT:
                yield bytes(rest[at:end])
            at = end
        del rest[:at]

    def _check(self, kind: int, flags: int, stream: int, length: int) -> None:
        if length > MOST_PAYLOAD:
            raise Violation(FRAME_SIZE_ERROR, f"frame of {length} bytes")
        if not self._begun:
            if kind != _SETTINGS or flags & _ACK:
                raise Violation(PROTOCOL_ERROR, "the first frame is not SETTINGS")
            self._begun = True
        if self._block_of or kind == _CONTINUATION:
            self._continue(kind, flags, stream, length)
        elif kind == _HEADERS:
            self._begin(flags, stream, length)
        if kind == _PUSH_PROMISE or (kind in _OF_A_STREAM and not stream) or (kind in _OF_NONE and stream):
            raise Violation(PROTOCOL_ERROR, f"frame of type {kind} on stream {stream}")
        if length != _SIZES.get(kind, length) or (kind == _SETTINGS and (length % 6 or (flags & _ACK and length))):
            raise Violation(FRAME_SIZE_ERROR, f"frame of type {kind} with {length} bytes")
        if kind == _SETTINGS and length > _MOST_SETTINGS * 6:
            raise Violation(ENHANCE_YOUR_CALM, f"SETTINGS of {length} bytes")
        self._credit -= self._cost(kind, flags, length)
        if self._credit < 0:
            raise Violation(ENHANCE_YOUR_CALM, "too many frames that carry no request")

    def _begin(self, flags: int, stream: int, length: int) -> None:
        if stream % 2 == 0:
            raise Violation(PROTOCOL_ERROR, f"request on stream {stream}")
        if not flags & _END_HEADERS:
            self._block_of, self._block, self._continuations = stream, length, 0

    def _continue(self, kind: int, flags: int, stream: int, length: int) -> None:
        if kind != _CONTINUATION or stream != self._block_of:
            raise Violation(PROTOCOL_ERROR, "a block of headers is interrupted")
        self._block += length
        self._continuations += 1
        if self._block > self._most_headers or self._continuations > MOST_CONTINUATIONS:
            raise Violation(ENHANCE_YOUR_CALM, "a block of headers is too long")
        if flags & _END_HEADERS:
            self._block_of = 0

    @staticmethod
    def _cost(kind: int, flags: int, length: int) -> int:
        if kind in {_HEADERS, _CONTINUATION}:
            return 0
        if kind == _DATA:
            return int(length < _FEW and not flags & _END_STREAM)
        if kind == _SETTINGS:
            return 1 if flags & _ACK else _SETTINGS_COST
        return _RESET_COST if kind in {_RST_STREAM, GOAWAY} else 1
