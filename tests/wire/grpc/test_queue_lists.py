"""Lists of queues are written as protobuf reads them."""

from __future__ import annotations

from typing import Final

import pytest

from rocketwire.wire.grpc import definition_pb2 as d
from rocketwire.wire.grpc import service_pb2 as s
from rocketwire.wire.grpc.queue_lists import QueueRun, listed_assignment, listed_assignments, listed_queues

QUEUE: Final = d.MessageQueue(
    topic=d.Resource(name="T"),
    permission=d.READ_WRITE,
    broker=d.Broker(name="a", endpoints=d.Endpoints(scheme=d.IPv4, addresses=[d.Address(host="h" * 100, port=1)])),
    accept_message_types=[d.NORMAL, d.FIFO],
)


def numbered(queue: int) -> d.MessageQueue:
    found = d.MessageQueue()
    found.CopyFrom(QUEUE)
    found.id = queue
    return found


@pytest.mark.parametrize(("first", "count"), [(0, 0), (0, 3), (126, 3), (1023, 2), (16_383, 2), (0, 20_000)])
def test_queues_have_their_ids(first: int, count: int) -> None:
    run = QueueRun(QUEUE, first, count)
    expected = [numbered(each) for each in range(first, first + count)]
    fields = list(listed_queues([run, QueueRun(QUEUE, 7, 1)]))
    assert s.QueryRouteResponse.FromString(b"".join(fields)).message_queues == [*expected, numbered(7)]
    assert len(fields) == count + 1
    assignments = s.QueryAssignmentResponse.FromString(b"".join(listed_assignments(run))).assignments
    assert [each.message_queue for each in assignments] == expected
    assert run.least <= sum(map(len, fields))


def test_any_queue_is_a_negative_number() -> None:
    answer = s.QueryAssignmentResponse.FromString(listed_assignment(numbered(-1)))
    assert answer.assignments == [d.Assignment(message_queue=numbered(-1))]
