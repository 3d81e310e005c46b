from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import trio.testing

from tests.server.harness import Client, Server, serving


@pytest.fixture(autouse=True, scope="session")
def collector_left_alone() -> Iterator[None]:
    """The server tunes the garbage collector of its process: not of the tests'."""
    patch = pytest.MonkeyPatch()
    nothing = SimpleNamespace(collect=lambda: 0, freeze=lambda: None, set_threshold=lambda *_: None)
    patch.setattr("rocketwire.server.__main__.gc", nothing)
    yield
    patch.undo()


@pytest.fixture
async def server(tmp_path: Path, mock_clock: trio.testing.MockClock) -> AsyncIterator[Server]:
    async with serving(tmp_path / "store", mock_clock) as running:
        yield running


@pytest.fixture
async def broker(server: Server) -> Client:
    """A connection to a broker that has the topic T with two queues."""
    client = server.broker()
    await client.create_topic("T", 2)
    return client


@pytest.fixture
async def name_server(server: Server) -> Client:
    return server.name_server()
