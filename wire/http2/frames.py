"""Frames of HTTP/2: their kinds and flags, their header, and those that a server sends."""

from __future__ import annotations

import struct
from typing import Final

DATA: Final = 0
HEADERS: Final = 1
PRIORITY: Final = 2
RST_STREAM: Final = 3
SETTINGS: Final = 4
PUSH_PROMISE: Final = 5
PING: Final = 6
GOAWAY: Final = 7
WINDOW_UPDATE: Final = 8
CONTINUATION: Final = 9

ACK: Final = 1
END_STREAM: Final = 1
END_HEADERS: Final = 4
PADDED: Final = 8
PRIORITISED: Final = 32

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
MOST_PAYLOAD: Final = 16_384
"""The longest payload of a frame in bytes, HTTP/2's own default."""
HEADER: Final = struct.Struct(">HBBBL")
"""A frame's header: the length's upper 16 bits and its lower 8, kind, flags, stream."""
MOST_NUMBER: Final = 2**31 - 1
"""The largest window, the largest number of a stream; a bit above it is reserved."""

_NUMBER: Final = struct.Struct(">L")
_PAIR: Final = struct.Struct(">LL")
_SETTING: Final = struct.Struct(">HL")


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """A frame of `MOST_PAYLOAD` bytes at most."""
    length = len(payload)
    return HEADER.pack(length >> 8, length & 0xFF, kind, flags, stream) + payload


def header_frames(stream: int, flags: int, block: bytes) -> bytes:
    """HEADERS with that block, and as many CONTINUATIONs as it needs."""
    if len(block) <= MOST_PAYLOAD:
        return frame(HEADERS, flags | END_HEADERS, stream, block)
    pieces = [block[at : at + MOST_PAYLOAD] for at in range(0, len(block), MOST_PAYLOAD)]
    first, *middle, last = pieces
    return b"".join(
        (
            frame(HEADERS, flags, stream, first),
            *(frame(CONTINUATION, 0, stream, piece) for piece in middle),
            frame(CONTINUATION, END_HEADERS, stream, last),
        )
    )


def settings(values: dict[int, int]) -> bytes:
    """SETTINGS with those values."""
    return frame(SETTINGS, 0, 0, b"".join(_SETTING.pack(*item) for item in values.items()))


def read_settings(payload: bytes) -> list[tuple[int, int]]:
    """The settings that such a frame has, in order; its length is a multiple of 6."""
    return list(_SETTING.iter_unpack(payload))


def rst_stream(stream: int, code: int) -> bytes:
    """RST_STREAM with one of HTTP/2's error codes."""
    return frame(RST_STREAM, 0, stream, _NUMBER.pack(code))


def window_update(stream: int, more: int) -> bytes:
    """WINDOW_UPDATE by so many bytes; stream 0 is the connection."""
    return frame(WINDOW_UPDATE, 0, stream, _NUMBER.pack(more))


def goaway(last: int, code: int) -> bytes:
    """GOAWAY: the last stream that is served, and an error code."""
    return frame(GOAWAY, 0, 0, _PAIR.pack(last, code))


def number(payload: bytes) -> int:
    """The number that a frame of 4 bytes has, RST_STREAM or WINDOW_UPDATE."""
    found: int = _NUMBER.unpack(payload)[0]
    return found
