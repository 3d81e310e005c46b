"""`rocketwire broker wipe-write`: have producers leave a broker out."""

from __future__ import annotations

import click

from rocketwire.cli.json_option import json_option
from rocketwire.cli.online import ClusterAccess, OnlineCommand, online


@click.command("wipe-write", cls=OnlineCommand, epilog="Example: rocketwire broker wipe-write broker-a")
@click.argument("broker")
@json_option
@online
def command(endpoint: ClusterAccess, *, broker: str, as_json: bool) -> int:
    """Take the permission to write from the routes of all topics of BROKER, at every name server.

    Producers then send to other brokers, within some 30 seconds, while consumers take what is left. It holds until the
    broker registers its topics again, as it does when it starts or a topic is changed.
    """
    from rocketwire.cli.broker.write_permission import change
    from rocketwire.remoting.admin.name_servers import wipe_write_permission

    return change(endpoint, broker, wipe_write_permission, as_json=as_json)
