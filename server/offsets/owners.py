"""Which groups have offsets in a topic, and in which topics a group has: all offsets are gone through, in steps."""

from __future__ import annotations

from rocketwire.server.core.works import ROWS, Steps
from rocketwire.store.tables.offsets import OffsetTable


def topics_of(offsets: OffsetTable, group: str) -> Steps[list[str]]:
    """The topics that a group has offsets in."""
    found: dict[str, None] = {}
    at = 0
    while at < offsets.places:
        found.update({topic: None for topic, other in offsets.consumptions(at, ROWS) if other == group})
        at += ROWS
        yield None
    return list(found)


def groups_of(offsets: OffsetTable, topic: str) -> Steps[list[str]]:
    """The groups that have offsets in a topic."""
    found: dict[str, None] = {}
    at = 0
    while at < offsets.places:
        found.update({group: None for other, group in offsets.consumptions(at, ROWS) if other == topic})
        at += ROWS
        yield None
    return list(found)
