"""The lists of tests that `make test` leaves to `make test-all`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.wide_tests import Marks, patterns


@pytest.mark.parametrize(
    ("line", "node", "named"),
    [
        ("tests/test_a.py::test_b", "tests/test_a.py::test_b", True),
        ("tests/test_a.py::test_b", "tests/test_a.py::test_b[1]", True),
        ("tests/test_a.py::test_b", "tests/test_a.py::test_bc", False),
        ("tests/test_a.py::test_b[1", "tests/test_a.py::test_b[1]", True),
        ("tests/test_a.py::test_b[1", "tests/test_a.py::test_b[10]", False),
        ("tests/test_a.py::test_b[*-2  # why", "tests/test_a.py::test_b[1-2]", True),
        ("tests/test_a.py::*[2*", "tests/test_a.py::test_b[2 of\n3]", True),
        ("tests/test_a.py::*", "tests/test_b.py::test_b", False),
    ],
)
def test_a_line_names_tests_by_their_ids(line: str, node: str, named: bool) -> None:
    (pattern,) = patterns(f"# all\n\n{line}\n").values()
    assert (pattern.fullmatch(node) is not None) is named


class Item:
    """A collected test, as far as it matters here."""

    def __init__(self, nodeid: str) -> None:
        self.nodeid = nodeid
        self.marked = False

    def add_marker(self, _name: str) -> None:
        self.marked = True


def collected(listed: Path, *items: Item, arguments: Sequence[str] = ("tests",)) -> list[bool]:
    """Which items a list marks."""
    config: Any = SimpleNamespace(args=list(arguments))
    found: Any = items
    Marks(listed).pytest_collection_modifyitems(config, found)
    return [item.marked for item in items]


def test_a_line_that_names_nothing_is_an_error(tmp_path: Path) -> None:
    listed = tmp_path / "wide_tests.txt"
    items = Item("tests/test_a.py::test_a"), Item("tests/test_a.py::test_b")
    listed.write_text("tests/test_a.py::test_a\ntests/test_of_another_run.py::test_c\n")
    assert collected(listed, *items) == [True, False]
    listed.write_text("tests/test_a.py::test_c\n")
    with pytest.raises(
        pytest.UsageError, match=re.escape("wide_tests.txt: no test has the id tests/test_a.py::test_c")
    ):
        collected(listed, *items)
    assert collected(listed, Item("tests/test_a.py::test_a"), arguments=["tests/test_a.py::test_a"]) == [False]
