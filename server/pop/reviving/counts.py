"""What the reviver counts."""

from __future__ import annotations


class PopCounts:
    """What the reviver did since the start.

    Attributes:
        revived: Messages that were redelivered.
        renewed: Check points that were written again, because their client is still here.
        settled: Check points that are done.
        unreadable: Records that are neither check points nor acknowledgements.
        lost: Messages that could not be redelivered: they are not in the log any more, or can never be stored.
        lateness: How late the last messages were redelivered, in ms.
    """

    __slots__ = ("lateness", "lost", "renewed", "revived", "settled", "unreadable")

    def __init__(self) -> None:
        self.revived = 0
        self.renewed = 0
        self.settled = 0
        self.unreadable = 0
        self.lost = 0
        self.lateness = 0
