"""A far file read as a near one: few requests, and the next bytes on their way while these are looked at.

A file is fetched in pieces. Small reads here and there, as a bisection does them, fetch a block each, which is kept for
a while. Who says what will be read next (`expect`) has just that fetched ahead, several parts at once. Whoever says
nothing and reads piece after piece in order gets larger ones, and the next two are fetched ahead: never more in vain
than was read before.

Memory is bounded: what is on its way (`prefetch` bytes), the last two pieces read, and the blocks kept. One thread
reads; the threads that fetch touch nothing here.
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

from rocketwire.spark.files.remote import FarFile
from rocketwire.spark.files.requests import requests

#: The least that a request fetches of what nobody expected, and a multiple of which it begins at. A request's delay is
#: worth more than that.
BLOCK: Final = 128 << 10
#: Bytes of blocks that are kept for who comes back to them.
KEPT: Final = 2 << 20
#: What a request fetches at most, where `prefetch` does not say more.
_LARGEST: Final = 1 << 20
#: Pieces ahead of who reads in order, and parts ahead of who said which they are.
_AHEAD: Final = 2
_EXPECTED: Final = 8


@dataclass(slots=True, eq=False)
class _Piece:
    """Bytes from `start` up to `end`, or what will bring them."""

    start: int
    end: int
    data: bytes | Future[bytes]

    def __len__(self) -> int:
        return self.end - self.start


class ReadAhead:
    """A far file, as `store.archive.read.file_system.ReadableFile` has it.

    Attributes:
        path: Its path.
        failed: Whether a request failed, ever.
    """

    def __init__(self, path: str, file: FarFile, prefetch: int) -> None:
        """Read a file, with at most `prefetch` bytes on their way ahead of the reader; 0 for none."""
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
        #: Requests to come, and pieces on their way that were not read yet; None: nobody said what will be read.
        self._expected: deque[tuple[int, int]] | None = None
        self._coming: deque[_Piece] = deque()
        self._pool: ThreadPoolExecutor | None = None
        self._closed = False

    def close(self) -> None:
        """See `ReadableFile.close`; waits for what is on its way."""
        if self._closed:
            return
        self._closed = True
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        self._pieces.clear()
        self._file.close()

    def rest(self) -> None:
        """Keep blocks only, for who reads the file later; waits for what is on its way."""
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
        """Bytes in memory, or on their way."""
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
        """A piece that begins with a place, or around it, fetched now; larger where it goes on in order."""
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
        """Where a piece that begins at or before a place, and does not hold another's, has to end."""
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
        """Note which piece is read now, and fetch ahead: what is expected, or larger ones of what is read in order."""
        last, self._last = self._last, piece
        self._pieces.move_to_end(piece.start)
        in_order = last is not None and last.end == piece.start
        # The last one stays: the next read may begin with the record that this one broke off.
        if last is not None and in_order:
            self._window = min(self._largest, 2 * max(self._window, len(piece)))
            before = self._find(last.start - 1)
            if before is not None and len(before) > BLOCK:
                self._forget(before)
        if self._expected is not None:
            while last is not None and self._starts[0] < min(last.start, piece.start):
                self._forget(self._pieces[self._starts[0]])
            self._fetch_expected(piece.end)
        # Two blocks beside each other may be a bisection's; three are not.
        elif in_order and self._window > 2 * BLOCK:
            self._fetch_following(piece.end)
        while self._held > KEPT + self._prefetch + 2 * self._largest:
            self._forget(next(each for each in self._pieces.values() if each not in self._coming))

    # --- ahead ---

    def _fetch_expected(self, reached: int) -> None:
        """Fetch what is expected behind a place, as far as there is room."""
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
                self._forget(piece)  # who reads it again asks again
                self._last = None
                raise
        return piece.data

    def _fetch(self, piece: _Piece, coming: Future[bytes] | None = None) -> bytes:
        try:
            data = self._file.fetch(piece.start, len(piece)) if coming is None else coming.result()
        except OSError:
            self.failed = True
            # Was it removed, or cut? That says it better than the failed request.
            now = self._file.size_now()
            if now >= piece.end:
                raise
            data = self._file.fetch(piece.start, now - piece.start) if now > piece.start else b""
        if len(data) < len(piece):
            self._size = min(self._size, piece.start + len(data))
        return data
