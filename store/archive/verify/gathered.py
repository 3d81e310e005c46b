"""Findings about things that are numbered: entries, slots, messages.

What is wrong with one of them is often wrong with the next ones too, a million of them where a file of the log is lost.
So those in a row are one finding; and where the wrong ones stand between right ones, the first are told and the others
counted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from rocketwire.store.archive.verify.findings import Finding, Kind, Report

#: So many rows of one sort are told.
MOST: Final = 20


_Sort: TypeAlias = tuple[str, Kind]


@dataclass(slots=True)
class _Row:
    finding: Finding
    last: int


class Gathered:
    """Gathers the findings of one file or queue, until `close`."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._rows: dict[_Sort, _Row] = {}
        self._told: dict[_Sort, int] = {}
        #: What is not told of a sort: the first of it, with the number of all.
        self._untold: dict[_Sort, Finding] = {}

    def say(self, thing: str, number: int, finding: Finding) -> None:
        """Report what is wrong with one or more things of the same kind.

        Args:
            thing: What they are and what is wrong, as one can say of number 7: `wrong slot 7`.
            number: Of the first of them. Those of one sort come in their order.
            finding: About it; its count is how many there are.
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
        """Report what is left."""
        for sort, row in self._rows.items():
            self._end(sort, row)
            more = self._untold.get(sort)
            if more is not None:
                what = (
                    f"{more.what}; there are {more.count} like this from here on, the last one is {sort[0]} {row.last}"
                )
                self._report(replace(more, what=what, offset=None))
        self._rows.clear()

    def _end(self, sort: _Sort, row: _Row) -> None:
        finding = row.finding
        told = self._told[sort] = self._told.get(sort, 0) + 1
        if told > MOST:
            first = self._untold.get(sort)
            self._untold[sort] = finding if first is None else replace(first, count=first.count + finding.count)
        elif finding.count > 1 and finding.offset is None:
            self._report(replace(finding, what=f"{finding.what}; the same up to {sort[0]} {row.last}"))
        else:
            self._report(finding)  # that has an offset says itself up to which one it goes
