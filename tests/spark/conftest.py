"""The golden stores."""

from __future__ import annotations

import pytest

from tests.store.support import Golden


@pytest.fixture(scope="session", params=["4.9.7", "5.5.0"])
def golden(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Golden:
    """A store that a real broker wrote."""
    return Golden(request.param, tmp_path_factory.mktemp("golden"))
