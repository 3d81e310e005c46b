"""Renewed check points have one key: tests `server.pop.reviving.pending_check_points`."""

from __future__ import annotations

from rocketwire.server.pop.reviving.pending_check_points import PendingCheckPoints
from rocketwire.wire.pop_records import Ack, CheckPoint

NEVER = 10**15


def point(invisible_time: int = 60_000) -> CheckPoint:
    return CheckPoint(
        topic="T", group="G", start_offset=5, pop_time=1000, invisible_time=invisible_time, count=2, broker="B"
    )


def ack(offset: int) -> Ack:
    return Ack(topic="T", group="G", start_offset=5, pop_time=1000, broker="B", offset=offset)


def remaining(points: PendingCheckPoints) -> list[list[int]]:
    """The messages of each check point that are not acknowledged, the earliest first."""
    found = []
    while (pending := points.take_due(NEVER)) is not None:
        found.append(list(pending.unacked))
    return found


def test_an_acknowledgement_belongs_to_the_check_point_before_it() -> None:
    points = PendingCheckPoints(-1, "B")
    points.add(point(), 0, 100)
    points.ack(ack(5))
    points.ack(ack(6))  # by the broker, since it is renewed
    points.add(point(120_000), 1, 200)
    assert remaining(points) == [[], [5, 6]]


def test_later_acknowledgements_belong_to_the_renewed_check_point() -> None:
    points = PendingCheckPoints(-1, "B")
    points.add(point(), 0, 100)
    points.ack(ack(5))
    points.add(point(120_000), 1, 200)
    points.ack(ack(6))
    assert remaining(points) == [[6], [5]]


def test_a_message_that_was_delivered_twice_counts_once() -> None:
    points = PendingCheckPoints(-1, "B")
    points.add(point(), 0, 100)
    points.add(point(), 1, 100)
    assert remaining(points) == [[5, 6], []]


def test_all_check_points_are_finished_in_the_end() -> None:
    points = PendingCheckPoints(-1, "B")
    points.add(point(), 0, 100)
    first = points.take_due(NEVER)
    assert first is not None
    points.add(point(120_000), 1, 200)
    points.finish(first)
    assert points.committed == 0
    points.ack(ack(5))
    second = points.take_due(NEVER)
    assert second is not None
    assert list(second.unacked) == [6]
    points.finish(second)
    assert points.committed == 1
