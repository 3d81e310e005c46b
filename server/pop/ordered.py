"""What pops in order need: while messages of a queue are out that nobody acknowledged, the queue gives no others.

Such a pop writes no check point. Its handles name the revive queue `wire.pop_handle.ORDER_REVIVE_QUEUE`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from rocketwire.server.core.errors import NotPermitted
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
    """

    queue: PopQueue
    attempt_id: str | None
    pop_time: int
    invisible_time: int
    offsets: Sequence[int]


class Ordered(Protocol):
    """Keeps which messages are out in order. All is called on the event loop and returns at once.

    The owner wakes waiting pops by `Polls.wake_queue` when a queue is free again: after an acknowledgement, or when the
    time of the messages that are out is up.
    """

    def blocks(self, queue: PopQueue, attempt_id: str | None, invisible_time: int) -> bool:
        """Whether the queue gives nothing now to an attempt that wants its messages for so many ms."""
        ...

    def popped(self, batch: OrderedBatch) -> Sequence[OrderCount]:
        """Note a batch; how often its messages were consumed before, for the answer.

        The group's offset stays at the first message until all are acknowledged.
        """
        ...

    def ack(self, queue: PopQueue, offset: int, pop_time: int, invisible_time: int) -> None:
        """Acknowledge a message; when it was the last of its batch the group's offset moves on.

        Raises:
            ServerError: it is not out.
        """
        ...

    def change(self, queue: PopQueue, offset: int, pop_time: int, visible_at: int) -> None:
        """Keep a message until another time, in ms since 1970; nothing is done for one that is not out."""
        ...


class NotServed:
    """Stands where nothing keeps what is taken in order: such pops are refused."""

    def blocks(self, queue: PopQueue, _attempt_id: str | None, _invisible_time: int) -> bool:
        """Refuse a pop."""
        raise _refusal(queue)

    def popped(self, batch: OrderedBatch) -> Sequence[OrderCount]:
        """Refuse a pop."""
        raise _refusal(batch.queue)

    def ack(self, queue: PopQueue, _offset: int, _pop_time: int, _invisible_time: int) -> None:
        """Refuse an acknowledgement."""
        raise _refusal(queue)

    def change(self, queue: PopQueue, _offset: int, _pop_time: int, _visible_at: int) -> None:
        """Refuse a change."""
        raise _refusal(queue)


def _refusal(queue: PopQueue) -> NotPermitted:
    return NotPermitted(f"the topic[{queue.topic}] pop message in order is forbidden")
