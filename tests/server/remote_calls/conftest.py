from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.server.grpc.sdk import Sdk
from tests.server.harness import Client, Server
from tests.server.remote_calls.proxied import Proxy, proxying


@pytest.fixture
async def proxy(server: Server, broker: Client) -> AsyncIterator[Proxy]:
    """A proxy before one broker that has the topic T with two queues."""
    assert broker is not None
    async with proxying(server.name_server_address, clock=server.clock) as running:
        yield running


@pytest.fixture
async def sdk(proxy: Proxy) -> AsyncIterator[Sdk]:
    """A connection of a 5.x client to it."""
    with Sdk(proxy.address) as connection:
        yield connection
