"""Check points and acknowledgements of one revive queue."""

from __future__ import annotations

import gc

from rocketwire.server.pop.reviving.pending_check_points import NONE, PendingCheckPoint, PendingCheckPoints
from rocketwire.wire.pop_records import Ack, CheckPoint, batch_ack


def point(
    start: int = 0, count: int = 3, *, pop_time: int = 100, invisible_time: int = 10, bits: int = 0
) -> CheckPoint:
    return CheckPoint(
        topic="T",
        group="G",
        start_offset=start,
        offset_differences=tuple(range(count)),
        pop_time=pop_time,
        invisible_time=invisible_time,
        broker="b",
        count=count,
        bit_map=bits,
    )


def ack(start: int, offset: int, *, pop_time: int = 100, broker: str | None = "b") -> Ack:
    return Ack(topic="T", group="G", start_offset=start, offset=offset, pop_time=pop_time, broker=broker)


def take_due(points: PendingCheckPoints, until: int) -> list[PendingCheckPoint]:
    found = []
    while (pending := points.take_due(until)) is not None:
        found.append(pending)
    return found


def test_the_garbage_collector_has_nothing_to_examine() -> None:
    """It would stop the event loop for 7 ms for each 10,000 check points."""
    points = PendingCheckPoints(NONE, "b")
    points.add(point(0), 0, 7)
    (pending,) = take_due(points, 110)
    held = (pending, pending.point, pending.unacked, pending.point.key("b"))
    assert not any(map(gc.is_tracked, held))


def test_acknowledged_messages_are_omitted() -> None:
    points = PendingCheckPoints(NONE, "b")
    points.add(point(0), 0, 7)
    points.ack(ack(0, 1))
    points.ack(batch_ack(ack(0, 0), [2, 9]))
    assert points.next_due == 110
    assert take_due(points, 109) == []
    (pending,) = take_due(points, 110)
    assert list(pending.unacked) == [0]
    assert (pending.offset, pending.place, len(points)) == (0, 7, 1)


def test_a_message_may_be_acknowledged_before_its_check_point_is_read() -> None:
    points = PendingCheckPoints(NONE, "b")
    points.add(point(5, bits=0b101), 0, 0)
    (pending,) = take_due(points, 110)
    assert list(pending.unacked) == [6]


def test_acknowledgements_of_other_check_points_have_no_effect() -> None:
    points = PendingCheckPoints(NONE, "b")
    points.add(point(0), 0, 0)
    for other in (ack(1, 1), ack(0, 1, pop_time=99), ack(0, 1, broker="c")):
        points.ack(other)
    (pending,) = take_due(points, 110)
    assert list(pending.unacked) == [0, 1, 2]
    points.ack(ack(0, 1, broker=None))  # of this broker
    assert list(pending.unacked) == [0, 2]


def test_a_check_point_that_is_read_twice_is_processed_once() -> None:
    points = PendingCheckPoints(NONE, "b")
    points.add(point(0), 0, 0)
    points.add(point(0), 1, 0)
    points.ack(ack(0, 1))
    first, second = take_due(points, 110)
    assert list(first.unacked) == [0, 2]
    assert not second.unacked
    points.finish(second)
    assert points.committed == NONE
    points.finish(first)
    assert (points.committed, len(points)) == (1, 0)


def test_the_offset_passes_finished_check_points_in_the_order_of_the_queue() -> None:
    points = PendingCheckPoints(4, "b")
    assert points.read_to == 5
    points.add(point(0, invisible_time=30), 5, 0)
    points.add(point(3, invisible_time=10), 6, 0)
    points.add(point(6, invisible_time=20), 8, 0)
    soon, later, last = take_due(points, 200)
    assert [each.offset for each in (soon, later, last)] == [6, 8, 5]
    points.finish(soon)
    assert points.committed == 4
    points.finish(last)
    assert points.committed == 6
    points.finish(later)
    assert points.committed == 8
    assert points.next_due is None


def test_a_postponed_check_point_is_due_later() -> None:
    points = PendingCheckPoints(NONE, "b")
    points.add(point(0), 0, 0)
    (pending,) = take_due(points, 110)
    points.postpone(pending, 150)
    assert take_due(points, 149) == []
    assert take_due(points, 150) == [pending]
