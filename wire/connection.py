"""Splitting a byte stream into frames: the sans-I/O half of a connection.

`FrameReader` buffers received bytes until a frame is whole. It never waits, allocates no more than the peer has really
sent, and returns frames as slices of its input, so a read of many small frames costs one pass over the length words and
no copy.
"""

from __future__ import annotations

from typing import NamedTuple

from rocketwire.wire.errors import FrameError, HeaderLengthInvalid
from rocketwire.wire.facts.codes import MAX_FRAME_LENGTH
from rocketwire.wire.frame import FRAME_PREFIX, HEADER_LENGTH_MASK, LENGTH_SIZE, TYPE_SHIFT, frame_size

_SHORTEST = FRAME_PREFIX.size - LENGTH_SIZE
_MOST_REST = 64 * 1024
_NOTHING = memoryview(b"")


class RawFrame(NamedTuple):
    """A frame cut out of the stream, its header still encoded.

    The views are valid until the buffer they were cut from is written again; take `bytes()` to keep one.
    """

    serialize_type: int
    header: memoryview
    body: memoryview


class FrameReader:
    """Cuts a byte stream into frames of `longest` bytes at most, with both words.

    Longer frames, impossible lengths and header lengths that reach past their frame end the stream: frames
    before the bad one are still delivered, together with the error.

    `receive` returns all frames of a read. To serve them in parts, pass the bytes to `feed`, get some frames from
    `next_frames`, put those that have to wait `put_back`, and call `copy_pending` before the buffer of the bytes is
    written again. So waiting frames are kept as bytes: small frames would take ten times as much memory as objects.

    Attributes:
        rest: After an error, the first bytes that are not a frame: 64 KiB at most.
    """

    __slots__ = ("_at", "_data", "_longest", "_own", "_partial", "invalid_bytes")

    def __init__(self, longest: int = MAX_FRAME_LENGTH) -> None:
        self._longest = longest
        self._partial = bytearray()  # of one frame, and not all of it
        self._data = _NOTHING
        self._at = 0
        self._own = False  # whether `_data` is a buffer of this object, which nothing else writes to
        self.invalid_bytes = b""

    @property
    def pending_bytes(self) -> int:
        """Bytes that are not cut yet, or of a frame whose end has not arrived."""
        return len(self._partial) + len(self._data) - self._at

    def first_pending(self) -> bytes:
        """The first of those bytes, 64 KiB at most: enough for a frame's header."""
        return bytes((self._partial or self._data[self._at :])[:_MOST_REST])

    def all_pending(self) -> bytes:
        """All of those bytes."""
        return bytes(self._partial or self._data[self._at :])

    def discard_pending(self) -> None:
        """Drop those bytes: nothing more is received."""
        self._partial = bytearray()
        self._data, self._at = _NOTHING, 0

    def receive(self, data: memoryview) -> tuple[list[RawFrame], FrameError | None]:
        """Take the bytes of one read; return the frames now whole and, if the stream broke, why.

        After an error the reader must not be used again.
        """
        self.feed(data)
        frames, error = self.next_frames(len(self._data))
        self.copy_pending()
        return frames, error

    def feed(self, data: memoryview) -> None:
        """Take the bytes of one read, once all frames of the one before are cut."""
        if self._at < len(self._data):
            self._partial += self._data[self._at :]
            self._data, self._at = _NOTHING, 0
        partial = self._partial
        if partial:
            partial += data
            if len(partial) >= LENGTH_SIZE:
                length = int.from_bytes(partial[:LENGTH_SIZE], "big", signed=True)
                if len(partial) < length + LENGTH_SIZE <= self._longest:
                    return
            data = memoryview(partial)
            self._partial = bytearray()
        self._data, self._at = data, 0
        self._own = bool(partial)

    def next_frames(self, most: int) -> tuple[list[RawFrame], FrameError | None]:
        """Cut at most `most` frames, and return the error if the stream ends behind them.

        After an error the reader must not be used again, unless frames before it are put back.
        """
        frames, self._at, error = _cut(self._data, self._at, self._longest, most)
        if error is not None:
            self.invalid_bytes = bytes(self._data[self._at : self._at + _MOST_REST])
        return frames, error

    def put_back(self, frames: list[RawFrame]) -> None:
        """Put back the last of the frames that were cut: they are cut once more."""
        self._at -= sum(FRAME_PREFIX.size + len(header) + len(body) for _, header, body in frames)

    def copy_pending(self) -> None:
        """Copy what is not cut yet into a buffer of this object, of less than twice its size."""
        if self._at == len(self._data):
            self._data, self._at = _NOTHING, 0
        elif not self._own or 2 * self._at >= len(self._data):
            self._data, self._at = memoryview(bytes(self._data[self._at :])), 0
            self._own = True


def _cut(data: memoryview, at: int, longest: int, count: int) -> tuple[list[RawFrame], int, FrameError | None]:
    """Frames that are whole in `data` from `at` on, so many at most, where they end, and the error that ended it."""
    frames: list[RawFrame] = []
    append = frames.append
    unpack = FRAME_PREFIX.unpack_from
    new = tuple.__new__
    end = len(data)
    most = longest - LENGTH_SIZE
    for _ in range(count):
        if end - at < FRAME_PREFIX.size:
            break
        length, word = unpack(data, at)
        header_length = word & HEADER_LENGTH_MASK
        if not _SHORTEST <= length <= most:
            try:
                frame_size(length, longest)
            except FrameError as error:
                return frames, at, error
        if header_length > length - _SHORTEST:
            return frames, at, HeaderLengthInvalid(header_length, length - _SHORTEST)
        stop = at + LENGTH_SIZE + length
        if stop > end:
            break
        header_at = at + FRAME_PREFIX.size
        body_at = header_at + header_length
        append(new(RawFrame, (word >> TYPE_SHIFT, data[header_at:body_at], data[body_at:stop])))
        at = stop
    return frames, at, None
