"""Queues that other servers tell, within what a topic may have."""

from __future__ import annotations

import pytest

from rocketwire.server.topics.topics import MOST_QUEUES
from rocketwire.server.upstream.usable_queues import MOST_IN_ALL, usable_queues
from rocketwire.wire.bodies.route import QueueData


def queues(broker: str, read: int, write: int = 0) -> QueueData:
    return QueueData(broker_name=broker, read_queue_nums=read, write_queue_nums=write, perm=6)


def test_numbers_are_those_that_a_topic_may_have() -> None:
    told = [queues("a", 4, 8), queues("b", -1, (1 << 31) - 1)]
    assert usable_queues("T", told) == [queues("a", 4, 8), queues("b", 0, MOST_QUEUES)]


def test_a_broker_has_them_once() -> None:
    assert usable_queues("T", [queues("a", 4), queues("a", 5)]) == [queues("a", 4)]


def test_all_brokers_together_have_so_many(caplog: pytest.LogCaptureFixture) -> None:
    told = [queues(str(number), MOST_QUEUES) for number in range(100)]
    assert sum(each.read_queue_nums for each in usable_queues("T", told)) == MOST_IN_ALL
    assert len(caplog.records) == 1
