from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.server.timer.support import Timers


@pytest.fixture
async def timers(tmp_path: Path) -> AsyncIterator[Timers]:
    """A running timer over a store without messages."""
    async with Timers.started(tmp_path) as timers:
        yield timers
