"""Reading the files of one consume queue by queue offset; the file that was read last stays open."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.layout.consume_queue import ENTRY as LAYOUT
from rocketwire.store.layout.consume_queue import ENTRY_SIZE, ENTRY_STRUCT
from rocketwire.store.layout.derive import dtype_fields
from rocketwire.store.offline.read.directory import RowFile
from rocketwire.store.offline.read.opening import Closable, OpenFile

_STORED: Final = np.dtype(dtype_fields(LAYOUT))
#: physical_offset, size, tags_code; in native byte order.
ENTRY: Final = _STORED.newbyteorder("=")
_UNWRITTEN: Final = (0, 0, 0)


class EntryFiles(Closable):
    """Files of entries; close them, or use them as a context."""

    def __init__(self, files: Iterable[RowFile]) -> None:
        self._row = list(files)
        self._open: tuple[RowFile, OpenFile] | None = None

    def close(self) -> None:
        """Close what is open; reading opens it again."""
        if self._open is not None:
            self._open[1].close()
            self._open = None

    def entry(self, offset: int) -> tuple[int, int, int]:
        """Physical offset, size and tags code of an entry; zeros where nothing was ever written.

        Raises:
            FileGone: its file was removed.
            StoreUnreadable: its file cannot be read.
        """
        data = self._read(offset, 1)
        return ENTRY_STRUCT.unpack(data) if len(data) == ENTRY_SIZE else _UNWRITTEN

    def _read(self, offset: int, count: int) -> bytes:
        """Entries from an offset on: `count` at most, of one file only; none where there is no file."""
        at = offset * ENTRY_SIZE
        file = self._file_of(at)
        return b"" if file is None else self._read_in(file, at, min(count * ENTRY_SIZE, file.end - at))

    def _file_of(self, at: int) -> RowFile | None:
        if self._open is not None and self._open[0].start <= at < self._open[0].end:
            return self._open[0]
        return next((file for file in reversed(self._row) if file.start <= at < file.end), None)

    def _read_in(self, file: RowFile, at: int, length: int) -> bytes:
        """Bytes of a file, by their position in the whole row."""
        if self._open is None or self._open[0] is not file:
            self.close()
            self._open = (file, OpenFile(file.path, file.files))
        return self._open[1].read(at - file.start, length)


def entries_in(data: bytes) -> NDArray[Any]:
    """Entries as they are stored, as an array of ENTRY; without the last one if it is cut short."""
    return np.frombuffer(data, _STORED, len(data) // ENTRY_SIZE).astype(ENTRY)
