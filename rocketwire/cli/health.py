"""`rocketwire health`: whether a server takes messages, as its `/readyz` says."""

from __future__ import annotations

from typing import Final

import click

from rocketwire.health import DEFAULT, READY, VARIABLE, check

_EPILOG: Final = f"""\
It asks /readyz of a server that was started with --http. Exit codes: 0 ready, 1 not ready, 3 no server there. A health
check that runs every few seconds had better call python3 -m rocketwire.health, which takes its address from {VARIABLE}
and a quarter of the processor time.

\b
Examples:
  rocketwire health                                 # of {DEFAULT}
  rocketwire health --http 10.0.0.5:5557
"""


@click.command("health", epilog=_EPILOG)
@click.option(
    "--http",
    "address",
    metavar="HOST:PORT",
    default=DEFAULT,
    show_default=True,
    envvar=VARIABLE,
    help=f"Where the server serves health and metrics; else {VARIABLE}.",
)
def command(address: str) -> int:
    """Ask a server whether it is ready."""
    code, line = check(address)
    click.echo(line, err=code != READY)
    return code
