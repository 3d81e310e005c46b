"""Mistyped commands and options, and abbreviations."""

from __future__ import annotations

import pytest

from rocketwire.cli import main


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The last line of what is said about a wrong command line."""
    assert main(arguments) == 2
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
        ("store list DIR --jsno", "rocketwire store list: error: unknown option --jsno; did you mean --json?"),
        ("store list DIR --quiet", "rocketwire store list: error: unknown option --quiet"),
        ("--verbos serve", "rocketwire: error: unknown option --verbos; did you mean --version?"),
        ("message export", "rocketwire message export: error: missing option '--topic'"),
        ("serve now", "rocketwire serve: error: got unexpected extra argument (now)"),
        ("serve -x", "rocketwire serve: error: unknown option -x"),
        (
            "serve --log-format jsn",
            "rocketwire serve: error: invalid value for '--log-format': 'jsn' is not one of 'console', 'json'",
        ),
        (
            "store cat DIR --raw --json",
            "rocketwire store cat: error: only one of --table, --json and --raw is allowed",
        ),
        (
            "message export --topic T --json --format csv",
            "rocketwire message export: error: --json is --format jsonl: --format csv is another",
        ),
    ],
)
def test_what_is_mistyped_is_named(line: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert refusal(capsys, *line.split()) == said


@pytest.mark.parametrize(
    ("line", "option"),
    [("serve --stor DIR", "--store"), ("message export --top T", "--topic"), ("timer ls --namesr=h:1", "--namesrv")],
)
def test_abbreviations_are_refused(line: str, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert refusal(capsys, *line.split()).endswith(f"; did you mean {option}?")


def test_values_may_look_like_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "cat", "no such", "--key=--tpoic", "--tag", "--a b"]) == 2
    assert capsys.readouterr().err == "rocketwire: no such cannot be read: there is no such directory\n"
