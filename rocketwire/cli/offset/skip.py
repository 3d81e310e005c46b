"""`rocketwire offset skip`: skip all messages that a group has not consumed yet."""

from __future__ import annotations

import click

from rocketwire.cli.brokers import BrokerChoice, broker_options
from rocketwire.cli.json_option import json_option
from rocketwire.cli.online import ClusterAccess, OnlineCommand, online
from rocketwire.cli.parameter_types import GROUP, TOPIC


@click.command("skip", cls=OnlineCommand, epilog="Example: rocketwire offset skip orders --topic Orders --dry-run")
@click.argument("group", metavar="GROUP", type=GROUP)
@click.option("--topic", metavar="TOPIC", type=TOPIC, required=True, help="In this topic.")
@click.option("--dry-run", is_flag=True, help="Only print what would be changed.")
@broker_options
@json_option
@online
def command(
    endpoint: ClusterAccess,
    *,
    group: str,
    topic: str,
    dry_run: bool,
    choice: BrokerChoice,
    as_json: bool,
) -> int:
    """Skip all messages of a topic that GROUP has not consumed yet: the same as offset reset --to latest."""
    from rocketwire.cli.offset.reset import reset
    from rocketwire.cli.offset.target import ResetPoint, ResetTarget

    return reset(
        endpoint,
        group,
        topic,
        ResetTarget(where=ResetPoint.LATEST),
        queue=None,
        dry_run=dry_run,
        choice=choice,
        as_json=as_json,
    )
