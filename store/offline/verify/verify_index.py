"""Verifying the index files against the log.

Entries are in the order of the log: the entries of a batch of records are the next ones, compared as arrays. Only where
these differ are entries compared singly.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.errors import StoreUnreadable
from rocketwire.store.layout.index import file_size
from rocketwire.store.offline.read.directory import PlainFile, StoreDirectory, StoreState
from rocketwire.store.offline.read.index_files import DEFAULT, IndexHeader, OpenIndexFile
from rocketwire.store.offline.read.opening import FileGone
from rocketwire.store.offline.verify.checked_index import BLOCK, CheckedIndex
from rocketwire.store.offline.verify.findings import Finding, FindingKind, ReportFinding
from rocketwire.store.offline.verify.index_keys import ExpectedKeys, IndexKeys, WalkedRecords
from rocketwire.store.records.columns import RecordColumns
from rocketwire.store.records.property_columns import HashedProperties

#: So many entries behind the expected ones are searched to resynchronise.
_SLACK: Final = 256


class IndexCheck:
    """All index files of a store; `entries` counts those that were checked."""

    def __init__(
        self,
        directory: StoreDirectory,
        report: ReportFinding,
        *,
        live: bool,
        differs: Callable[[int, int], None] = lambda _place, _hash: None,
    ) -> None:
        """Open the files.

        `differs` also gets each entry of no key of its record: the record's physical offset, while its batch is fed,
        and the entry's hash.
        """
        self.entries = 0
        self.unindexed = 0
        self._report = report
        self._differs = differs
        self._live = live
        # A broker writes the newest file, or was killed while it did.
        self._unfinished = live or directory.state is StoreState.CRASHED
        self._log_start = -1
        self._with_tags = False
        self._files = self._open(directory.index, 0 if directory.start == 0 else None)
        self._at = 0
        self._missing: list[int] = []
        self._first = self._files[0].header.begin_offset if self._files else 0
        self._keys = IndexKeys(self._first)

    def _open(self, plain_files: Sequence[PlainFile], former_end: int | None) -> list[CheckedIndex]:
        found: dict[int, tuple[int, int]] = {file_size(*DEFAULT): DEFAULT}
        headers: list[tuple[PlainFile, IndexHeader]] = []
        for plain in plain_files:
            try:
                with OpenIndexFile(plain, likely=found.get(plain.size, DEFAULT)) as file:
                    headers.append((plain, file.header))
                    if file.geometry is not None and file.header.keys:
                        found[plain.size] = file.geometry
            except FileGone:
                if not self._live:
                    raise
                former_end = None
            except StoreUnreadable as error:
                # Killed before the file got its size: the next start repairs it.
                begun = self._unfinished and plain.size == 0 and plain is plain_files[-1]
                kind = FindingKind.NOTE if begun else FindingKind.DAMAGE
                self._report_file(plain, error.reason, kind)
        files: list[CheckedIndex] = []
        for plain, header in headers:
            if plain.size not in found:
                # While its first entries are written, they and their slots may not fit together.
                kind = FindingKind.NOTE if self._unfinished and plain is headers[-1][0] else FindingKind.DAMAGE
                self._report_file(plain, f"its {plain.size} bytes cannot be taken apart into slots and entries", kind)
                continue
            try:
                files.append(CheckedIndex(plain, header, found[plain.size], former_end, self._report))
            except FileGone:
                if not self._live:
                    raise
            former_end = header.end_timestamp
        return files

    def _report_file(self, plain: PlainFile, what: str, kind: FindingKind = FindingKind.DAMAGE) -> None:
        self._report(Finding(kind=kind, path=f"index/{plain.name}", what=what))

    def feed(
        self,
        records: RecordColumns,
        topics: NDArray[np.int32],
        names: list[str],
        properties: HashedProperties,
        *,
        following: int,
        log_start: int,
    ) -> None:
        """Compare a batch of records, which ends at the physical offset `following`, with the next entries.

        Messages before `log_start` were removed from the log.
        """
        for newest in self._files[-1:]:
            newest.check_header_end(records)
        if self._at >= len(self._files):
            self.unindexed += len(properties.keys.record) if self._files else 0
            return
        if following <= self._first:
            return
        batch = WalkedRecords(records, topics, names, properties)
        plain = self._keys.plain(batch)
        self._skip_removed(log_start)
        tagged: ExpectedKeys | None = None
        done = 0
        # Usually the broker that indexed the batch before indexed this one too.
        for with_tags in (self._with_tags, not self._with_tags):
            if with_tags:
                tagged = self._keys.tagged(batch, plain)
            expected = tagged if with_tags and tagged is not None else plain
            done = self._take_all(expected)
            if done:
                self._with_tags = with_tags
                break
        if done < len(expected.hash):
            tagged = tagged or self._keys.tagged(batch, plain)
            start = int(records.physical_offset[0])
            self._check_singly(plain, tagged, expected.part(slice(done)), start, following)

    def _current(self) -> CheckedIndex | None:
        """The file with the next entry to be compared."""
        while self._at < len(self._files):
            file = self._files[self._at]
            if file.next < file.count:
                return file
            file.check_end(growing=self._unfinished and self._at + 1 == len(self._files))
            file.close()
            self._at += 1
        return None

    def _skip_removed(self, start: int) -> None:
        """Skip the next entries if their messages were removed with their file."""
        while start > self._log_start and (file := self._current()) is not None:
            entries = file.peek(BLOCK)
            gone = entries["physical_offset"] < start
            count = len(entries) if gone.all() else int(gone.argmin())
            while count and entries["physical_offset"][count - 1] < 0:  # damaged, and what follows was not removed
                count -= 1
            if count:
                file.take(entries[:count], entries["key_hash"][:count], None)
                self.entries += count
            if count < len(entries):
                break
        self._log_start = start

    def _take_all(self, expected: ExpectedKeys) -> int:
        """Compare the next entries with the expected ones; how many matched."""
        done = 0
        while done < len(expected.hash) and (file := self._current()) is not None:
            entries = file.peek(len(expected.hash) - done)
            part = expected.part(slice(done, done + len(entries)))
            same = (entries["key_hash"] == part.hash) & (entries["physical_offset"] == part.physical_offset)
            same &= entries["time_diff"] == file.seconds(part.timestamp)
            if not same.all():
                # All or nothing of a file, so that the other expectation can be tried.
                break
            file.take(entries, part.hash, part.timestamp)
            self.entries += len(entries)
            done += len(entries)
        return done

    def _check_singly(
        self, plain: ExpectedKeys, tagged: ExpectedKeys, taken: ExpectedKeys, start: int, following: int
    ) -> None:
        """Check the other entries of a batch singly: which are wrong, and which keys have none."""
        reached = int(taken.physical_offset[-1]) if len(taken.hash) else 0
        needed = Counter(zip(plain.physical_offset.tolist(), plain.hash.tolist(), strict=True))
        for pair in zip(taken.physical_offset.tolist(), taken.hash.tolist(), strict=True):
            if pair in needed:
                needed[pair] -= 1
        allowed: dict[int, dict[int, int]] = {}
        for key_hash, offset, timestamp in zip(*(column.tolist() for column in tagged), strict=True):
            allowed.setdefault(offset, {})[key_hash] = timestamp
        wrong: Counter[int] = Counter()
        of_batch = np.array(list(allowed), np.int64)
        left = len(tagged.hash) - len(taken.hash) + _SLACK
        while left > 0 and (file := self._current()) is not None:
            entries = file.peek(left)
            ours = np.flatnonzero((entries["physical_offset"] < following) & (entries["physical_offset"] >= 0))
            if len(ours):
                entries = entries[: int(ours[-1]) + 1]
            elif len(entries) < file.count - file.next or not self._next_begins_before(following):
                break
            for some, astray in _rows(~np.isin(entries["physical_offset"], of_batch)):
                if astray:
                    self._take_astray(file, entries[some])
                    # Those of a lost part of the log may be many more than the batch has.
                    left -= int(np.count_nonzero(entries["physical_offset"][some] >= start))
                    continue
                left -= some.stop - some.start
                for number in range(some.start, some.stop):
                    self._check_entry(file, entries[number : number + 1], allowed, needed, wrong)
        self._lacking(needed, wrong, reached)

    def _next_begins_before(self, following: int) -> bool:
        """Whether the next file has entries of the batch, so that all of this one's are of it too."""
        later = self._files[self._at + 1 : self._at + 2]
        return bool(later) and later[0].header.begin_offset < following

    def _take_astray(self, file: CheckedIndex, entries: NDArray[Any]) -> None:
        offset = int(entries["physical_offset"][0])
        what = f"entry {file.next} points to physical offset {offset}, where no record with keys is"
        file.report_entry(file.next, "entry of no record", what, count=len(entries))
        self.entries += len(entries)
        file.take(entries, entries["key_hash"], None)

    def _check_entry(
        self,
        file: CheckedIndex,
        entry: NDArray[Any],
        allowed: dict[int, dict[int, int]],
        needed: Counter[tuple[int, int]],
        wrong: Counter[int],
    ) -> None:
        key_hash, offset, difference, _ = entry[0].tolist()
        self.entries += 1
        hashes = allowed[offset]
        timestamp = hashes.get(key_hash)
        if timestamp is None:
            wrong[offset] += 1
            what = f"entry {file.next} has the hash {key_hash} of no key of the record at physical offset {offset}"
            file.report_entry(file.next, "entry of no key", what)
            self._differs(offset, key_hash)
            # The entry's chain shows whether the entry's or the record's hash is wrong.
            others = [other for other in hashes if needed[offset, other] > 0 and file.follows(entry, other)]
            meant = others[0] if others and not file.follows(entry, key_hash) else key_hash
            timestamp = next(iter(hashes.values()))
        else:
            needed[offset, key_hash] -= 1
            meant = key_hash
        times = np.array([timestamp], np.int64)
        seconds = int(file.seconds(times)[0])
        if difference != seconds:
            what = f"entry {file.next} says {difference} s, by its record it is {seconds} s"
            file.report_entry(file.next, "entry of a wrong time", what)
        file.take(entry, np.array([meant], np.int32), times)

    def _lacking(self, needed: Counter[tuple[int, int]], wrong: Counter[int], reached: int) -> None:
        lacking = Counter({offset: 0 for offset, _ in needed})
        for (offset, _), count in needed.items():
            lacking[offset] += max(0, count)
        behind = self._current() is None
        # The last file may have no entry yet.
        newest = max((file.last_offset or 0 for file in self._files), default=0) if behind else None
        for offset, count in sorted(lacking.items()):
            if newest is not None and offset >= newest and offset >= reached:
                self.unindexed += count
            elif count > wrong[offset]:
                self._missing.append(offset)

    def finish(self) -> None:
        """Check the entries that no record led to, and report records that are not indexed."""
        while (file := self._current()) is not None:
            entries = file.peek(BLOCK)
            if not self._live:
                offset = int(entries["physical_offset"][0])
                what = f"entry {file.next} points to physical offset {offset}, behind the end of the log"
                file.report_entry(file.next, "entry behind the end", what, count=len(entries))
            file.take(entries, entries["key_hash"], None)
            self.entries += len(entries)
        for file in self._files:
            file.finish()
        if self._missing:
            first, last = self._missing[0], self._missing[-1]
            what = f"{len(self._missing)} records with keys are not indexed, at physical offsets {first} to {last}"
            self._report(Finding(kind=FindingKind.DAMAGE, path="index", what=what, count=len(self._missing)))
        if self.unindexed and not self._live:
            what = f"{self.unindexed} keys of the newest records are not indexed yet; the next start does it"
            self._report(Finding(kind=FindingKind.NOTE, path="index", what=what, count=self.unindexed))


def _rows(mask: NDArray[np.bool_]) -> Iterator[tuple[slice, bool]]:
    """The parts of a mask that are all true or all false."""
    bounds = [0, *(np.flatnonzero(mask[1:] != mask[:-1]) + 1).tolist(), len(mask)]
    for first, last in itertools.pairwise(bounds):
        if first < last:
            yield slice(first, last), bool(mask[first])
