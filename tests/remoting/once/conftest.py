from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.remoting.once.support import SOURCES, Shop


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    made = Shop(tmp_path)
    yield made
    made.close()


@pytest.fixture(params=sorted(SOURCES))
def source(request: pytest.FixtureRequest, shop: Shop) -> Any:
    return SOURCES[request.param](shop)
