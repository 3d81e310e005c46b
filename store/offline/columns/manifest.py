"""The manifest: up to which place of which log the columns go, their segments, and a checksum of every block."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import crc32c
import msgspec
import numpy as np

from rocketwire.store.disk.replacing import replace_file

#: Another number means other columns: they are made again.
FORMAT: Final = 3
_NAME: Final = "manifest"
#: How arrays in the manifest are stored; as text they are base64.
CHECKSUM: Final = np.dtype("<u4")
KEY: Final = np.dtype("<i8")


class ColumnsUnusable(Exception):
    """The columns cannot be used for this store; the text gives the reason in one line. They must be made again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSegment:
    """A segment: its folder's name, rows, physical offset of its first record, times of its rows in ms.

    `checksums` has for each column the crc32c of each of its blocks, as an array of `CHECKSUM`. `fence` is an array of
    `KEY`: the first key of each block of keys. `damaged`: something of the log was damaged before, between or behind
    its rows; a read that takes damaged messages, too, finds them in the log.
    """

    name: str
    rows: int
    first: int
    oldest: int
    newest: int
    checksums: dict[str, bytes]
    fence: bytes
    damaged: bool = False


@dataclass(slots=True, kw_only=True)
class Manifest:
    """What the columns cover: the log up to the physical offset `end`; the last record begins at `last`.

    `witness` is the crc32c of that record: another store, or a log that was cut and written again, has another there.
    Codes in the columns are places in `topics` and `tags`.
    """

    format: int = FORMAT
    last: int = -1
    end: int = 0
    witness: int = 0
    topics: list[str] = field(default_factory=list)
    tags: list[str | None] = field(default_factory=list)
    segments: list[ColumnSegment] = field(default_factory=list)

    @property
    def ends(self) -> list[int]:
        """Of each segment the physical offset where its part of the log ends."""
        return [*(segment.first for segment in self.segments[1:]), self.end] if self.segments else []

    def within(self, start: int, end: int) -> list[tuple[ColumnSegment, int]]:
        """The segments of the log between two physical offsets, each with the offset where its part of the log ends."""
        parts = zip(self.segments, self.ends, strict=True)
        return [(segment, behind) for segment, behind in parts if segment.first < end and behind > start]

    @property
    def rows(self) -> int:
        """Messages in the columns."""
        return sum(segment.rows for segment in self.segments)


def load(folder: Path) -> Manifest | None:
    """The manifest of a folder; None if it has none.

    Raises:
        ColumnsUnusable: it is damaged, or of another format.
    """
    try:
        data = (folder / _NAME).read_bytes()
    except FileNotFoundError:
        return None
    checksum, _, text = data.partition(b"\n")
    if checksum != b"%08x" % crc32c.crc32c(text):
        raise ColumnsUnusable("the manifest is damaged")
    try:
        found = msgspec.json.decode(text, type=Manifest)
    except msgspec.ValidationError:
        found = None
    if found is None or found.format != FORMAT:
        raise ColumnsUnusable("they are of another version")
    return found


def save(folder: Path, manifest: Manifest) -> None:
    """Replace the manifest of a folder; what it names must be on the disk."""
    text = msgspec.json.encode(manifest)
    replace_file(folder / _NAME, b"%08x\n" % crc32c.crc32c(text) + text)
