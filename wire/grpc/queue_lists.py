"""The payloads of answers that list queues, without an object for each: a topic may have 16,384."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from rocketwire.wire.grpc.definition_pb2 import Assignment, MessageQueue

# A field begins with its number and, in the lower three bits, the form of its value.
_LISTED: Final = b"\x12"  # of QueryRouteResponse and QueryAssignmentResponse
_QUEUE: Final = b"\x0a"  # of Assignment
_ID: Final = b"\x10"  # of MessageQueue
_BITS: Final = 7  # of a number in each byte
_TWO_BYTES: Final = 2


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

    def fields(self, head: Callable[[int], bytes]) -> Iterator[bytes]:
        """Each queue, with its id, behind a head that depends on its length only: many have the same."""
        start = self.queue.SerializeToString() + _ID
        at, end = self.first, self.first + self.queues
        while at < end:
            size = len(varint(at))
            until = min(end, 1 << _BITS * size)
            begin = head(len(start) + size) + start
            if size == _TWO_BYTES:  # of most queues of a long list
                yield from [begin + bytes((each & 0x7F | 0x80, each >> _BITS)) for each in range(at, until)]
            else:
                yield from [begin + varint(each) for each in range(at, until)]
            at = until


def listed_queues(runs: Iterable[QueueRun]) -> Iterator[bytes]:
    """Each queue as a field of a QueryRouteResponse."""
    for run in runs:
        yield from run.fields(lambda size: _LISTED + varint(size))


def listed_assignments(run: QueueRun) -> Iterator[bytes]:
    """Each queue as a field of a QueryAssignmentResponse."""

    def head(size: int) -> bytes:
        inner = _QUEUE + varint(size)
        return _LISTED + varint(len(inner) + size) + inner

    yield from run.fields(head)


def listed_assignment(queue: MessageQueue) -> bytes:
    """One queue, with its id, as such a field."""
    data = Assignment(message_queue=queue).SerializeToString()
    return _LISTED + varint(len(data)) + data
