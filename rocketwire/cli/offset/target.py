"""Where a group is to go on: `earliest`, `latest`, a time or an offset."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_OFFSET_DIGITS: Final = 10
"""A number of more digits is a time in ms."""


class ResetPoint(StrEnum):
    """What kind of place it is."""

    EARLIEST = "earliest"
    LATEST = "latest"
    TIME = "time"
    OFFSET = "offset"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetTarget:
    """A place in queues; `value` is the time in ms or the offset."""

    where: ResetPoint
    value: int = 0

    @property
    def timestamp(self) -> int:
        """The time that stands for the place in a request: -1 is the end, 0 is before every message."""
        return -1 if self.where is ResetPoint.LATEST else self.value


def target(text: str) -> ResetTarget:
    """The place that an option names.

    Raises:
        Mistake: it is none.
    """
    from rocketwire.cli.times import TIME_FORMS, parsed

    if text in (ResetPoint.EARLIEST, ResetPoint.LATEST):
        return ResetTarget(where=ResetPoint(text))
    if text.isascii() and text.isdigit() and len(text) <= _OFFSET_DIGITS:
        return ResetTarget(where=ResetPoint.OFFSET, value=int(text))
    expected = f"earliest, latest, an offset of at most {_OFFSET_DIGITS} digits, {TIME_FORMS}"
    return ResetTarget(where=ResetPoint.TIME, value=parsed("--to", text, expected=expected))
