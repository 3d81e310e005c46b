"""The help of every administration command stands alone: it has an example, which the command takes."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import click
import pytest

from rocketwire.cli import main
from rocketwire.cli.program import program

GROUPS = ("topic", "offset", "cluster", "broker", "namesrv")
OF_GROUP = ("list", "show", "members", "lag", "create", "delete")


def commands(group: click.Command, *names: str) -> Iterator[tuple[str, ...]]:
    if not isinstance(group, click.Group):
        yield names
        return
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield from commands(command, *names, name)


def every() -> Iterator[tuple[str, ...]]:
    context = click.Context(program)
    for name in GROUPS:
        group = program.get_command(context, name)
        assert group is not None
        yield from commands(group, name)
    yield from (("group", name) for name in OF_GROUP)


@pytest.mark.parametrize("names", list(every()), ids=" ".join)
def test_the_help_of_a_command(capsys: pytest.CaptureFixture[str], names: tuple[str, ...]) -> None:
    assert main([*names, "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "--json" in text
    assert "--namesrv" in text
    line = text.partition("Example: rocketwire ")[2]
    example = shlex.split(line)
    assert tuple(example[: len(names)]) == names
    # The command reads its example; only then it finds that nobody listens.
    assert main([*example, "--namesrv", "127.0.0.1:1", "--timeout", "5"]) == 3
    assert "cannot be reached" in capsys.readouterr().err


def test_a_group_has_its_commands_in_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    for name in (*GROUPS, "group"):
        assert main([name, "--help"]) == 0
        assert "Commands:" in capsys.readouterr().out
