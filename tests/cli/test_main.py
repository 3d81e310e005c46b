"""Of `verify` and `repair`."""

from __future__ import annotations

import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

import rocketwire
from rocketwire import native
from rocketwire.cli import main
from rocketwire.cli.lazy import LazyGroup
from rocketwire.cli.program import MODULES, program

VERSION = f"rocketwire {rocketwire.__version__} (kernel: {native.name()})\n"


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == VERSION


def test_a_command_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert capsys.readouterr().err.endswith("error: a COMMAND is missing; rocketwire --help lists them\n")
    assert main(["store"]) == 2
    assert capsys.readouterr().err.endswith("error: a COMMAND is missing; rocketwire store --help lists them\n")


def test_a_mistake_is_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--set", "flushDiskType=SYNC"]) == 2
    caught = capsys.readouterr()
    assert caught.out == ""
    assert caught.err == "rocketwire: flushDiskType=SYNC: expected ASYNC_FLUSH or SYNC_FLUSH\n"


def test_the_package_runs_as_a_module(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["rocketwire", "--version"])
    with pytest.raises(SystemExit) as stopped:
        runpy.run_module("rocketwire", run_name="__main__")
    assert stopped.value.code == 0
    assert capsys.readouterr().out == VERSION


def loaded_by(*arguments: str) -> list[str]:
    """The modules that a command imports."""
    code = f"import sys; from rocketwire.cli import main; main({list(arguments)}); print(*sorted(sys.modules), sep=',')"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=240)
    return ran.stdout.splitlines()[-1].split(",")


def test_help_imports_no_command() -> None:
    found = loaded_by("--help")
    commands = [name for name in found if name.startswith("rocketwire.")]
    assert sorted(commands) == [
        "rocketwire.cli",
        "rocketwire.cli.errors",
        "rocketwire.cli.lazy",
        "rocketwire.cli.program",
        "rocketwire.cli.run",
        "rocketwire.cli.terminal",
    ]


@pytest.mark.parametrize("command", [["serve", "--set", "x=1"], ["store", "cat", "--help"], ["timer", "ls", "--help"]])
def test_nothing_heavy_is_imported_before_it_is_needed(command: list[str]) -> None:
    heavy = {"rich", "ssl", "numpy", "trio", "tqdm", "argparse"}
    if sys.version_info >= (3, 14):
        heavy.remove("ssl")  # construct imports pdb, which imports asyncio there
    assert not heavy & set(loaded_by(*command))


def leaves(group: LazyGroup, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        if isinstance(found, LazyGroup):
            yield from leaves(found, (*path, name))
        else:
            yield (*path, name), found


COMMANDS = dict(leaves(program))


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_the_help_of_each_command_stands_alone(path: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*path, "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"Usage: rocketwire {' '.join(path)}" in shown
    assert "docs/" not in shown
    assert f"rocketwire {' '.join(path)}" in shown.partition("--help")[2], "an example is missing"
    assert all(len(line) <= 80 for line in shown.splitlines())
    undescribed = [each.name for each in COMMANDS[path].params if isinstance(each, click.Option) and not each.help]
    assert not undescribed


@pytest.mark.parametrize("path", sorted(set(COMMANDS) - {("serve",), ("proxy",), ("completion",)}), ids=" ".join)
def test_each_command_that_prints_can_print_json(path: tuple[str, ...]) -> None:
    assert any("--json" in each.opts for each in COMMANDS[path].params)


ADMINISTRATION = [
    path
    for path in COMMANDS
    if path[0] in {"topic", "offset", "cluster", "broker", "namesrv"} or (path[0] == "group" and path[1] != "check")
]


@pytest.mark.parametrize("path", ADMINISTRATION, ids=" ".join)
def test_an_administration_command_takes_the_example_of_its_help(
    capsys: pytest.CaptureFixture[str], path: tuple[str, ...]
) -> None:
    assert main([*path, "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    example = shlex.split(text.partition("Example: rocketwire ")[2])
    assert tuple(example[: len(path)]) == path
    # The command reads its example; only then it finds that no server listens.
    assert main([*example, "--namesrv", "127.0.0.1:1", "--timeout", "5"]) == 3
    assert "cannot be reached" in capsys.readouterr().err


def test_the_help_has_exit_codes_and_profiles(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert "3    an endpoint is unreachable" in shown
    assert "profiles.toml" in shown
    for name in MODULES:
        assert f"\n  {name} " in shown


def test_h_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    for line in ("-h", "topic -h", "topic list -h"):
        assert main(line.split()) == 0
        assert capsys.readouterr().out.startswith("Usage: rocketwire")


def test_options_of_the_connection_are_a_separate_block(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topic", "create", "--help"]) == 0
    own, connection = capsys.readouterr().out.split("\nConnection:\n")
    assert "--namesrv" in connection
    assert "--timeout" in connection
    assert "--namesrv" not in own
    assert "--queues" in own


@pytest.mark.parametrize(
    ("former", "now"),
    [
        ("timer ls", "timer list"),
        ("store ls", "store list"),
        ("message get", "message show"),
        ("namesrv kv get", "namesrv kv show"),
    ],
)
def test_former_verbs_are_aliases(former: str, now: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*now.split(), "--help"]) == 0
    expected = capsys.readouterr().out
    assert main([*former.split(), "--help"]) == 0
    assert capsys.readouterr().out.replace(former, now) == expected
    group, _, verb = former.rpartition(" ")
    assert main([*group.split(), "--help"]) == 0
    assert f"  {verb} " not in capsys.readouterr().out


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The last line that is printed about a wrong command line."""
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
