"""What pops in order need: while messages of a queue are out that nobody acknowledged, the queue gives no others.

Such a pop writes no check point. Its handles name the revive queue `wire.pop_handle.ORDER_REVIVE_QUEUE`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from rocketwire.wire.pop_handle import OrderCount


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
        renewer: The client for whom they are kept for longer as long as it is here; None: for nobody.
    """

    queue: PopQueue
    attempt_id: str | None
    pop_time: int
    invisible_time: int
    offsets: Sequence[int]
    renewer: str | None = None


class OrderedDeliveries(Protocol):
    """Keeps which messages are out in order. All is called on the event loop and returns at once.

    Whoever implements it has waiting pops woken when a queue is free again: after an acknowledgement, or when the time
    of the messages that are out is up.
    """

    def is_blocked(self, queue: PopQueue, attempt_id: str | None, invisible_time: int) -> bool:
        """Whether the queue gives nothing now to an attempt that wants its messages for so many ms."""
        ...

    def reconsume_counts(self, batch: OrderedBatch) -> Sequence[OrderCount]:
        """How often the messages of a batch that is to be taken were popped before, for the answer."""
        ...

    def note_popped(self, batch: OrderedBatch) -> None:
        """Note a batch. The group's offset stays at the first message until that is acknowledged."""
        ...

    def ack(self, queue: PopQueue, offset: int, pop_time: int, invisible_time: int) -> None:
        """Acknowledge a message, which was popped then for so long; the group's offset moves on as far as it can.

        Raises:
            ServerError: it is not out.
        """
        ...

    def change(self, queue: PopQueue, offset: int, pop_time: int, visible_at: int) -> bool:
        """Keep a message until another time, in ms since 1970; false if it was acknowledged.

        Nothing is done for one that is not out.
        """
        ...
