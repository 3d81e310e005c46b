"""Pulls of many queues, one of which is dropped meanwhile."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from rocketwire.remoting.core.client import ClientCore
from rocketwire.remoting.core.fetching import QueueFetcher
from rocketwire.remoting.core.incoming import decode_messages
from rocketwire.remoting.core.steps import Operation, RemoteServer
from rocketwire.remoting.errors import NotReached
from rocketwire.remoting.messages import Queue
from rocketwire.remoting.requests import pull_header
from rocketwire.wire.facts.codes import PullSysFlag

FIRST, SECOND = (Queue(topic="T", broker="a", queue_id=number) for number in range(2))


def test_a_queue_that_is_dropped_while_another_ones_pull_is_sent_is_not_pulled() -> None:
    """As a rebalance does: the check for room knows the queue no longer."""
    requested = []

    def located(queue: Queue) -> Operation[RemoteServer]:
        yield from ()
        fetching.drop(SECOND)
        raise NotReached("broker a", f"queue {queue.queue_id}")

    def has_room(queue: Queue) -> bool:
        requested.append(queue)
        return True

    around = SimpleNamespace(new_signal=lambda: SimpleNamespace(set=lambda: None), monotonic=lambda: 0.0)
    client: Any = SimpleNamespace(runtime=around, broker_of=located, expire_route=lambda _: None)
    fetching = QueueFetcher(cast("ClientCore", client), {}, most=1, with_subscription=True, decode=decode_messages)
    fetching.seek(FIRST, 0)
    fetching.seek(SECOND, 0)
    fetch = fetching.fetch(1.0, has_room)
    try:
        while True:
            next(fetch)
    except StopIteration as ended:
        found = ended.value
    assert requested == [FIRST]
    assert [each.queue for each in found] == [FIRST]


def test_it_requests_all_and_neither_waits_nor_commits() -> None:
    header = pull_header("T", 3, 70, most=32, group="G")
    assert (header.topic, header.queue_id, header.queue_offset) == ("T", 3, 70)
    assert (header.max_msg_nums, header.consumer_group) == (32, "G")
    assert (header.subscription, header.expression_type) == ("*", "TAG")
    assert header.sys_flag == PullSysFlag.SUBSCRIPTION
    assert (header.commit_offset, header.suspend_timeout_millis) == (0, 0)
