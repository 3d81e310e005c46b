"""The topics of a cluster, as a proxy queries them."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from rocketwire.server.remote_calls.topics import RemoteTopics
from rocketwire.server.upstream.connecting import UpstreamConnectionError
from tests.server.harness import mock_clock


class SlowCluster:
    """Answers after some passes of the event loop, with no route or with an error."""

    def __init__(self, error: UpstreamConnectionError | None) -> None:
        self.error = error
        self.queries = 0

    async def route(self, _topic: str) -> None:
        """Query a route."""
        self.queries += 1
        for _ in range(20):
            await trio.lowlevel.checkpoint()
        if self.error is not None:
            raise self.error


@pytest.mark.parametrize("error", [None, UpstreamConnectionError("no answer")])
async def test_thousands_of_calls_that_wait_for_a_topic_share_the_answer_in_steps(
    error: UpstreamConnectionError | None,
) -> None:
    cluster: Any = SlowCluster(error)
    topics = RemoteTopics(cluster, None)  # type: ignore[arg-type] # no connection is needed
    found: list[object] = []
    most = 0

    async def load() -> None:
        try:
            found.append(await topics.load("T"))
        except UpstreamConnectionError as problem:
            found.append(str(problem))

    async with trio.open_nursery() as nursery:
        for _ in range(1000):
            nursery.start_soon(load)
        while len(found) < 1000:
            before = len(found)
            await trio.lowlevel.checkpoint()
            most = max(most, len(found) - before)
    assert found == [False if error is None else "no answer"] * 1000
    assert cluster.queries <= 2  # a second one for the calls that came after the first was sent
    assert most <= 2


class Lines:
    """Runs tasks."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self._nursery = nursery

    def start(self, task: Any, *args: Any) -> bool:
        """Run one."""
        self._nursery.start_soon(task, *args)
        return True


@pytest.mark.parametrize("topic_count", [1, 4])
async def test_calls_that_wait_for_topics_continue_a_few_in_each_pass_of_the_loop(topic_count: int) -> None:
    """Each call may produce an answer with thousands of queues."""
    results: list[object] = []

    def done(*, found: bool | UpstreamConnectionError) -> None:
        results.append(found)
        mock_clock().jump(0.05)

    cluster: Any = SlowCluster(None)
    async with trio.open_nursery() as nursery:
        topics = RemoteTopics(cluster, Lines(nursery))  # type: ignore[arg-type] # it only starts tasks
        for number in range(20):
            assert topics.when_loaded(f"T{number % topic_count}", done)
        while len(results) < 20:
            before = len(results)
            await trio.lowlevel.checkpoint()
            assert len(results) - before <= 2  # a task may run before this one and after it
    assert results == [False] * 20
    assert cluster.queries == topic_count
    assert not topics.is_fresh("T0")
