"""A real server for the tests of the client, and both front ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.endpoint import Addresses, real_endpoint
from tests.remoting.front_ends import FRONT_ENDS


@pytest.fixture(params=FRONT_ENDS, ids=lambda each: each.name)
def front_end(request: pytest.FixtureRequest) -> Any:
    """Each front end."""
    return request.param


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Addresses]:
    """The server that the tests of a file share."""
    with real_endpoint(tmp_path_factory.mktemp("store")) as addresses:
        yield addresses
