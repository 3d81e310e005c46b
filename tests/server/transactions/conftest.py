from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.transactions.setup import Setup


@pytest.fixture
def setup(tmp_path: Path) -> Iterator[Setup]:
    made = Setup(tmp_path / "store")
    yield made
    made.close()
