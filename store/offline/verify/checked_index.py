"""Verifying one index file: its entries in order, its hash chains, and at the end its slots and header.

A chain is right if every entry names the entry before it in its slot, and every slot its newest. That is checked with a
table of the newest entry so far of each slot, as when the file was written; so no chain has to be followed, and none
has a loop if all is right. Where a wrong hash led to another slot than the chain's, the right slot counts, so that the
damage is reported once.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.layout.derive import dtype_fields
from rocketwire.store.layout.index import ENTRY as LAYOUT
from rocketwire.store.layout.index import ENTRY_SIZE, HEADER_OFFSETS, HEADER_SIZE, SLOT_DTYPE, SLOT_SIZE
from rocketwire.store.offline.read.directory import PlainFile
from rocketwire.store.offline.read.index_files import IndexHeader
from rocketwire.store.offline.read.opening import OpenFile
from rocketwire.store.offline.verify.findings import Finding, FindingKind, FindingMerger, ReportFinding
from rocketwire.store.records.columns import RecordColumns
from rocketwire.wire.java import INT32_MAX

_STORED: Final = np.dtype(dtype_fields(LAYOUT))
_ENTRY: Final = _STORED.newbyteorder("=")
#: Entries and slots read at once.
BLOCK: Final = 4096
_SLOT_BLOCK: Final = 1 << 18


class CheckedIndex:
    """One index file and how far it was compared.

    Attributes:
        next: Number of the next entry to be compared.
        begin: The time from which the entries' seconds count, in ms; of the first entry, that of the file before.
    """

    def __init__(
        self,
        plain: PlainFile,
        header: IndexHeader,
        geometry: tuple[int, int],
        former_end: int | None,
        report: ReportFinding,
    ) -> None:
        """Open it; `former_end` is the newest time (ms) in the file before, 0 if it is the first, None if not known."""
        self.path = f"index/{plain.name}"
        self.header = header
        self.slots, self.entries = geometry
        self.count = min(max(1, self.header.entry_count), self.entries)
        self.next = 1
        self.last_timestamp: int | None = None
        self.first_offset: int | None = None
        self.last_offset: int | None = None
        self._ends_at_record = False
        self._later: dict[str, int | None] = {}
        self._former_end = former_end
        self._first_timestamp: int | None = None
        self._report = report
        self._gathered = FindingMerger(report)
        self._file = OpenFile(plain.path, plain.files)
        self._newest = np.zeros(self.slots, np.int32)
        self._buffer: NDArray[Any] = np.empty(0, _ENTRY)
        self._buffer_start = 1

    def close(self) -> None:
        """Release the file and the tables."""
        self._file.close()
        self._newest = self._newest[:0]

    def check_header_end(self, records: RecordColumns) -> None:
        """Check whether the header ends at one of these records, as after a stop behind messages without keys."""
        at = int(np.searchsorted(records.physical_offset, self.header.end_offset))
        if at < len(records.physical_offset) and records.physical_offset[at] == self.header.end_offset:
            self._ends_at_record = bool(records.store_timestamp[at] == self.header.end_timestamp)

    def peek(self, most: int) -> NDArray[Any]:
        """The next entries, `most` at most."""
        most = min(most, self.count - self.next)
        start = self.next - self._buffer_start
        if start < 0 or start + most > len(self._buffer):
            wanted = min(max(most, BLOCK), self.count - self.next)
            data = self._file.read(self.entry_position(self.next), wanted * ENTRY_SIZE)
            self._buffer = np.frombuffer(data, _STORED, len(data) // ENTRY_SIZE).astype(_ENTRY)
            self._buffer_start, start = self.next, 0
        return self._buffer[start : start + most]

    def entry_position(self, number: int) -> int:
        """Byte of an entry."""
        return HEADER_SIZE + self.slots * SLOT_SIZE + number * ENTRY_SIZE

    def seconds(self, timestamps: NDArray[np.int64]) -> NDArray[np.int64]:
        """The seconds that the next entries must hold for messages stored at these times (ms)."""
        first = self._first_timestamp
        begin = np.full(len(timestamps), self.header.begin_timestamp if first is None else first, np.int64)
        if self.next == 1 and len(timestamps):
            begin[0] = self._former_end or 0
            begin[1:] = timestamps[0]
        found: NDArray[np.int64] = np.clip((timestamps - begin) // 1000, 0, INT32_MAX)
        found[begin <= 0] = 0
        if self.next == 1 and len(timestamps) and self._former_end is None:
            found[0] = self.peek(1)["time_diff"][0]  # the right value is not known
        return found

    def take(self, entries: NDArray[Any], hashes: NDArray[np.int32], timestamps: NDArray[np.int64] | None) -> None:
        """Count the next entries as compared, and check how they are chained by the hashes they should have.

        `timestamps` are those of their records, None when these are not in the log.
        """
        if not len(entries):
            return
        if timestamps is not None and self.next == 1:
            self._first_timestamp = int(timestamps[0])
        self.last_timestamp = None if timestamps is None else int(timestamps[-1])
        if self.first_offset is None:
            self.first_offset = int(entries["physical_offset"][0])
        self.last_offset = int(entries["physical_offset"][-1])
        self._check_chain(entries["previous"], hashes.astype(np.int64))
        self.next += len(entries)

    def follows(self, entry: NDArray[Any], key_hash: int) -> bool:
        """Whether an entry, the next one, is in the chain of a hash."""
        return int(entry["previous"][0]) == int(self._newest[abs(key_hash) % self.slots])

    def _check_chain(self, stored: NDArray[np.int32], hashes: NDArray[np.int64]) -> None:
        count = len(stored)
        slots = np.abs(hashes) % self.slots
        order = np.argsort(slots, kind="stable")
        in_order = slots[order]
        again = np.concatenate([[False], in_order[1:] == in_order[:-1]])
        numbers = order + self.next
        expected = np.empty(count, np.int64)
        expected[1:] = numbers[:-1]
        expected[~again] = self._newest[in_order[~again]]
        last = np.concatenate([~again[1:], [True]])
        self._newest[in_order[last]] = numbers[last]
        wrong = np.flatnonzero(stored[order] != expected)
        for at in wrong[np.argsort(numbers[wrong])].tolist():
            number = int(numbers[at])
            self._report_chain(number, int(stored[order[at]]), int(expected[at]))

    def _report_chain(self, number: int, stored: int, expected: int) -> None:
        what = f"entry {number} says that the one before it in its slot is {stored}, it is {expected}"
        self.report_entry(number, "wrongly chained entry", what)

    def check_end(self, *, growing: bool) -> None:
        """Compare slots and header with what the entries were; of a file that is, or was, being written no newer ones.

        Its header comes last: until then it counts the entries before, and is all zeros in a new file.
        """
        used = 0
        for start in range(0, self.slots, _SLOT_BLOCK):
            wanted = self._newest[start : start + _SLOT_BLOCK]
            data = self._file.read(HEADER_SIZE + start * SLOT_SIZE, len(wanted) * SLOT_SIZE)
            stored = np.frombuffer(data, SLOT_DTYPE, len(data) // SLOT_SIZE)
            wrong = stored != wanted[: len(stored)]
            if growing:
                wrong &= stored < self.count
            for at in np.flatnonzero(wrong).tolist():
                position = HEADER_SIZE + (start + at) * SLOT_SIZE
                what = f"slot {start + at} says that its newest entry is {stored[at]}, it is {wanted[at]}"
                self._gathered.add("wrong slot", start + at, self._finding(position, what))
            used += int(np.count_nonzero(wanted))
        self._gathered.close()
        if not growing:
            self._check_header(used)

    def _check_header(self, used: int) -> None:
        header = self.header
        found: dict[str, int | None] = {"slot_count": used}
        if self.count > 1:
            found |= {
                "begin_offset": self.first_offset,
                "end_offset": self.last_offset,
                "begin_timestamp": self._first_timestamp,
                "end_timestamp": self.last_timestamp,
            }
            if self.last_offset is not None and header.end_offset > self.last_offset:
                self._later = {name: found.pop(name) for name in ("end_offset", "end_timestamp")}
        if header.entry_count != self.count:
            found["entry_count"] = self.count
        self._compare_header(found)

    def finish(self) -> None:
        """Report a header that ends behind the last entry, but at no record of the log."""
        if not self._ends_at_record:
            self._compare_header(self._later)

    def _compare_header(self, found: dict[str, int | None]) -> None:
        for name, value in found.items():
            stored = getattr(self.header, name)
            if value is not None and stored != value:
                what = f"the header's {name.replace('_', ' ')} is {stored}, by its entries it is {value}"
                self._report(self._finding(HEADER_OFFSETS[name], what))

    def report_entry(self, number: int, thing: str, what: str, *, count: int = 1) -> None:
        """Report damage of an entry, or of `count` from there on; see Gathered."""
        self._gathered.add(thing, number, self._finding(self.entry_position(number), what, count))

    def _finding(self, position: int, what: str, count: int = 1) -> Finding:
        return Finding(kind=FindingKind.DAMAGE, path=self.path, position=position, what=what, count=count)
