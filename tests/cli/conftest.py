"""Commands in tests are not watched: what a busy machine makes slow must print nothing more."""

from __future__ import annotations

import pytest

from rocketwire.cli.waiting import waits


@pytest.fixture(autouse=True)
def _waits_are_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "seconds", 1e9)
