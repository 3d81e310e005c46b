"""Reads a remote file with few requests, and prefetches the next bytes while these are processed.

A file is fetched in pieces. Small scattered reads, as of a bisection, fetch a block each, which is cached for a while.
A reader that announces its next reads (`expect`) gets these parts prefetched, several at once. A sequential reader
without announcements gets larger pieces, and the next two are prefetched: never more for nothing than was read before.

Memory is bounded: requests in flight (`prefetch` bytes), the last two pieces read, and the cached blocks. One thread
reads; the threads that fetch change nothing here.
"""

from __future__ import annotations

import errno
import os
from bisect import bisect_right, insort
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from rocketwire.spark.files.remote import RemoteFile
from rocketwire.spark.files.requests import requests

#: Size and alignment of the smallest request for a place that was not expected. A request's delay is
#: worth more than that.
BLOCK: Final = 128 << 10
#: Bytes of cached blocks.
KEPT: Final = 2 << 20
#: Most bytes of a request, unless `prefetch` is larger.
_LARGEST: Final = 1 << 20
#: Pieces prefetched for a sequential reader, and parts prefetched for one that announced them.
_AHEAD: Final = 2
_EXPECTED: Final = 8


@dataclass(slots=True, eq=False)
class _Piece:
    """Bytes from `start` up to `end`, or the request for them."""

    start: int
    end: int
    data: bytes | Future[bytes]

    def __len__(self) -> int:
        return self.end - self.start


class ReadAhead:
    """A remote file, with the interface of `store.offline.read.file_system.ReadableFile`.

    Attributes:
        path: Its path.
        failed: Whether a request failed, ever.
    """

    def __init__(self, path: str, file: RemoteFile, prefetch: int) -> None:
        """Read a file, with at most `prefetch` bytes in flight ahead of the reader; 0 for none."""
        self.path = path
        self.failed = False
        self._file = file
        self._size = file.size
        self._prefetch = prefetch
        self._largest = max(_LARGEST, prefetch // _AHEAD)
        self._window = BLOCK
        self._pieces: OrderedDict[int, _Piece] = OrderedDict()
        self._starts: list[int] = []
        self._held = 0
        self._last: _Piece | None = None
        #: Announced parts that are not requested yet, and pieces in flight or not read yet; None: nothing is announced.
        self._expected: deque[tuple[int, int]] | None = None
        self._coming: deque[_Piece] = deque()
        self._pool: ThreadPoolExecutor | None = None
        self._closed = False

    def close(self) -> None:
        """See `ReadableFile.close`; waits for requests in flight."""
        if self._closed:
            return
        self._closed = True
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        self._pieces.clear()
        self._file.close()

    def rest(self) -> None:
        """Keep blocks only, for a later reader of the file; waits for requests in flight."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None
        self._expected, self._last, self._window = None, None, BLOCK
        self._coming.clear()
        for piece in [*self._pieces.values()]:
            if len(piece) > BLOCK or isinstance(piece.data, Future):
                self._forget(piece)

    @property
    def held(self) -> int:
        """Bytes in memory, or in flight."""
        return self._held

    def size(self) -> int:
        """Size in bytes when it was opened, or found to be cut since."""
        return self._size

    def read(self, offset: int, length: int) -> bytes:
        """See `ReadableFile.read`."""
        return b"".join(self._parts(offset, length))

    def read_into(self, offset: int, buffer: bytearray | memoryview) -> int:
        """See `ReadableFile.read_into`."""
        done = 0
        with memoryview(buffer) as view:
            for part in self._parts(offset, len(view)):
                view[done : done + len(part)] = part
                done += len(part)
        return done

    def expect(self, ranges: Iterable[tuple[int, int]]) -> None:
        """See `ReadableFile.expect`."""
        self._expected = deque(requests(ranges, self._size, self._largest))
        self._coming.clear()
        self._fetch_expected(0)

    def _parts(self, offset: int, length: int) -> Iterator[memoryview]:
        if self._closed or offset < 0:
            number = errno.EBADF if self._closed else errno.EINVAL
            raise OSError(number, os.strerror(number), self.path)
        end = offset + length
        while offset < min(end, self._size):
            piece = self._find(offset) or self._fetched(offset, min(end, self._size))
            if piece is not self._last:
                self._enter(piece)
            part = memoryview(self._content(piece))[offset - piece.start : end - piece.start]
            yield part
            offset += len(part)

    # --- pieces ---

    def _find(self, offset: int) -> _Piece | None:
        number = bisect_right(self._starts, offset) - 1
        piece = self._pieces[self._starts[number]] if number >= 0 else None
        return piece if piece is not None and offset < piece.end else None

    def _fetched(self, offset: int, end: int) -> _Piece:
        """Fetch a piece that begins at a place, or contains it; a larger one for a sequential reader."""
        if self._last is not None and self._last.end == offset:
            start, end = offset, max(end, offset + self._window)
        else:
            start = offset - offset % BLOCK
            self._window = BLOCK
        end += -end % BLOCK
        number = bisect_right(self._starts, offset)
        if number:
            start = max(start, self._pieces[self._starts[number - 1]].end)
        piece = _Piece(start, self._cut(offset, min(end, start + self._largest)), b"")
        piece.data = self._fetch(piece)
        return self._keep(piece)

    def _cut(self, start: int, end: int) -> int:
        """The largest end of a piece that begins at or before a place and does not overlap another one."""
        number = bisect_right(self._starts, start)
        later = self._starts[number] if number < len(self._starts) else self._size
        return min(end, later, self._size)

    def _keep(self, piece: _Piece) -> _Piece:
        self._pieces[piece.start] = piece
        insort(self._starts, piece.start)
        self._held += len(piece)
        return piece

    def _forget(self, piece: _Piece) -> None:
        del self._pieces[piece.start]
        self._starts.remove(piece.start)
        self._held -= len(piece)

    def _enter(self, piece: _Piece) -> None:
        """Remember the piece that is read, and prefetch the announced parts, or larger pieces in sequence."""
        last, self._last = self._last, piece
        self._pieces.move_to_end(piece.start)
        in_order = last is not None and last.end == piece.start
        # The last one is kept: the next read may begin with the record that this one cut off.
        if last is not None and in_order:
            self._window = min(self._largest, max(self._window, 2 * len(piece)))
            before = self._find(last.start - 1)
            if before is not None and len(before) > BLOCK:
                self._forget(before)
        if self._expected is not None:
            while last is not None and self._starts[0] < min(last.start, piece.start):
                self._forget(self._pieces[self._starts[0]])
            self._fetch_expected(piece.end)
        # Two adjacent blocks may be a bisection's; three are not.
        elif in_order and self._window > 2 * BLOCK:
            self._fetch_following(piece.end)
        while self._held > KEPT + self._prefetch + 2 * self._largest:
            self._forget(next(each for each in self._pieces.values() if each not in self._coming))

    # --- ahead ---

    def _fetch_expected(self, reached: int) -> None:
        """Prefetch announced parts behind a place, as far as there is room."""
        expected, coming = self._expected or deque(), self._coming
        while coming and coming[0].start < reached:
            coming.popleft()
        while expected and expected[0][1] <= reached:
            expected.popleft()
        room = self._prefetch - sum(map(len, coming))
        while expected and len(coming) < _EXPECTED:
            start, end = expected[0]
            start = max(start, reached)
            found = self._find(start)
            if found is not None:
                start = found.end
            else:
                cut = self._cut(start, end)
                room -= cut - start
                if room < 0:
                    return
                coming.append(self._submit(start, cut))
                start = cut
            if start < end:
                expected[0] = start, end
            else:
                expected.popleft()

    def _fetch_following(self, at: int) -> None:
        step = min(self._window, self._prefetch)
        limit = at + min(self._prefetch, _AHEAD * step)
        while at < min(limit, self._size) and step >= BLOCK:
            piece = self._find(at)
            if piece is None:
                end = self._cut(at, at + step)
                if end > limit:
                    return  # none smaller than it need be
                piece = self._submit(at, end)
            at = piece.end

    def _submit(self, start: int, end: int) -> _Piece:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(_EXPECTED, "rocketmq-read-ahead")
        return self._keep(_Piece(start, end, self._pool.submit(self._file.fetch, start, end - start)))

    # --- bytes ---

    def _content(self, piece: _Piece) -> bytes:
        if isinstance(piece.data, Future):
            try:
                piece.data = self._fetch(piece, piece.data)
            except OSError:
                self._forget(piece)  # another read requests it again
                self._last = None
                raise
        return piece.data

    def _fetch(self, piece: _Piece, coming: Future[bytes] | None = None) -> bytes:
        try:
            data = self._file.fetch(piece.start, len(piece)) if coming is None else coming.result()
        except OSError:
            self.failed = True
            # If it was removed or cut, report that instead of the failed request.
            now = self._file.size_now()
            if now >= piece.end:
                raise
            data = self._file.fetch(piece.start, now - piece.start) if now > piece.start else b""
        if len(data) < len(piece):
            self._size = min(self._size, piece.start + len(data))
        return data
