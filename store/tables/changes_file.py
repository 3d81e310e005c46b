"""What changed in a table of `config/` since its file was written last; a file of ours beside an Apache broker's.

A table that is written every few seconds loses the last ones when its process is killed. Where that matters, each
change is noted here at once, without waiting for the disk: a kill loses nothing, a crash of the machine may.

The file is a row of entries: crc32c and length of what follows (4 bytes each, big-endian), then JSON. An entry is a
change, or `{"base": CRC}`: the changes of this file and the following one belong on the table whose text has this
crc32c. A change must contain the new value, not a difference, so that applying it twice does no harm. Changes without
their base are of no use: another broker wrote the table meanwhile.

When the table is about to be written a new file is begun, and the former one becomes `.old`. It belongs on the text
before and on the new one, which has its changes: by them another table that is written at other times is brought up
to date after a kill, too.
"""

from __future__ import annotations

import contextlib
import logging
import struct
from collections.abc import Iterator
from typing import Any, Final

from crc32c import crc32c

from rocketwire.store.disk.files import FileSystem
from rocketwire.wire.bodies.fastjson import dumps, loads

log = logging.getLogger(__name__)

_HEAD: Final = struct.Struct(">II")
_BASE: Final = "base"
_MARK: Final = b'{"base":'
"""How an entry begins that is no change."""


class ChangesFile:
    """The file, and the former one while a text is being written. `base` is the table's text as it was loaded."""

    def __init__(self, path: str, files: FileSystem, base: bytes) -> None:
        self._path = path
        self._old = path + ".old"
        self._next = path + ".next"
        self._files = files
        #: crc32c of the texts that the table may have, as far as this file belongs on them.
        self._bases = [crc32c(base)]
        #: What a killed process noted, until a text has it.
        self._left = self._read()
        #: How long the file is, None before there is one.
        self._size: int | None = None
        #: The same of the former file, until the text is made that it belongs on, too.
        self._former_size: int | None = None
        #: Whether the table's file may have another text than the last one.
        self._pending = bool(self._left)
        #: Whether a change could not be noted, so that what was noted before may be out of date in the next text.
        self._lost = False

    @property
    def unsaved_changes(self) -> list[dict[str, Any]]:
        """The changes that a killed process noted, in their order, which the table that was loaded lacks."""
        return [loads(each) for each in self._left]

    def _read(self) -> list[bytes]:
        former, current = (list(_entries(self._files.read(path) or b"")) for path in (self._old, self._path))
        marks = {_base(each) for each in self._bases}
        entries = former + current if marks & set(former) else current if marks & set(current) else []
        return [each for each in entries if not each.startswith(_MARK)]

    def append_change(self, change: dict[str, Any]) -> None:
        """Write a change. When that fails a kill would lose it; it is logged."""
        self._add(dumps(change))

    def _add(self, entry: bytes) -> None:
        try:
            if self._size is None:
                self._size = self._create(entry)
            else:
                self._size += self._append(self._path, self._size, entry)
        except OSError as error:
            if not self._lost:
                log.warning(
                    "%(file)s cannot be written, a kill would lose changes: %(reason)s",
                    {"file": self._path, "reason": error.strerror or str(error)},
                )
            self._lost = True

    def _append(self, path: str, at: int, entry: bytes) -> int:
        data = _framed(entry)
        fd = self._files.open(path)  # few change at a time, and a table must not need a descriptor
        try:
            self._files.write_at(fd, data, at)
        finally:
            self._files.close(fd)
        return len(data)

    def _create(self, entry: bytes) -> int:
        entries = [*map(_base, self._bases), *self._left, entry]
        data = b"".join(map(_framed, entries))
        self._files.write(self._next, data, durable=False)
        self._files.rename(self._next, self._path)
        return len(data)

    def begin_text(self) -> None:
        """Note that a text is about to be made, which has all changes so far and maybe some of the following ones."""
        if self._pending and not self._lost:
            return  # what is on the disk may be the text before, which the former file belongs on
        self._former_size = None
        if self._size is None:
            self._bases = self._bases[-1:]  # the next file belongs on the present text
        else:
            try:
                self._files.rename(self._path, self._old)
            except OSError:
                return  # then this file is continued, and has more than is needed
            if not self._lost:
                self._former_size = self._size
            self._size = None
            self._bases = []
        self._left = []
        self._lost = False

    def note_text(self, text: bytes) -> None:
        """Note the text that was made, before it is written."""
        self._pending = True
        self._bases.append(crc32c(text))
        mark = _base(self._bases[-1])
        if self._former_size is not None:
            with contextlib.suppress(OSError):
                self._append(self._old, self._former_size, mark)
            self._former_size = None
        if self._size is not None:
            self._add(mark)

    def note_written(self) -> None:
        """Note that the text is written; safe in another thread than the rest."""
        self._pending = False

    def remove(self) -> None:
        """Remove the files: the text that was written has all changes.

        Raises:
            OSError: one is still there.
        """
        self._size = self._former_size = None
        self._bases = self._bases[-1:]
        self._left = []
        for path in (self._path, self._old, self._next):
            self._files.remove(path)


def _base(crc: int) -> bytes:
    return dumps({_BASE: crc})


def _framed(entry: bytes) -> bytes:
    return _HEAD.pack(crc32c(entry), len(entry)) + entry


def _entries(data: bytes) -> Iterator[bytes]:
    """The entries, up to the first that is not whole."""
    at = 0
    while at + _HEAD.size <= len(data):
        crc, length = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        entry = data[at : at + length]
        if len(entry) < length or crc32c(entry) != crc or not length:
            return
        yield entry
        at += length
