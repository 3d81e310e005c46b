"""A row of files without gaps, each named by its start offset (Apache's MappedFileQueue): commit log or consume queue.

Few files of a row are mapped: reading an old one maps it, and the one mapped longest ago is dropped.

Flushing threads iterate over the row while its owner appends to it and removes the oldest files. Appending does not
move the other files; removing makes a new list, so that an iteration never skips a file.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Container, Iterator

from rocketwire.store.disk.files import FileSystem, missing_path_error
from rocketwire.store.disk.foreign import OFFSET_DIGITS, store_names
from rocketwire.store.disk.segment import Segment, file_name
from rocketwire.store.errors import StoreForeign


class Segments:
    """The files of one directory, all of `file_size` bytes, in the order of their offsets.

    Attributes:
        parents: Directories above, which are made with the first file, and made durable by `sync_directory`.
        scattered: See Segment.
        on_map: Called after a file was mapped, for an owner that counts mappings over many rows.
    """

    __slots__ = (
        "_files",
        "_mapped",
        "_most_mapped",
        "_on_map",
        "_row",
        "_scattered",
        "directory",
        "directory_unsynced",
        "file_size",
        "parents",
    )

    def __init__(
        self,
        directory: str,
        file_size: int,
        files: FileSystem,
        *,
        most_mapped: int,
        parents: tuple[str, ...] = (),
        scattered: bool = False,
        on_map: Callable[[], None] | None = None,
    ) -> None:
        self.directory = directory
        self.file_size = file_size
        #: Whether a file was created or removed since the directory was synced.
        self.directory_unsynced = False
        self._files = files
        self.parents = parents
        self._scattered = scattered
        self._row: list[Segment] = []
        self._mapped: OrderedDict[int, Segment] = OrderedDict()
        self._most_mapped = most_mapped
        self._on_map = on_map

    def load(self, size_setting: str, *, remedy: str) -> None:
        """Find the files.

        Args:
            size_setting: Name of the setting that gives the file size, for the error text.
            remedy: What to do about a file that does not fit, for the error text.

        Raises:
            StoreForeign: a file has another size, or the row has a gap.
        """
        names = store_names(self.directory, self._files.names(self.directory), OFFSET_DIGITS)
        for name in names:
            path = f"{self.directory}/{name}"
            size = self._files.size(path)
            if size == 0 and name == names[-1]:
                # Killed between making the file and giving it its size.
                self._files.remove(path)
                continue
            if size != self.file_size:
                raise StoreForeign(
                    self.directory,
                    f"file {name} has {size} bytes but {size_setting} is {self.file_size}; "
                    f"set it to the size of the store's files, or {remedy}",
                )
            start = int(name)
            if start % self.file_size or (self._row and start != self._row[-1].end):
                expected = self._row[-1].end if self._row else start - start % self.file_size
                raise StoreForeign(
                    self.directory, f"file {name} is not where {file_name(expected)} should be; {remedy}"
                )
            self._row.append(self._segment(start))

    def _segment(self, start: int) -> Segment:
        path = f"{self.directory}/{file_name(start)}"
        return Segment(path, start, self.file_size, self._files, scattered=self._scattered)

    def __len__(self) -> int:
        return len(self._row)

    def __getitem__(self, index: int) -> Segment:
        return self._row[index]

    def __iter__(self) -> Iterator[Segment]:
        """The files, oldest first; safe in a thread."""
        return iter(self._row)

    @property
    def first(self) -> Segment | None:
        """The oldest file."""
        return self._row[0] if self._row else None

    @property
    def last(self) -> Segment | None:
        """The newest file."""
        return self._row[-1] if self._row else None

    def find_unmapped(self, offset: int) -> Segment | None:
        """The file that holds an offset, None when there is none; the caller must not map it. Safe in a thread."""
        for segment in reversed(self._row):
            if segment.start <= offset < segment.end:
                return segment
        return None

    def find(self, offset: int) -> Segment | None:
        """The file that holds an offset, None when there is none. It counts as used for the limit of mappings."""
        row = self._row
        if not row:
            return None
        index = (offset - row[0].start) // self.file_size
        if not 0 <= index < len(row):
            return None
        segment = row[index]
        if not segment.is_mapped:
            self._note_mapped(segment)
        return segment

    def _note_mapped(self, segment: Segment) -> None:
        self._mapped[segment.start] = segment
        self._mapped.move_to_end(segment.start)
        while len(self._mapped) > self._most_mapped:
            _, oldest = self._mapped.popitem(last=False)
            oldest.unmap()
        if self._on_map is not None:
            self._on_map()

    def pin(self, segment: Segment) -> None:
        """Map a file and keep it mapped until `unmap_all`: the one being written."""
        fresh = not segment.is_mapped
        segment.mapping  # noqa: B018 - maps at first use
        self._mapped.pop(segment.start, None)
        if fresh and self._on_map is not None:
            self._on_map()

    def unpin(self, segment: Segment) -> None:
        """Count a pinned file among those that are forgotten when too many are mapped."""
        self._note_mapped(segment)

    def append(self, start: int, head: bytes = b"") -> Segment:
        """Create the next file, or the first one at `start`; it begins with `head`.

        Its directory is synced by `sync_directory`.

        Raises:
            DiskFull: there is no room.
            StoreGone: the file before it is not there, or the directory of all rows: it is not made again, or what was
                moved away could not be put back.
        """
        if self._row:
            self._row[-1].check_exists()
        else:
            self._make_directory()
        segment = self._segment(start)
        segment.create(head)
        self._row.append(segment)
        self.directory_unsynced = True
        return segment

    def _make_directory(self) -> None:
        within = self.parents[0] if self.parents else self.directory.rpartition("/")[0]
        try:
            self._files.make_directory(self.directory, durable=not self.parents, within=within)
        except FileNotFoundError as error:
            raise missing_path_error(self.directory, self._files) from error

    def sync_directory(self, done: Container[str] = ()) -> None:
        """Sync the directory, so that the set of files is durable. Safe in a thread.

        Parents that are `done` (synced since the first file was made) are skipped.
        """
        if self.directory_unsynced:
            # Cleared first: a change meanwhile sets it again.
            self.directory_unsynced = False
            try:
                for directory in (*self.parents, self.directory):
                    if directory not in done:
                        self._files.sync_directory(directory)
            except OSError:
                self.directory_unsynced = True
                raise

    def truncate(self, offset: int, *, clear: bool) -> None:
        """Remove the files that start at or after `offset` (but not the one that starts there if it is the first)."""
        while self._row and self._row[-1].start >= offset and len(self._row) > 1:
            self._forget(self._row.pop())
        if clear and self._row and self._row[-1].start <= offset < self._row[-1].end:
            last = self._row[-1]
            last.clear_from(offset - last.start)

    def detach_first(self) -> Segment:
        """Take the oldest file out of the row, without removing it from the disk."""
        first, *rest = self._row
        self._row = rest
        self._mapped.pop(first.start, None)
        first.unmap()
        return first

    def reattach(self, first: Segment) -> None:
        """Put the file that was taken last back into the row: it could not be removed."""
        self._row = [first, *self._row]

    def remove_first(self) -> None:
        """Remove the oldest file.

        Raises:
            OSError: it cannot be removed, and is still in the row.
        """
        first = self.detach_first()
        try:
            first.remove()
        except OSError:
            self.reattach(first)
            raise

    def sync_removal(self) -> None:
        """Make removals durable, so that no power cut leaves a gap in the row. Safe in a thread."""
        self._files.sync_directory(self.directory)

    def remove_last(self) -> None:
        """Remove the newest file."""
        self._forget(self._row.pop())

    def _forget(self, segment: Segment) -> None:
        self._mapped.pop(segment.start, None)
        segment.remove()
        self.directory_unsynced = True

    def unmap_all(self) -> None:
        """Forget every mapping; views handed out stay valid."""
        self._mapped.clear()
        for segment in self._row:
            segment.unmap()
