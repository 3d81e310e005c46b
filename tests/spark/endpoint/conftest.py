from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.endpoint import real_endpoint


@pytest.fixture(scope="module")
def namesrv(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name server's address of a running endpoint."""
    with real_endpoint(tmp_path_factory.mktemp("store")) as addresses:
        yield str(addresses.name_server)
