from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.delay.support import Delays


@pytest.fixture
def delays(tmp_path: Path) -> Iterator[Delays]:
    """The delivery of delayed messages, over an empty store."""
    made = Delays(tmp_path)
    yield made
    made.stop()
