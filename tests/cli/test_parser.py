"""Mistyped commands and options, and abbreviations."""

from __future__ import annotations

import pytest

from rocketwire.cli import main


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The last line of what is said about a wrong command line."""
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    caught = capsys.readouterr()
    assert caught.out == ""
    return caught.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("serv", "rocketwire: error: unknown command serv; did you mean serve?"),
        ("store vrify DIR", "rocketwire store: error: unknown command vrify; did you mean verify?"),
        ("weather", "rocketwire: error: unknown command weather"),
        ("serve --stroe DIR", "rocketwire serve: error: unknown option --stroe; did you mean --store?"),
        # Before the complaint that --topic is missing.
        ("message export --topik T", "rocketwire message export: error: unknown option --topik; did you mean --topic?"),
        ("store ls DIR --jsno", "rocketwire store ls: error: unknown option --jsno; did you mean --json?"),
        ("store ls DIR --quiet", "rocketwire store ls: error: unknown option --quiet"),
        ("--verbos serve", "rocketwire: error: unknown option --verbos; did you mean --version?"),
        ("serve now", "rocketwire serve: error: unexpected: now"),
        ("serve -x", "rocketwire serve: error: unexpected: -x"),
        ("serve --log-format jsn", None),
    ],
)
def test_what_is_mistyped_is_named(line: str, said: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    found = refusal(capsys, *line.split())
    assert found == said or (said is None and "invalid choice: 'jsn'" in found)


@pytest.mark.parametrize(
    ("line", "option"),
    [("serve --stor DIR", "--store"), ("message export --top T", "--topic"), ("timer ls --namesr=h:1", "--namesrv")],
)
def test_abbreviations_are_refused(line: str, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert refusal(capsys, *line.split()).endswith(f"; did you mean {option}?")


def test_values_may_look_like_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "cat", "no such", "--key=--tpoic", "--tag", "--a b"]) == 2
    assert capsys.readouterr().err == "rocketwire: no such cannot be read: there is no such directory\n"
