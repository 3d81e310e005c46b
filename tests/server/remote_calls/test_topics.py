"""The topics of a cluster, as a proxy queries them."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from rocketwire.server.remote_calls.topics import RemoteTopics
from rocketwire.server.upstream.connecting import UpstreamConnectionError


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
