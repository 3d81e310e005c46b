"""`rocketwire health`: whether a server takes messages, by its `/readyz`."""

from __future__ import annotations

from typing import Final

import click

from rocketwire.cli.errors import CommandError, Unreachable
from rocketwire.cli.output import json_option
from rocketwire.health import DEFAULT, NOT_READY, READY, USAGE, VARIABLE, check

_EPILOG: Final = f"""\
It requests /readyz of a server that was started with --http. Exit codes: 0 ready, 1 not ready, 3 no answer. A health
check that runs every few seconds had better call python3 -m rocketwire.health, which takes its address from {VARIABLE}
and half of the processor time.

\b
Examples:
  rocketwire health                                 # of {DEFAULT}
  rocketwire health --http 10.0.0.5:5557 --json
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
@json_option
def command(address: str, *, as_json: bool) -> int:
    """Check whether a server is ready."""
    import json

    code, line = check(address)
    if code not in {READY, NOT_READY}:
        raise (CommandError if code == USAGE else Unreachable)(f"{address}: {line}")
    try:
        answer = json.loads(line)
        failed = [f"{name}: {reason}" for name, reason in answer["checks"].items() if reason != "ok"]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Unreachable(f"{address}: this is no answer of rocketwire: {line[:80]}") from None
    if as_json:
        click.echo(json.dumps({"http": address, **answer}, ensure_ascii=False))
    else:
        click.echo(f"{address}: {'; '.join(failed) or 'ready'}")
    return code
