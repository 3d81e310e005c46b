"""Divides a read into tasks: ranges of queues of one broker each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from pyspark.sql.datasource import InputPartition

from rocketwire.spark.stream.offsets import BrokerQueue, Ranges


class PullRange(NamedTuple):
    """Messages of one queue, from the queue offset `first` up to, not including, `end`."""

    queue: BrokerQueue
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class BrokerPart(InputPartition):
    """The ranges that one task pulls, all from one broker."""

    broker: str
    spans: tuple[PullRange, ...]


def plan(ranges: Ranges, *, size: int, max_bytes: int, min_partitions: int) -> list[BrokerPart]:
    """Tasks that pull all of the ranges, each message once.

    Args:
        ranges: Of each queue.
        size: Bytes of a message, about.
        max_bytes: A task pulls not more than so many, about.
        min_partitions: There are no fewer tasks, if there are so many messages.
    """
    total = sum(end - first for first, end in ranges.values())
    count = min(total, max(min_partitions, -(-total // max(1, max_bytes // size))))
    parts: list[BrokerPart] = []
    taken: list[PullRange] = []
    passed, number = 0, 1
    for queue in sorted(ranges):
        first, end = ranges[queue]
        if taken and taken[0].queue.broker != queue.broker:
            parts.append(_part(taken))
            taken = []
        while first < end:
            # The messages of all ranges in their order are cut into tasks of equal size, and at the end of each broker.
            edge = number * total // count
            until = min(end, first + edge - passed)
            taken.append(PullRange(queue, first, until))
            passed += until - first
            first = until
            if passed == edge:
                number += 1
                parts.append(_part(taken))
                taken = []
    return [*parts, _part(taken)] if taken else parts


def _part(spans: list[PullRange]) -> BrokerPart:
    return BrokerPart(spans[0].queue.broker, tuple(spans))
