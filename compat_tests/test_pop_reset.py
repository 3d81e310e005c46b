"""A group whose remoting consumer pops is set back: all is redelivered, once, as in Apache's OffsetResetForPopIT."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from compat_tests.endpoints import TARGETS
from compat_tests.opened import opened
from rocketwire.compat.brokers.endpoint import running
from rocketwire.compat.case import Case
from rocketwire.compat.clients.client import events
from rocketwire.compat.endpoint import Access
from rocketwire.compat.messages import Event, Outgoing
from rocketwire.compat.scenarios.pop import QUICK, pops
from rocketwire.remoting.admin.offsets import reset_queue, reset_to_time

_COUNT: Final = 20
_QUIET: Final = 15_000  # ms


def set_back(case: Case, topic: str, group: str, *, by_queue: bool) -> None:
    """Set a group to the beginning: all queues by a time, or each to its offset 0 as tools of 5.x do."""
    with case.endpoint.access.cluster() as cluster:
        for broker in cluster.brokers_of(topic).values():
            if by_queue:
                assert [reset_queue(broker, group, topic, number, 0) for number in range(2)] != [None, None]
            else:
                assert reset_to_time(broker, group, topic, 0) is not None


@pytest.mark.parametrize("by_queue", [False, True], ids=["to a time", "each queue"])
@pytest.mark.parametrize("kind", ["rocketwire", "apache-5.5.0"])
@pytest.mark.parametrize("online", [True, False], ids=["while it consumes", "while it is away"])
def test_all_is_redelivered_once(tmp_path: Path, kind: str, *, online: bool, by_queue: bool) -> None:
    with (
        running(TARGETS[kind](tmp_path / "endpoint")) as endpoint,
        opened("java-5.5.0", Access(namesrv=endpoint.namesrv), QUICK) as case,
    ):
        topic, group = case.topic(2), case.group()
        pops(case, topic, group)
        bodies = [f"message {number}" for number in range(_COUNT)]
        case.client.run("SendSync", topic=topic, message=[Outgoing(body=body) for body in bodies])
        got: Counter[str] = Counter()

        def take(event: Event) -> None:
            if event["event"] == "received":
                got[event["text"]] += 1
                if online and got.total() == _COUNT:
                    set_back(case, topic, group, by_queue=by_queue)

        def consume(count: int, watch: Callable[[Event], None] | None = None) -> list[Event]:
            reported = {"topic": topic, "group": group, "rebalance": "broker"}
            found = case.client.run("PushConcurrent", reported, count=count, settle=_QUIET, watch=watch)
            return events(found, "received")

        received = consume(2 * _COUNT if online else _COUNT, watch=take if online else None)
        if not online:
            assert Counter(event["text"] for event in received) == Counter(bodies)
            time.sleep(1)
            set_back(case, topic, group, by_queue=by_queue)
            received += consume(_COUNT)
        assert Counter(event["text"] for event in received) == Counter(bodies * 2)
