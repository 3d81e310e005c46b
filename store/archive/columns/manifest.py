"""The manifest: up to which place of which log the columns go, their segments, and a checksum of every block."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

import crc32c

#: Another number means other columns: they are made anew.
FORMAT: Final = 1
_NAME: Final = "manifest"


class ColumnsUnfit(Exception):
    """The columns cannot be used for this store; the text says why in one line. They must be made anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A segment: its folder's name, rows, physical offset of its first record, times of its rows in ms.

    `checksums` has for each column the crc32c of each of its blocks.
    """

    name: str
    rows: int
    first: int
    oldest: int
    newest: int
    checksums: dict[str, list[int]]


@dataclass(slots=True, kw_only=True)
class Manifest:
    """What the columns cover: the log up to the physical offset `end`; the last record begins at `last`.

    `witness` is the crc32c of that record: another store, or a log that was cut and written again, has another there.
    Codes in the columns are places in `topics` and `tags`.
    """

    last: int = -1
    end: int = 0
    witness: int = 0
    topics: list[str] = field(default_factory=list)
    tags: list[str | None] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """Messages in the columns."""
        return sum(segment.rows for segment in self.segments)


def load(folder: Path) -> Manifest | None:
    """The manifest of a folder; None if it has none.

    Raises:
        ColumnsUnfit: it is damaged, or of another format.
    """
    try:
        data = (folder / _NAME).read_bytes()
    except FileNotFoundError:
        return None
    checksum, _, text = data.partition(b"\n")
    if checksum != b"%08x" % crc32c.crc32c(text):
        raise ColumnsUnfit("the manifest is damaged")
    found = json.loads(text)
    if found.pop("format") != FORMAT:
        raise ColumnsUnfit("they are of another version")
    found["segments"] = [Segment(**segment) for segment in found["segments"]]
    return Manifest(**found)


def save(folder: Path, manifest: Manifest) -> None:
    """Replace the manifest of a folder; what it names must be on the disk."""
    # Texts that are not UTF-8 have lone surrogates, for which JSON has escapes.
    text = json.dumps({"format": FORMAT, **asdict(manifest)}).encode()
    temporary = folder / f"{_NAME}.tmp"
    with temporary.open("wb") as file:
        file.write(b"%08x\n" % crc32c.crc32c(text) + text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(folder / _NAME)
    sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Have the disk keep the names in a folder."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
