"""Scanning the commit log over all its files, past damage.

After a damaged record the scan continues at the next position where a record may begin: behind it, if its head is whole
and another head follows; else where the next whole record is found; else in the next file.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from rocketwire.store.offline.read.directory import RowFile, StoreDirectory, StoreState
from rocketwire.store.offline.read.heads import LARGEST_HEAD, promised_size
from rocketwire.store.offline.read.log import BLOCK, LogFileReader, RecordBlock
from rocketwire.store.offline.read.opening import FileGone
from rocketwire.store.offline.read.salvage import next_record
from rocketwire.store.records.walk import WalkEnd
from rocketwire.wire.facts.record import BLANK_MAGIC, END_OF_FILE_BLANK, MAGIC_AT

_TRIES: Final = 5
_PAUSE: Final = 0.02
_LEAST_BLOCK: Final = 64 << 10
_BLANK_SIZE: Final[int] = END_OF_FILE_BLANK.sizeof()
_BLANK: Final[bytes] = END_OF_FILE_BLANK.build({"size": 0, "magic": BLANK_MAGIC})[MAGIC_AT:]


class ReadProblem(NamedTuple):
    """What could not be read: in which file, at which physical offset (None: it is no file of the log), and why.

    `gone`: the file was only removed meanwhile, as a live broker does with its oldest.
    """

    path: str
    physical_offset: int | None
    reason: str
    gone: bool = False

    def __str__(self) -> str:
        place = "" if self.physical_offset is None else f"at physical offset {self.physical_offset}: "
        return f"{self.path}: {place}{self.reason}"


ReportProblem = Callable[[ReadProblem], None]


def scan(
    directory: StoreDirectory,
    report: ReportProblem,
    *,
    start: int = 0,
    end: int | None = None,
    pause: Callable[[], None] = lambda: time.sleep(_PAUSE),
) -> Iterator[RecordBlock]:
    """The records of the log in its order, in blocks that have at least one.

    Args:
        directory: The store. Of a live one the log is read as far as it comes in the files found.
        report: Gets everything that is skipped, as it is found.
        start: Physical offset of a record to begin with; before the log's first one, that.
        end: Physical offset of a record at which to stop: the last block may go beyond it. None for the whole log.
        pause: Waits a little, for a broker that is just writing a record.

    Raises:
        StoreUnreadable: a file cannot be read, but for one that was removed.
    """
    files = [file for file in directory.commit_log if file.end > start and (end is None or file.start < end)]
    behind = files[0].start if files else 0
    for number, file in enumerate(files):
        if file.start > behind:
            report(
                ReadProblem(
                    file.path, behind, f"the {file.start - behind} bytes of the log before this file are missing"
                )
            )
        behind = file.end
        try:
            with LogFileReader(file) as opened:
                later = files[number + 1 :]
                yield from _file(directory, opened, later, report, pause, start=max(start, file.start), end=end)
        except FileGone:
            report(ReadProblem(file.path, file.start, "it was removed meanwhile", gone=True))


def _file(
    directory: StoreDirectory,
    file: LogFileReader,
    later: list[RowFile],
    report: ReportProblem,
    pause: Callable[[], None],
    *,
    start: int,
    end: int | None,
) -> Iterator[RecordBlock]:
    tries = _TRIES
    # Of a few records not a whole block is read.
    size = BLOCK if end is None else min(BLOCK, max(_LEAST_BLOCK, end - start))
    while True:
        block = None
        for block in file.blocks(start, block=size):
            if len(block.records.position):
                yield block
            if end is not None and block.next >= end:
                return
        if block is None or block.stop is WalkEnd.BLANK:
            return
        unwritten = block.stop is WalkEnd.UNWRITTEN
        continues = any(map(is_written, later))
        if unwritten and not continues:
            return  # the present end
        if block.next > start:
            start, tries = block.next, _TRIES
        # A live broker may be writing it just now, or have continued in the next file since.
        if tries > 1 and directory.state in (StoreState.LIVE, StoreState.UNKNOWN) and (unwritten or not continues):
            tries -= 1
            pause()
            continue
        report(
            ReadProblem(file.path, start, "nothing was ever written here, but behind it" if unwritten else block.reason)
        )
        place = next_place(file, start)
        if place is None:
            return
        start, tries = place, _TRIES


def is_written(row_file: RowFile) -> bool:
    """Whether a commit log file has a first record: one made ahead has none, and one removed meanwhile neither.

    Raises:
        StoreUnreadable: it cannot be read.
    """
    try:
        with LogFileReader(row_file) as file:
            return file.read(row_file.start, _BLANK_SIZE).strip(b"\0") != b""
    except FileGone:
        return False


def next_place(file: LogFileReader, damaged: int) -> int | None:
    """Where in a file a record may begin behind a damaged one."""
    size = promised_size(file.read(damaged, LARGEST_HEAD), 0, damaged)
    if size is not None:
        head = file.read(damaged + size, LARGEST_HEAD)
        if promised_size(head, 0, damaged + size) is not None or head[MAGIC_AT:_BLANK_SIZE] == _BLANK:
            return damaged + size
    return next_record(file, damaged + 1)
