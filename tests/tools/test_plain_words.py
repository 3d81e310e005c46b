"""Words of the stop list are found where they stand for readers, and no file has one."""

from __future__ import annotations

import pytest

from tools.plain_words import findings, lines


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('raise CommandError(f"{option}: allowed is HOST:PORT")', ["allowed is "]),
        ("# The table is made Anew.", ["Anew"]),
        ("def lets_others(self) -> bool:", ["lets_others"]),
        ("What is allowed stands in the docs.", []),
        ("canewood", []),
    ],
)
def test_a_word_is_found_wherever_it_stands(line: str, found: list[str]) -> None:
    assert [word for word, _ in findings("server/a.py", line)] == found


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("docs/pop.md", ["comes again", "told"]),
        ("README.md", ["comes again", "told"]),
        ("CHANGELOG.md", []),
        ("server/a.py", []),
    ],
)
def test_pages_have_more_words_to_avoid(name: str, found: list[str]) -> None:
    line = "A message comes again until the broker is told otherwise."
    assert [word for word, _ in findings(name, line)] == found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("self._told = asked", ["_told", "asked"]),
        ("def test_a_pull_is_given_up() -> None:", ["_given_up"]),
        ("/* Nobody waits for ever. */", ["Nobody", "for ever"]),
        ("answer = connection.ask(request)", []),
    ],
)
def test_code_of_some_folders_has_more_words_to_avoid(line: str, found: list[str]) -> None:
    for name in ("store/store.py", "kernel/relay/relay.h", "tests/wire/test_batch.py"):
        assert [word for word, _ in findings(name, line)] == found
    assert list(findings("server/a.py", line)) == []


def test_a_file_may_quote_what_the_program_prints() -> None:
    line = "| popped messages that come again | 815,285 |"
    assert list(findings("docs/benchmarks.md", line)) == []
    assert list(findings("bench/backlogs.py", line)) == []
    assert [word for word, _ in findings("docs/operating.md", line)] == ["come again"]
    assert [word for word, _ in findings("bench/report.py", line)] == ["come again"]


def test_every_tracked_text_is_read() -> None:
    names = {name for name, _, _ in lines()}
    assert {"README.md", "kernel/module.c", "server/registry.py", "docs/architecture.md"} <= names
