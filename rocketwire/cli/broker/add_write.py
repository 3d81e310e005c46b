"""`rocketwire broker add-write`: have producers use a broker again."""

from __future__ import annotations

import click

from rocketwire.cli.json_option import json_option
from rocketwire.cli.online import ClusterAccess, OnlineCommand, online


@click.command("add-write", cls=OnlineCommand, epilog="Example: rocketwire broker add-write broker-a")
@click.argument("broker")
@json_option
@online
def command(endpoint: ClusterAccess, *, broker: str, as_json: bool) -> int:
    """Give the routes of all topics of BROKER the permission to write, at every name server, after wipe-write.

    As with RocketMQ's own tool all its topics can be read and written then, those too that were restricted before.
    """
    from rocketwire.cli.broker.write_permission import change
    from rocketwire.remoting.admin.name_servers import add_write_permission

    return change(endpoint, broker, add_write_permission, as_json=as_json)
