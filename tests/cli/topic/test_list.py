"""`topic list` against a real server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.endpoint import Command, real_endpoint
from tests.cli.store.support import Ran


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[..., Ran]]:
    with real_endpoint(tmp_path) as endpoint:
        yield Command(capsys, str(endpoint.name_server))


def test_all_names_are_listed(run: Callable[..., Ran]) -> None:
    ran = run("topic", "list")
    assert (ran.code, ran.err) == (0, "")
    assert "TBW102" in ran.out.splitlines()
    assert {"topic": "TBW102"} in run("topic", "list", "--json").objects
