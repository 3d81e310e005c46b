"""A config file to which entries are appended in place: topics.json and subscriptionGroup.json.

While it grows, the table and the data version are at the end of its text. New entries overwrite the version, and the
new version follows them; a changed entry is added once more, and readers use the last one. So an addition costs the
same however many entries there are.

Two files alternate: the spare file (`.next`) gets the entries that it lacks, then the two exchange their names. So at
every moment the file's name leads to a complete text, and a killed process loses nothing that was added. None of this
waits for the disk. After a crash of the machine any part may be missing, so from the first addition on `.bak` holds a
text that is flushed: first the former one, then what `save` writes there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.tables import config

_OPEN: Final = b"{"
_CLOSE: Final = b"\n\t}\n}"
"""Ends the last object within, and the text."""
_END: Final = b"\n}"
_KEY: Final = b'\n\t"'
"""Begins a key of the outermost object, and nothing else: in a string a line end is escaped."""
_CLOSE_OBJECT: Final = b"\n\t},"
_VERSION_NAME: Final = "dataVersion"
_VERSION: Final = b'\n\t"dataVersion":{'
_BETWEEN: Final = b',\n\t\t"'
"""Separates two entries, and occurs nowhere else in the table."""
_KEY_END: Final = b'":'
_LONGEST_TAIL: Final = 256
"""The text behind the table is padded with blanks to so many bytes, so that a shorter one overwrites it whole."""


class PendingBackup(NamedTuple):
    """What `save` has to flush: the text up to a position, since one complete write, and the text behind it."""

    end: int
    tail: bytes
    writing: int


class _Lacks(NamedTuple):
    """The entries that the spare file lacks, and their position."""

    at: int
    text: bytes


class GrowingFile:
    """One such file. `table` is the name of its table.

    It grows once it was adopted or written as a whole; until then `can_grow` is false, and `add` must not be called.
    """

    def __init__(self, path: str, table: str, files: FileSystem) -> None:
        self._path = path
        self._next = path + ".next"
        self._backup = path + ".bak"
        self._files = files
        self._table_name = table
        self._table = b'\n\t"%s":{' % table.encode()
        self._start = len(_OPEN)
        self._end = 0
        self._size = 0
        self._empty = False
        self._tail = b""
        self._writings = 0
        #: None: there is no spare file that could be completed.
        self._lacks: _Lacks | None = None
        #: Whether .bak has a text that is on the disk, so that the file itself need not be there.
        self._kept = False
        self._stale = False

    @property
    def can_grow(self) -> bool:
        """Whether entries can be added."""
        return self._end > 0

    @property
    def has_backup(self) -> bool:
        """Whether a flushed text is in .bak, so that a complete write need not be flushed."""
        return self._kept

    def adopt_text(self, text: bytes, names: Sequence[str]) -> bool:
        """Use the existing file: its text, and the names of its outermost object; return whether it was growing."""
        grew = names[-1:] == [_VERSION_NAME]
        if grew:
            names = names[:-1]
        self._start, end = _start_of(text, names), _end_of(text, grew=grew)
        fits = self._start > 0 and end > 0 and names[-1:] == [self._table_name] and _VERSION_NAME not in names[1:]
        self._end, self._size = (end, len(text)) if fits else (0, 0)
        self._empty = text[end - 1 : end] == _OPEN
        return grew

    def require_whole_write(self) -> None:
        """Make the next write a complete one that drops what is in the file: .bak has newer content."""
        self._end = 0
        self._stale = True

    def add(self, entries: Sequence[bytes], version: bytes) -> None:
        """Add entries, in their encoded form, and the version that they result in.

        Raises:
            OSError: nothing is added, and the file does not grow any more.
        """
        end, self._end = self._end, 0  # after any error the file has to be written completely
        lacks, self._lacks = self._lacks, None
        text = (b"" if self._empty or not entries else b",") + b",".join(entries)
        tail = _tail(version)
        if lacks is None:
            whole = self._prefix(end)
            end = sum(map(len, whole))
            self._files.write(self._next, b"".join((*whole, text, tail)), like=self._path, durable=False)
        else:
            self._write_over(lacks.at, lacks.text + text + tail)
        if self._kept:
            self._files.exchange(self._path, self._next)
            self._lacks = _Lacks(end, text)
        else:
            self._files.link(self._path, self._backup)
            self._files.rename(self._next, self._path)
            self._kept = True
        self._empty = self._empty and not entries
        self._end = end + len(text)
        self._size = self._end + len(tail)
        self._tail = tail

    def _write_over(self, at: int, data: bytes) -> None:
        fd = self._files.open(self._next)
        try:
            self._files.write_at(fd, data, at)
        finally:
            self._files.close(fd)

    def _prefix(self, end: int) -> tuple[bytes, memoryview]:
        """The text up to the end of the last entry, without a version that comes first, in two pieces."""
        text = self._files.read(self._path)
        if text is None or len(text) != self._size:
            raise FileNotFoundError(f"{self._path} is not as it was left")
        start, self._start = self._start, len(_OPEN)
        return _OPEN, memoryview(text)[start:end]

    def write(self, others: Sequence[bytes], entries: Iterable[bytes], version: bytes) -> None:
        """Write the complete file: the other fields of the outermost object, and all entries. Then it can grow.

        Raises:
            OSError, StoreNotWritable: the file is as it was.
        """
        self._write_whole(
            b"".join((_OPEN, *(each + b"," for each in others), self._table, b",".join(entries))), version
        )

    def rewrite_without(self, removed: Collection[bytes], count: int, version: bytes) -> bool:
        """Write the file without entries that were replaced later, and without those of these keys, in quotes.

        False: the number of remaining entries would not be the expected one, so nothing was done.

        Raises:
            OSError, StoreNotWritable: the file is as it was.
        """
        head, table, text = b"".join(self._prefix(self._end)).partition(self._table)
        if text.count(_BETWEEN) + 1 == count + len(removed):  # none was replaced later
            for key in removed:
                before = len(text)
                text = _without(text, key)
                if len(text) == before:
                    return False
            self._write_whole(b"".join((head, table, text)), version)
            return True
        entries = {_key_of(each): each for each in text.removeprefix(_BETWEEN[1:]).split(_BETWEEN)}
        left = [entry for key, entry in entries.items() if key not in removed]
        if len(left) != count:
            return False
        self._write_whole(b"".join((head, table, _BETWEEN[1:], _BETWEEN.join(left))) if left else head + table, version)
        return True

    def _write_whole(self, text: bytes, version: bytes) -> None:
        tail = _tail(version)
        self._end = 0
        self._lacks = None
        self._writings += 1
        if self._kept and self._files.size(self._backup) is not None:
            self._files.write(self._next, text + tail, like=self._path, durable=False)
            self._files.rename(self._next, self._path)
        else:
            self._kept = False
            if self._stale:
                self._files.remove(self._path)
            self._stale = False
            config.save(self._path, self._files, text + tail)
        self._empty = text.endswith(_OPEN)
        self._start = len(_OPEN)
        self._end = len(text)
        self._size = self._end + len(tail)
        self._tail = tail

    def backup_to_save(self) -> PendingBackup | None:
        """What `save_backup` has to flush; None when the file itself is flushed, or is to be written."""
        return PendingBackup(self._end, self._tail, self._writings) if self._kept and self._end else None

    def save_backup(self, saving: PendingBackup) -> bool:
        """Write the text as it was into .bak and flush it. Blocking; safe in a thread, while entries are added.

        False: the complete file was written meanwhile, so nothing was done.

        Raises:
            OSError: .bak is as it was.
        """
        # The text before the version does not change until the complete file is written, which is counted beforehand.
        text = self._files.read(self._path)
        if text is None or self._writings != saving.writing:
            return False
        temporary = self._backup + ".next"
        self._files.write(temporary, b"".join((memoryview(text)[: saving.end], saving.tail)), like=self._path)
        self._files.rename(temporary, self._backup)
        self._files.sync_directory(self._path.rpartition("/")[0])
        return True

    def close(self) -> None:
        """Remove the spare file, before the file is written in another way.

        Raises:
            OSError: it is still there.
        """
        self._end = 0
        self._kept = False
        self._lacks = None
        self._files.remove(self._next)


def _tail(version: bytes) -> bytes:
    return b"".join((_CLOSE_OBJECT, version, _END)).ljust(_LONGEST_TAIL)


def _without(text: bytes, key: bytes) -> bytes:
    """The text of a table without the entry of a key; as it was if there is none."""
    start = text.find(_BETWEEN[1:-1] + key + b":")
    if start < 0:
        return text
    end = text.find(_BETWEEN, start)
    # The comma goes that follows it, or, behind the last one, the one before it.
    return b"".join((text[:start], text[end + 1 :])) if end >= 0 else text[: max(0, start - 1)]


def _key_of(entry: bytes) -> bytes:
    """The key, in quotes, of an entry without its first quote."""
    return b'"' + entry.partition(_KEY_END)[0] + b'"'


def _start_of(text: bytes, names: Sequence[str]) -> int:
    """Position of the first name, apart from the version, which may come first; 0: not where it should be."""
    start = len(_OPEN)
    if names[:1] == [_VERSION_NAME]:
        start = text.find(_CLOSE_OBJECT) + len(_CLOSE_OBJECT) if text.startswith(_OPEN + _VERSION) else 0
        names = names[1:]
    key = b"".join((_KEY, *map(str.encode, names[:1])))
    return start if text.startswith(_OPEN) and text.startswith(key, start) else 0


def _end_of(text: bytes, *, grew: bool) -> int:
    """Where the last entry ends, if the table comes last, or before the version in a file that grew; else 0."""
    version = text.rfind(_CLOSE_OBJECT + _VERSION)
    if grew or version >= 0:
        return max(0, version) if grew else 0
    text = text.rstrip()
    return len(text) - len(_CLOSE) if text.endswith(_CLOSE) else 0
