"""`rocketwire topic list`: the names of all topics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from rocketwire.cli.json_option import json_option
from rocketwire.cli.mistake import INCOMPLETE
from rocketwire.cli.online import online
from rocketwire.cli.output import json_line

if TYPE_CHECKING:
    from rocketwire.cli.online import Endpoint


_EPILOG: Final = """\
\b
Examples:
  rocketwire topic list
  rocketwire topic list --namesrv 10.0.0.5:9876 --json
"""


@click.command("list", epilog=_EPILOG)
@json_option
@online
def command(endpoint: Endpoint, *, as_json: bool) -> int:
    """Print the names of all topics that the name server has, RocketMQ's own among them."""
    with endpoint.connected() as cluster:
        topics = cluster.topics()
    for name in topics:
        if as_json:
            json_line({"topic": name})
        else:
            print(name)
    return 0 if topics else INCOMPLETE
