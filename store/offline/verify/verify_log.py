"""Verifying the commit log: the sequence of its files, and every record in them.

The log ends where no valid record follows and nothing shows that there were more. A consume queue that points behind
the end shows that, and so does the checkpoint. So a torn record at the end, as a crash leaves it, is a note, because
the next start cuts it off; the same in the middle is damage.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from rocketwire.store.disk.segment import file_name
from rocketwire.store.offline.read.directory import RowFile, StoreDirectory, StoreState
from rocketwire.store.offline.read.log import LogFileReader, RecordBlock
from rocketwire.store.offline.read.opening import FileGone
from rocketwire.store.offline.read.salvage import LogFileTail, LostPart, sweep
from rocketwire.store.offline.verify.findings import Finding, FindingKind, ReportFinding
from rocketwire.store.offline.verify.ranges import RangeSet
from rocketwire.store.records.walk import WalkEnd

_INT32: Final = struct.Struct(">i")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogExpectations:
    """What is known of the log from other files.

    Attributes:
        queued: End of the last record that a consume queue points to: nothing may be missing before it. -1: none.
        flushed: Store time (ms) up to which records are on the disk, by the checkpoint.
        recovered: The physical offset from which the next start reads the log.
    """

    queued: int
    flushed: int
    recovered: int


class LogCheck:
    """One pass over the log. When `blocks` has ended, the attributes hold the result.

    Attributes:
        start, end: Physical offsets of the first file and behind the last record.
        removed: What lies before this physical offset was removed with its file, at the latest during the pass.
        last_timestamp, newest_timestamp: Store time (ms) of the last record, and the greatest of all.
        lost: Physical offsets that hold no record although they should.
        blanks: Those behind the end-of-file blanks.
        records: How many records there are.
    """

    def __init__(
        self, directory: StoreDirectory, known: LogExpectations, report: ReportFinding, *, keep: bool = False
    ) -> None:
        """Begin at the first file; `keep` accepts whole records behind a torn one, which a start would cut off."""
        self.start = directory.start
        self.end = directory.start
        self.removed = directory.start
        self.last_timestamp = 0
        self.newest_timestamp = 0
        self.lost = RangeSet()
        self.blanks = RangeSet()
        self.records = 0
        self._directory = directory
        self._known = known
        self._keep = keep
        self._report = report
        self._live = directory.state in {StoreState.LIVE, StoreState.UNKNOWN}
        self._tail: tuple[RowFile, LogFileTail] | None = None
        self._done = False

    def blocks(self) -> Iterator[RecordBlock]:
        """All records, block by block.

        Raises:
            StoreUnreadable: a read failed.
        """
        expected: int | None = None
        sizes = [file.size for file in self._directory.commit_log]
        usual = max(set(sizes), key=sizes.count, default=0)
        for found in self._directory.commit_log:
            if not self._fits(found, expected, usual):
                continue
            # What a file has beyond the file size is no part of the log.
            file = found._replace(size=min(found.size, usual))
            expected = file.start + usual
            try:
                opened = LogFileReader(file)
            except FileGone:
                # A live broker removes its oldest files.
                if not self._live:
                    raise
                self._skip_removed(file)
                continue
            with opened:
                yield from self._file(file, opened)
            if self._done:
                break
        else:
            self._judge_tail()
        if self._live:
            self._look_again()

    def _skip_removed(self, file: RowFile) -> None:
        self.removed = file.end
        if not self.records:
            self.start = self.end = file.end

    def _look_again(self) -> None:
        """Find what was removed after it was read: its queue and index entries may be removed too."""
        for file in self._directory.commit_log:
            try:
                LogFileReader(file).close()
            except FileGone:
                self.removed = max(self.removed, file.end)
            else:
                return

    def _fits(self, file: RowFile, expected: int | None, usual: int) -> bool:
        if file.size == 0:
            last = file is self._directory.commit_log[-1]
            what = "it is empty: a stop came before it got its size, the next start removes it"
            if not (last and self._live):
                self._add_finding(
                    FindingKind.NOTE if last else FindingKind.DAMAGE, file, None, what if last else "it is empty"
                )
            return False
        if expected is not None and file.start > expected:
            self._missing(expected, file)
        if file.size != usual:
            self._add_finding(FindingKind.DAMAGE, file, None, f"it has {file.size} bytes and the other files {usual}")
            self.lost.add(file.end, file.start + usual)
        if file.start % usual or (expected is not None and file.start < expected):
            self._add_finding(FindingKind.DAMAGE, file, None, f"its name is no multiple of the files' size {usual}")
        return True

    def _missing(self, expected: int, file: RowFile) -> None:
        self.lost.add(expected, file.start)
        what = f"missing: the next file begins at {file.start}, {file.start - expected} bytes of the log are gone"
        self._report(Finding(kind=FindingKind.DAMAGE, path=f"commitlog/{file_name(expected)}", what=what))

    def _file(self, file: RowFile, opened: LogFileReader) -> Iterator[RecordBlock]:
        limit = self._known.queued if self._live else None
        for piece in sweep(opened, limit=limit):
            if isinstance(piece, RecordBlock):
                self._close_tail()
                count = len(piece.records.position)
                self.records += count
                self.end = piece.next
                self.last_timestamp = int(piece.records.store_timestamp[-1])
                self.newest_timestamp = max(self.newest_timestamp, int(piece.records.store_timestamp.max()))
                yield piece
            elif isinstance(piece, LostPart):
                if not self._is_damage(opened, piece):
                    self._leftovers(file, piece)
                    return
                self.lost.add(piece.start, piece.end)
                self._add_finding(
                    FindingKind.DAMAGE,
                    file,
                    piece.start,
                    f"{piece.end - piece.start} bytes are no record: {piece.reason}",
                )
            elif piece.stop is WalkEnd.BLANK:
                self._check_blank(file, opened, piece)
            elif self._live and piece.start >= self._known.queued:
                # The present end: what is written to the next file meanwhile is not checked.
                self._done = True
            elif self._tail is None:
                self._tail = file, piece

    def _is_damage(self, opened: LogFileReader, lost: LostPart) -> bool:
        """Whether the log continued behind a lost part; else it ended there, and what follows is older."""
        if lost.start < self._known.queued:
            return True
        following = next(opened.blocks(lost.end)).records
        timestamp = int(following.store_timestamp[0])
        if self._known.queued < 0 or (self._keep and self._directory.state is StoreState.CRASHED):
            return timestamp >= self.last_timestamp
        return self.last_timestamp <= timestamp <= self._known.flushed

    def _leftovers(self, file: RowFile, lost: LostPart) -> None:
        self._done = True
        what = (
            f"the log ends here ({lost.reason}); whole records stand behind it from byte {lost.end - file.start} on, "
            "which the next start cuts off"
        )
        self._add_finding(FindingKind.NOTE, file, lost.start, what)

    def _check_blank(self, file: RowFile, opened: LogFileReader, tail: LogFileTail) -> None:
        """Check that a blank has the size of the rest of its file."""
        self._close_tail()
        left = file.end - tail.start
        (size,) = _INT32.unpack(opened.read(tail.start, _INT32.size))
        if size != left:
            self._add_finding(
                FindingKind.DAMAGE, file, tail.start, f"the end-of-file blank says {size} bytes are left, not {left}"
            )
        self.end = file.end
        self.blanks.add(tail.start, file.end)

    def _close_tail(self) -> None:
        """Records follow in a later file: what ended the one before is damage."""
        if self._tail is None:
            return
        file, tail = self._tail
        self._tail = None
        self.lost.add(tail.start, file.end)
        reason = tail.reason or "nothing was ever written there"
        self._add_finding(
            FindingKind.DAMAGE, file, tail.start, f"{file.end - tail.start} bytes up to its end are no record: {reason}"
        )

    def _judge_tail(self) -> None:
        """Report what is behind the last record; if that is zeros, entries that point there are reported themselves."""
        if self._tail is None or self._tail[1].stop is not WalkEnd.DAMAGED:
            return
        file, tail = self._tail
        if tail.start < self._known.queued:
            crashed = self._directory.state is StoreState.CRASHED and tail.start >= self._known.recovered
            self.lost.add(tail.start, self._known.queued)
            what = f"the log ends here, but a consume queue points to records up to {self._known.queued}: {tail.reason}"
            self._add_finding(FindingKind.NOTE if crashed else FindingKind.DAMAGE, file, tail.start, what)
        else:
            what = f"the log ends here, the next start cuts off the rest: {tail.reason}"
            self._add_finding(FindingKind.NOTE, file, tail.start, what)

    def _add_finding(self, kind: FindingKind, file: RowFile, physical_offset: int | None, what: str) -> None:
        position = None if physical_offset is None else physical_offset - file.start
        self._report(Finding(kind=kind, path=f"commitlog/{file.name}", position=position, what=what))
