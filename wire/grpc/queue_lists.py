"""The payloads of answers that list queues, without an object for each: a topic may have 16,384."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from rocketwire.wire.grpc.definition_pb2 import Assignment, MessageQueue

# A field begins with its number and, in the lower three bits, the form of its value.
_LISTED: Final = b"\x12"  # of QueryRouteResponse and QueryAssignmentResponse
_QUEUE: Final = b"\x0a"  # of Assignment
_ID: Final = b"\x10"  # of MessageQueue


def varint(value: int) -> bytes:
    """A number that is not negative, as protobuf writes it: seven bits a byte, the lowest first."""
    if value < 0x80:
        return bytes([value])
    return bytes([value & 0x7F | 0x80]) + varint(value >> 7)


class QueueRun(NamedTuple):
    """Queues of one broker that differ in their ids only.

    Attributes:
        queue: One of them, without an id.
        first: The first id.
        queues: How many there are.
    """

    queue: MessageQueue
    first: int
    queues: int

    @property
    def least(self) -> int:
        """How many bytes they take at least."""
        return self.queues * self.queue.ByteSize()

    def payloads(self) -> Iterator[bytes]:
        """Each queue, with its id."""
        start = self.queue.SerializeToString() + _ID
        for each in range(self.first, self.first + self.queues):
            yield start + varint(each)


def listed_queues(runs: Iterable[QueueRun]) -> Iterator[bytes]:
    """Each queue as a field of a QueryRouteResponse."""
    for run in runs:
        for queue in run.payloads():
            yield _LISTED + varint(len(queue)) + queue


def listed_assignments(run: QueueRun) -> Iterator[bytes]:
    """Each queue as a field of a QueryAssignmentResponse."""
    for queue in run.payloads():
        inner = _QUEUE + varint(len(queue))
        yield _LISTED + varint(len(inner) + len(queue)) + inner + queue


def listed_assignment(queue: MessageQueue) -> bytes:
    """One queue, with its id, as such a field."""
    data = Assignment(message_queue=queue).SerializeToString()
    return _LISTED + varint(len(data)) + data
