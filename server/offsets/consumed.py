"""Offsets that consumers commit, with a request or along with a pull, and the steps that search for them."""

from __future__ import annotations

from collections.abc import Generator
from typing import Final

from rocketwire.server.core.errors import NotPermitted
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.long_tasks import ROWS_PER_STEP
from rocketwire.server.transactions.half import GROUP as TRANSACTIONS
from rocketwire.store.errors import OffsetsTooMany
from rocketwire.store.tables.offsets import OffsetTable
from rocketwire.wire.names import REVIVE_GROUP

_OWN: Final = frozenset({TRANSACTIONS, REVIVE_GROUP})


def may_commit(group: str) -> bool:
    """Whether consumers may commit offsets of a group: those of the broker's internal groups record its progress."""
    return group not in _OWN


def commit_offset(offsets: OffsetTable, group: str, topic: str, queue_id: int, offset: int) -> None:
    """Note the offset of the next message that a group consumes; one outside the queue is noted, too.

    Raises:
        NotPermitted: the offsets are the broker's own.
        LimitExceeded: so many offsets are kept that there is no room for another one.
    """
    if not may_commit(group):
        raise NotPermitted(f"the offsets of group[{group}] are the broker's own")
    try:
        offsets.commit(group, topic, queue_id, offset)
    except OffsetsTooMany as error:
        raise LimitExceeded("maxOffsets", error.most) from error


def topics_of(offsets: OffsetTable, group: str) -> Generator[None, None, list[str]]:
    """The topics that a group has offsets in."""
    found: dict[str, None] = {}
    at = 0
    while at < offsets.places:
        found.update({topic: None for topic, other in offsets.consumptions(at, ROWS_PER_STEP) if other == group})
        at += ROWS_PER_STEP
        yield None
    return list(found)


def groups_of(offsets: OffsetTable, topic: str) -> Generator[None, None, list[str]]:
    """The groups that have offsets in a topic; one whose offsets are removed and set again meanwhile may come twice.

    In a list, which grows without being copied: with 500,000 groups one growth of a dict takes 14 ms.
    """
    found: list[str] = []
    at = 0
    while at < offsets.places:
        found += [group for other, group in offsets.consumptions(at, ROWS_PER_STEP) if other == topic]
        at += ROWS_PER_STEP
        yield None
    return found
