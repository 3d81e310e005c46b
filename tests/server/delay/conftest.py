from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.delay.support import Delays


@pytest.fixture
def delays(tmp_path: Path) -> Iterator[Delays]:
    """A store without messages, and its delivery of delayed messages."""
    made = Delays(tmp_path)
    yield made
    made.stop()
