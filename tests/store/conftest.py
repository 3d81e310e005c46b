from __future__ import annotations

import pytest

from tests.store.support import Golden, close_stores, store

__all__ = ["close_stores", "store"]


@pytest.fixture(scope="session")
def golden_497(tmp_path_factory: pytest.TempPathFactory) -> Golden:
    return Golden("4.9.7", tmp_path_factory.mktemp("golden"))


@pytest.fixture(scope="session")
def golden_550(tmp_path_factory: pytest.TempPathFactory) -> Golden:
    return Golden("5.5.0", tmp_path_factory.mktemp("golden"))
