"""The topics of a cluster, as a proxy asks for them."""

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
        self.questions = 0

    async def route(self, _topic: str) -> None:
        """Ask for a route."""
        self.questions += 1
        for _ in range(20):
            await trio.lowlevel.checkpoint()
        if self.error is not None:
            raise self.error


@pytest.mark.parametrize("error", [None, UpstreamConnectionError("nobody answers")])
async def test_thousands_who_wait_for_a_topic_share_the_answer_one_after_the_other(
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
    assert found == [False if error is None else "nobody answers"] * 1000
    assert cluster.questions <= 2  # a second for those who came after the first was sent
    assert most <= 2
