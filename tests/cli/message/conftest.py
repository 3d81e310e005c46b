"""A real server that the tests of one file share, and topics of each test's own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.endpoint import Addresses, Command, real_endpoint
from tests.cli.message.support import Rocketwire
from tests.server.processes import Caller


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Addresses]:
    with real_endpoint(tmp_path_factory.mktemp("send")) as addresses:
        yield addresses


@pytest.fixture
def run(endpoint: Addresses, capsys: pytest.CaptureFixture[str]) -> Rocketwire:
    return Command(capsys, str(endpoint.name_server))


@pytest.fixture
def topic(endpoint: Addresses, request: pytest.FixtureRequest) -> str:
    """A topic of two queues of the test's own."""
    name = str(request.node.name).partition("[")[0][:100]
    with Caller(str(endpoint.broker)) as caller:
        caller.create_topic(name, 2)
    return name
