"""`rocketwire top`: the traffic of topics and groups, live.

Begin with this file: it is the command; `sample` queries the brokers, `traffic` computes, `screen` shows.
May import: modules of `rocketwire/cli`, and what commands may; a module is imported when its command runs.
"""

from __future__ import annotations

import sys
from typing import Final

import click

from rocketwire.cli.online import ClusterAccess, online_command

_EPILOG: Final = """\
\b
Examples:
  rocketwire top
  rocketwire top --once --json
"""


@online_command("top", _EPILOG)
@click.option(
    "--interval",
    metavar="SECONDS",
    type=click.FloatRange(0.1, 60),
    default=1.0,
    show_default=True,
    help="Redraw so often; with --once: between the two samples.",
)
@click.option("--once", is_flag=True, help="Print tables once, as without a terminal.")
@click.option("--all", "everything", is_flag=True, help="RocketMQ's own topics and groups too.")
def command(endpoint: ClusterAccess, *, interval: float, once: bool, everything: bool, as_json: bool) -> int:
    """Show how many messages a second go into and out of topics, and the lag and members of groups.

    Keys: q ends, arrows select, Tab changes between topics and groups, s changes the order. Below are the queues of the
    selected one. Rates are means of the last 10 s: consumers commit their offsets every 5 s. Each refresh takes two
    requests a broker, and up to a dozen for some of the topics that no group reads and of the members; brokers that
    take long to answer are queried less often.
    """
    if once or as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        from rocketwire.cli.top.once import run as run_once

        run_once(endpoint, interval, everything=everything, as_json=as_json)
        return 0
    from rocketwire.cli.top.live import run

    run(endpoint, interval, everything=everything)
    return 0
