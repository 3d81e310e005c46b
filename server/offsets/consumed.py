"""Offsets that consumers commit: with a request of its own, or along with a pull."""

from __future__ import annotations

from rocketwire.server.core.errors import NotPermitted
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.transactions.half import GROUP as TRANSACTIONS
from rocketwire.store.errors import OffsetsTooMany
from rocketwire.store.tables.offsets import OffsetTable


def may_commit(group: str) -> bool:
    """Whether consumers may commit offsets of a group. The broker's own say which half messages are decided."""
    return group != TRANSACTIONS


def commit_offset(offsets: OffsetTable, group: str, topic: str, queue_id: int, offset: int) -> None:
    """Note the offset of the next message that a group consumes; one that the queue has not is noted too.

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
