"""Asking before something is deleted."""

from __future__ import annotations

import sys
from typing import Final

import click

from rocketwire.cli.errors import CommandError, CommandFailed

yes_option: Final = click.option("--yes", is_flag=True, help="Do not ask.")


def confirm(question: str, *, yes: bool) -> None:
    """Ask on the terminal, unless `--yes` is given.

    Raises:
        Mistake: there is no terminal to ask on.
        Unsuccessful: the answer is not yes.
    """
    if yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise CommandError("there is no terminal to ask on; --yes does it without asking")
    try:
        agreed = click.confirm(question, err=True)
    except click.Abort:  # Ctrl-C or Ctrl-D
        agreed = False
    if not agreed:
        raise CommandFailed("nothing is changed")
