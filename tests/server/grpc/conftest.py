from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.grpc.sdk import Sdk
from tests.server.harness import Client, Server


@pytest.fixture
def sdk(server: Server, broker: Client) -> Iterator[Sdk]:
    """A connection of a 5.x client to a broker that has the topic T with two queues."""
    assert broker is not None
    with Sdk(server.broker_address) as connection:
        yield connection
