from __future__ import annotations

from pathlib import Path

import pytest

from tests.store.timer.timers import Timers


@pytest.fixture
def timers(tmp_path: Path) -> Timers:
    return Timers(tmp_path)
