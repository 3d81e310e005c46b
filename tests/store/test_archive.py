"""Programs that import `rocketwire.store.archive`, the name of 0.1.0, find what it had."""

from __future__ import annotations

from importlib import import_module

import pytest

from rocketwire.store import archive
from rocketwire.store.offline.read import directory


@pytest.mark.parametrize("module", sorted(archive._FORMER))
def test_former_names_lead_to_the_present_ones(module: str) -> None:
    former, present = (import_module(f"rocketwire.store.{each}.{module}") for each in ("archive", "offline"))
    for name, now in archive._FORMER[module].items():
        assert getattr(former, name) is getattr(present, now)


def test_a_name_that_did_not_change_exists_too() -> None:
    former = import_module("rocketwire.store.archive.read.directory")
    assert former.discover is directory.discover
    with pytest.raises(AttributeError):
        former.nothing_of_the_kind  # noqa: B018
