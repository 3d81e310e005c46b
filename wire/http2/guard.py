"""Bounds that HTTP/2 libraries lack: on long frames, and on those that only make work. h2 gets what passes.

A connection has credit. Frames that carry no request cost some, each read and each frame of an answer give some back.
So a client may ping every few seconds without end, and one that floods the server loses its connection, without a
clock. `kernel/http2/frame_guard.c` is the same in C, before nghttp2. Both libraries check the form of frames
themselves.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from rocketwire.wire.errors import WireError
from rocketwire.wire.http2.events import ENHANCE_YOUR_CALM, FRAME_SIZE_ERROR, PROTOCOL_ERROR

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
MOST_PAYLOAD: Final = 16_384
"""The longest payload of a frame in bytes, HTTP/2's own default."""
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
"""The kinds of frames."""
MOST_CREDIT: Final = 4000
MOST_CONTINUATIONS: Final = 8

_HEADER: Final = struct.Struct(">HBBBL")  # the length's upper 16 bits and its lower 8, kind, flags, stream
_STREAM: Final = 2**31 - 1  # the bits of the stream's number
_ACK, _END_STREAM, _END_HEADERS = 1, 1, 4
_GIVEN_BACK: Final = 4  # for a read, and for a frame of an answer
_RESET_COST: Final = 4
_MOST_SETTINGS: Final = 32 * 6  # bytes of one frame; HTTP/2 has ten settings of 6 bytes
_SETTINGS_COST: Final = 40  # they change the windows of all streams
_FEW: Final = 64  # bytes; a shorter DATA frame makes more work than it carries


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
    """Cuts the bytes of a connection into frames and counts them; `most_headers` bounds a block of headers in bytes."""

    def __init__(self, most_headers: int) -> None:
        self._most_headers = most_headers
        self._credit = MOST_CREDIT
        self._data = b""
        self._has_preface = False
        self._has_begun = False  # whether the first frame has come
        self._is_checked = False  # whether the frame that `_data` begins with is, though it is not whole
        self._block_of = self._block = self._continuations = 0  # stream, bytes, frames of a block that is not whole

    def restore_credit(self) -> None:
        """A frame of an answer was made."""
        self._credit = min(self._credit + _GIVEN_BACK, MOST_CREDIT)

    def charge_reset(self) -> None:
        """The client made the server reset a stream."""
        self._credit -= _RESET_COST

    def split_frames(self, data: bytes | bytearray | memoryview) -> Iterator[tuple[int, bytes]]:
        """The frames that are whole now: the kind and the whole frame of each.

        Raises:
            Violation: the connection is to be closed.
        """
        self.restore_credit()
        data = self._data + data
        at = 0 if self._has_preface else self._skip_preface(data)
        while self._has_preface and len(data) - at >= _HEADER.size:
            high, low, kind, flags, stream = _HEADER.unpack_from(data, at)
            length = high << 8 | low
            if not self._is_checked:
                self._check(kind, flags, stream & _STREAM, length)
            end = at + _HEADER.size + length
            self._is_checked = end > len(data)
            if self._is_checked:
                break
            yield kind, data[at:end]
            at = end
        self._data = data[at:]

    def _skip_preface(self, data: bytes) -> int:
        if not PREFACE.startswith(data[: len(PREFACE)]):
            raise Http2Violation(PROTOCOL_ERROR, "no HTTP/2 connection preface")
        self._has_preface = len(data) >= len(PREFACE)
        return len(PREFACE) if self._has_preface else 0

    def _check(self, kind: int, flags: int, stream: int, length: int) -> None:
        if length > MOST_PAYLOAD:
            raise Http2Violation(FRAME_SIZE_ERROR, f"frame of {length} bytes")
        if not self._has_begun and (kind != SETTINGS or flags & _ACK):
            raise Http2Violation(PROTOCOL_ERROR, "the first frame is not SETTINGS")
        self._has_begun = True
        if self._block_of:
            self._continue_block(kind, flags, stream, length)
        elif kind == HEADERS and not flags & _END_HEADERS:
            self._block_of, self._block, self._continuations = stream, length, 0
        if kind == SETTINGS and length > _MOST_SETTINGS:
            raise Http2Violation(ENHANCE_YOUR_CALM, f"SETTINGS of {length} bytes")
        self._credit -= _cost(kind, flags, length)
        if self._credit < 0:
            raise Http2Violation(ENHANCE_YOUR_CALM, "too many frames that carry no request")

    def _continue_block(self, kind: int, flags: int, stream: int, length: int) -> None:
        if kind != CONTINUATION or stream != self._block_of:
            raise Http2Violation(PROTOCOL_ERROR, "a block of headers is interrupted")
        self._block += length
        self._continuations += 1
        if self._block > self._most_headers or self._continuations > MOST_CONTINUATIONS:
            raise Http2Violation(ENHANCE_YOUR_CALM, "a block of headers is too long")
        if flags & _END_HEADERS:
            self._block_of = 0


def _cost(kind: int, flags: int, length: int) -> int:
    if kind in {HEADERS, CONTINUATION}:
        return 0
    if kind == DATA:
        return int(length < _FEW and not flags & _END_STREAM)
    if kind == SETTINGS:
        return 1 if flags & _ACK else _SETTINGS_COST
    return _RESET_COST if kind in {RST_STREAM, GOAWAY} else 1
