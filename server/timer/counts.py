"""What the timer counts."""

from __future__ import annotations


class Counts:
    """Messages since the start.

    Attributes:
        delivered: Copies that were stored.
        cancelled: Messages that a marker cancelled.
        rolled: Records that were stored anew, for the next lap.
        stale: References that led to no record any more.
        dropped: Messages that can never be delivered.
        lateness: How late the last copies were stored, in ms.
    """

    __slots__ = ("cancelled", "delivered", "dropped", "lateness", "rolled", "stale")

    def __init__(self) -> None:
        self.delivered = 0
        self.cancelled = 0
        self.rolled = 0
        self.stale = 0
        self.dropped = 0
        self.lateness = 0
