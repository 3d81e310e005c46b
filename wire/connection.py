"""Bytes in, whole frames out: the sans-I/O half of a connection.

`FrameReader` holds what a socket delivered but no frame has claimed yet. It never waits, allocates no more than
the peer has really sent, and hands out frames as slices of what it was given, so a read of many small frames costs
one pass over the length words and no copy.
"""

from __future__ import annotations

from typing import NamedTuple

from rocketwire.wire.codes import MAX_FRAME_LENGTH
from rocketwire.wire.errors import FrameError, HeaderLengthInvalid
from rocketwire.wire.frame import HEADER_LENGTH_MASK, LENGTH_SIZE, PREFIX, TYPE_SHIFT, frame_size

_LONGEST = MAX_FRAME_LENGTH - LENGTH_SIZE
_SHORTEST = PREFIX.size - LENGTH_SIZE


class RawFrame(NamedTuple):
    """A frame cut out of the stream, its header still encoded.

    The views are valid until the buffer they were cut from is written again; take `bytes()` to keep one.
    """

    serialize_type: int
    header: memoryview
    body: memoryview


class FrameReader:
    """Cuts a byte stream into frames.

    Frames over 16 MiB, impossible lengths and header lengths that reach past their frame end the stream: frames
    before the bad one are still delivered, and the error comes with them.
    """

    __slots__ = ("_partial",)

    def __init__(self) -> None:
        self._partial = bytearray()

    @property
    def pending(self) -> int:
        """Bytes of a frame whose end has not arrived yet."""
        return len(self._partial)

    def receive(self, data: memoryview) -> tuple[list[RawFrame], FrameError | None]:
        """Take the bytes of one read; return the frames now whole and, if the stream broke, why.

        After an error the reader must not be used again.
        """
        partial = self._partial
        if partial:
            partial += data
            if len(partial) >= LENGTH_SIZE:
                length = int.from_bytes(partial[:LENGTH_SIZE], "big", signed=True)
                if len(partial) < length + LENGTH_SIZE <= MAX_FRAME_LENGTH:
                    return [], None
            data = memoryview(partial)
            self._partial = bytearray()
        frames, used, error = _cut(data)
        if used < len(data) and error is None:
            self._partial += data[used:]
        return frames, error


def _cut(data: memoryview) -> tuple[list[RawFrame], int, FrameError | None]:
    """Frames that are whole in `data`, how many bytes they took, and the error that ended the scan."""
    frames: list[RawFrame] = []
    append = frames.append
    unpack = PREFIX.unpack_from
    new = tuple.__new__
    end = len(data)
    at = 0
    while end - at >= PREFIX.size:
        length, word = unpack(data, at)
        header_length = word & HEADER_LENGTH_MASK
        if not _SHORTEST <= length <= _LONGEST:
            try:
                frame_size(length)
            except FrameError as error:
                return frames, at, error
        if header_length > length - _SHORTEST:
            return frames, at, HeaderLengthInvalid(header_length, length - _SHORTEST)
        stop = at + LENGTH_SIZE + length
        if stop > end:
            break
        header_at = at + PREFIX.size
        body_at = header_at + header_length
        append(new(RawFrame, (word >> TYPE_SHIFT, data[header_at:body_at], data[body_at:stop])))
        at = stop
    return frames, at, None
