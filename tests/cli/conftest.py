"""Commands in tests are not watched: what a busy machine makes slow must print nothing more. Nor have they profiles."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rocketwire.cli.waiting import waits
from tests.cli.administered import Administered, administered


@pytest.fixture(autouse=True)
def _waits_are_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "seconds", 1e9)


@pytest.fixture(autouse=True)
def _no_profile_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-profiles"))


@pytest.fixture
def endpoint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Administered]:
    """A real server for the administration commands."""
    with administered(tmp_path / "store", capsys) as started:
        yield started
