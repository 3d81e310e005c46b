"""The `rocketwire` command: one module per subcommand, imported when it runs.

A command imports what it needs when it runs, so that `--help` and the server's start stay fast.

Begin with `program`, which lists the subcommands. A folder has a group of them; a module is one, or is shared by some.
May import: every part of rocketwire but `testing`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rocketwire.cli.program import program
from rocketwire.cli.run import run


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    return run(program, sys.argv[1:] if arguments is None else arguments)
