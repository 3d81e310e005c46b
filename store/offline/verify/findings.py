"""Findings of a verification: one line for each thing that is wrong, at one place of one file.

What is wrong with one entry, slot or message is often wrong with the next ones too, with a million of them where a file
of the log is lost. So `FindingMerger` joins consecutive ones to one finding; of those that are not consecutive it
reports the first and counts the others.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

#: Rows of one sort that are reported singly; further ones are counted.
MOST: Final = 20


class FindingKind(enum.Enum):
    """How bad it is."""

    DAMAGE = "damage"
    """Something is lost or wrong, and no start of a broker mends it."""
    NOTE = "note"
    """Left by a crash or by an operator: a broker starts and deals with it, or ignores it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong.

    Attributes:
        kind: How bad it is.
        path: The file or directory, from the store's directory on.
        what: What it is.
        position: Byte of the file where it begins.
        topic, queue_id, offset: The message it is about; `offset` is the first one's when there are more.
        count: How many messages or entries it is about.
    """

    kind: FindingKind
    path: str
    what: str
    position: int | None = None
    topic: str | None = None
    queue_id: int | None = None
    offset: int | None = None
    count: int = 1

    def __str__(self) -> str:
        place = self.path if self.position is None else f"{self.path} at byte {self.position}"
        if self.topic is not None:
            place += f", {self.topic}"
        if self.queue_id is not None:
            place += f" queue {self.queue_id}"
        if self.offset is not None:
            last = self.offset + self.count - 1
            place += f" offset {self.offset}" if last == self.offset else f" offsets {self.offset} to {last}"
        return f"{self.kind.value}: {place}: {self.what}"


ReportFinding: TypeAlias = Callable[[Finding], None]

_Sort: TypeAlias = tuple[str, FindingKind]


@dataclass(slots=True)
class _Row:
    finding: Finding
    last: int


class FindingMerger:
    """Joins and counts the findings of one file or queue, until `close`."""

    def __init__(self, report: ReportFinding) -> None:
        self._report = report
        self._rows: dict[_Sort, _Row] = {}
        self._reported: dict[_Sort, int] = {}
        #: What is not reported of a sort: its first finding, with the number of all.
        self._unreported: dict[_Sort, Finding] = {}

    def add(self, thing: str, number: int, finding: Finding) -> None:
        """Report what is wrong with one or more things of the same kind.

        Args:
            thing: What they are and what is wrong, to be followed by a number: `wrong slot` 7.
            number: Of the first of them. Those of one kind come in ascending order.
            finding: The finding for them; its count is how many there are.
        """
        last = number + finding.count - 1
        sort = thing, finding.kind
        row = self._rows.get(sort)
        if row is not None and number == row.last + 1:
            row.last = last
            row.finding = replace(row.finding, count=row.finding.count + finding.count)
            return
        if row is not None:
            self._end(sort, row)
        self._rows[sort] = _Row(finding, last)

    def close(self) -> None:
        """Report what was not reported yet."""
        for sort, row in self._rows.items():
            self._end(sort, row)
            more = self._unreported.get(sort)
            if more is not None:
                what = (
                    f"{more.what}; there are {more.count} like this from here on, the last one is {sort[0]} {row.last}"
                )
                self._report(replace(more, what=what, offset=None))
        self._rows.clear()

    def _end(self, sort: _Sort, row: _Row) -> None:
        finding = row.finding
        reported = self._reported[sort] = self._reported.get(sort, 0) + 1
        if reported > MOST:
            first = self._unreported.get(sort)
            self._unreported[sort] = finding if first is None else replace(first, count=first.count + finding.count)
        elif finding.count > 1 and finding.offset is None:
            self._report(replace(finding, what=f"{finding.what}; the same up to {sort[0]} {row.last}"))
        else:
            self._report(finding)  # its offsets contain its end already
