from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from tests.cli.timer.support import Command
from tests.store.conftest import golden_550

__all__ = ["golden_550"]


@pytest.fixture
def timer(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Command]:
    """Makes the command of the arguments with the place to read."""
    return partial(Command, capsys, monkeypatch)
