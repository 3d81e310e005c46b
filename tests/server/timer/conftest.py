from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.server.timer.support import Timers


@pytest.fixture
async def timers(tmp_path: Path) -> AsyncIterator[Timers]:
    """A timer that runs, over an empty store."""
    async with Timers.started(tmp_path) as timers:
        yield timers
