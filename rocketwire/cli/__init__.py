"""The `rocketwire` command: one module per subcommand, each with `add_parser`.

A command imports what it needs when it runs, so that `--help` and the server's start stay fast.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from rocketwire import __version__, native
from rocketwire.cli import group, message, serve, spark, store, timer, trace
from rocketwire.cli.mistake import Mistake
from rocketwire.cli.parser import Parser
from rocketwire.cli.program import MODULES, program
from rocketwire.cli.run import run as run_command

_EPILOG = """\
Exit codes: 0 done; 1 nothing found, or not everything could be done; 2 wrong use; 3 an endpoint is unreachable."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:2] == ["message", "trace"]:
        given[:2] = ["trace", "show"]
    if given and given[0] in MODULES and given[:2] != ["message", "export"]:
        return run_command(program, given)
    parser = Parser(prog="rocketwire", description="A RocketMQ name server and broker.", epilog=_EPILOG)
    version = f"rocketwire {__version__} (kernel: {native.name()})"
    parser.add_argument("--version", action="version", version=version)
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in (serve, store, spark, group, message, timer, trace):
        command.add_parser(commands)
    options = parser.parse_args(given)
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        return run(options)
    except Mistake as mistake:
        print(f"rocketwire: {mistake}", file=sys.stderr)
        return mistake.exit_code
