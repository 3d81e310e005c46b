"""What pops in order need: while messages of a queue are out and not acknowledged, the queue gives no others.

Such a pop writes no check point. Its handles name the revive queue `wire.pop_handle.ORDER_REVIVE_QUEUE`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class PopQueue(NamedTuple):
    """A queue as one consumer group takes from it. `topic` may be a retry topic."""

    topic: str
    group: str
    queue_id: int


class OrderedBatch(NamedTuple):
    """Messages of one queue that a pop takes in order.

    Attributes:
        queue: The queue.
        attempt_id: The client's name for its attempt: under the same one it may have the batch again.
        pop_time: When, in ms since 1970.
        invisible_time: For how long from then on, in ms.
        offsets: The queue offsets of the messages.
        renewer: The client for whom they are kept for longer as long as it is connected; None: they are not.
    """

    queue: PopQueue
    attempt_id: str | None
    pop_time: int
    invisible_time: int
    offsets: Sequence[int]
    renewer: str | None = None
