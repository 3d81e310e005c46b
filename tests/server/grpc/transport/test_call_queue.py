"""The queue of a connection's calls: when calls are served, and when by a task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from rocketwire.server.grpc.transport.call_queue import CallQueue
from rocketwire.wire.http2.events import CALL, ENDED, Event

CALLS: list[Event] = [(CALL, stream, "/s/m", {}, b"12") for stream in (1, 3, 5)]


class Served:
    """Records the actions of a queue; each call becomes one request."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.scheduled = 0
        self.waits = False
        self.most = 100
        self.queue = CallQueue(
            handle=self.handle, serve_requests=self.serve, waits=lambda: self.waits, schedule=self.schedule
        )

    def handle(self, event: Event) -> int:
        self.done.append(event[1])
        if event[0] == CALL:
            self.queue.add_requests([f"of {event[1]}"])  # type: ignore[list-item]
        return 1

    def serve(self, requests: Sequence[Any]) -> int:
        served = requests[: self.most]
        self.done.append(list(served))
        return len(served)

    def schedule(self) -> None:
        self.scheduled += 1


@pytest.fixture
def served(autojump_clock: object) -> Served:
    del autojump_clock
    return Served()


async def test_the_requests_of_all_calls_are_served_together(served: Served) -> None:
    served.queue.add_events(CALLS)
    assert served.queue.size == 3 * (256 + 2)
    served.queue.serve()
    assert served.done == [1, 3, 5, ["of 1", "of 3", "of 5"]]
    assert (served.queue.size, served.scheduled, bool(served.queue)) == (0, 0, False)


async def test_one_task_serves_requests_that_come_while_nothing_is_served(served: Served) -> None:
    for _ in range(2):
        served.queue.add_requests(["late"])  # type: ignore[list-item]
        served.queue.wake()
        assert served.scheduled == 1
    served.queue.serve()
    served.queue.wake()
    assert (served.done, served.scheduled) == ([["late", "late"]], 2)


async def test_calls_wait_for_a_client_that_does_not_read_and_ends_do_not(served: Served) -> None:
    served.queue.add_events([(ENDED, 7), *CALLS])
    served.waits = True
    served.queue.serve()
    assert served.done == [7]
    assert served.queue
    assert not served.queue.may_be_served
    served.waits = False
    assert served.queue.may_be_served


async def test_a_pause_postpones_the_other_requests(served: Served) -> None:
    served.most = 2
    served.queue.add_events(CALLS)
    served.queue.serve()
    served.queue.serve()
    assert served.done == [1, 3, 5, ["of 1", "of 3"], ["of 5"]]
