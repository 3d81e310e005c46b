from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.server.pop.rooms import PopTimers


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[PopTimers]:
    """POP over an empty store; its timer runs."""
    async with PopTimers.started(tmp_path) as room:
        yield room


@pytest.fixture
async def filled_room(tmp_path: Path) -> AsyncIterator[PopTimers]:
    """The same, with the messages m0 to m4 in T."""
    async with PopTimers.started(tmp_path) as room:
        for number in range(5):
            assert room.put(b"m%d" % number)
        yield room
