"""Marks the tests that `make test` leaves to `make test-all`: those that a list names.

Each line of a list is a pattern of node ids in which `*` stands for any text; `#` begins a comment. They are in lists,
not markers in the tests: what all tests take together decides which are worth the time of every run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest


def patterns(text: str) -> dict[str, re.Pattern[str]]:
    """The patterns of a list, by their lines; the last bracket of a node id may be omitted, or all its parameters."""
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return {line: re.compile(_expression(line), re.DOTALL) for line in lines if line}


def _expression(line: str) -> str:
    start = ".*".join(re.escape(part) for part in line.split("*"))
    return start + (r"\]?" if "[" in line else r"(\[.*)?")


def _may_name(line: str, path: str) -> bool:
    """Whether a pattern may name tests of a file: it begins alike, up to the first `*`."""
    start = line.partition("*")[0].partition("::")[0]
    return path.startswith(start)


class Marks:
    """A plugin of pytest that marks the tests of one list `wide`.

    A pattern that names no test is an error, if all tests of its file are collected.
    """

    def __init__(self, listed: Path) -> None:
        """`listed`: the list; its tests are those of its folder."""
        self._listed = listed
        self._wanted = patterns(listed.read_text("utf-8"))

    @pytest.hookimpl(tryfirst=True)  # before `-m` selects
    def pytest_collection_modifyitems(self, config: pytest.Config, items: Sequence[pytest.Item]) -> None:
        """Mark the tests.

        Raises:
            pytest.UsageError: a pattern names no test.
        """
        unused = dict(self._wanted)
        by_file: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
        for item in items:
            node = item.nodeid
            path = node.partition("::")[0]
            of_file = by_file.get(path)
            if of_file is None:
                of_file = by_file[path] = [each for each in self._wanted.items() if _may_name(each[0], path)]
            for line, pattern in of_file:
                if pattern.fullmatch(node):
                    unused.pop(line, None)
                    item.add_marker("wide")
        if any("::" in argument for argument in config.args):
            return
        files = {item.nodeid.partition("::")[0] for item in items}
        wrong = [line for line in unused if line.partition("::")[0] in files]
        if wrong:
            message = f"{self._listed.name}: no test has the id {wrong[0]}"
            raise pytest.UsageError(message)
