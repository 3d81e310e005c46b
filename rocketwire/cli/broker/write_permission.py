"""`rocketwire broker wipe-write|add-write`: whether producers use a broker, by the routes of every name server."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from rocketwire.cli.json_option import json_option
from rocketwire.cli.online import ClusterAccess, OnlineCommand, online

if TYPE_CHECKING:
    from rocketwire.remoting.connection import BlockingConnection


@click.command("wipe-write", cls=OnlineCommand, epilog="Example: rocketwire broker wipe-write broker-a")
@click.argument("broker")
@json_option
@online
def wipe_command(endpoint: ClusterAccess, *, broker: str, as_json: bool) -> int:
    """Take the permission to write from the routes of all topics of BROKER, at every name server.

    Producers then send to other brokers, within some 30 seconds, while consumers take what is left. It holds until the
    broker registers its topics again, as it does when it starts or a topic is changed.
    """
    from rocketwire.remoting.admin.name_servers import wipe_write_permission

    return _change(endpoint, broker, wipe_write_permission, as_json=as_json)


@click.command("add-write", cls=OnlineCommand, epilog="Example: rocketwire broker add-write broker-a")
@click.argument("broker")
@json_option
@online
def add_command(endpoint: ClusterAccess, *, broker: str, as_json: bool) -> int:
    """Give the routes of all topics of BROKER the permission to write, at every name server, after wipe-write.

    As with RocketMQ's own tool all its topics can be read and written then, those too that were restricted before.
    """
    from rocketwire.remoting.admin.name_servers import add_write_permission

    return _change(endpoint, broker, add_write_permission, as_json=as_json)


def _change(
    endpoint: ClusterAccess, name: str, request: Callable[[BlockingConnection, str], int], *, as_json: bool
) -> int:
    """Send a request about a broker to every name server, and print how many topics it was about; the exit code.

    Raises:
        Unsuccessful: no such broker is registered.
    """
    from rocketwire.cli.attempts import ServerAttempts
    from rocketwire.cli.brokers import check_broker
    from rocketwire.cli.output import count_of, json_line

    attempts = ServerAttempts()
    with endpoint.connected() as cluster:
        check_broker(cluster.info(), name)
        for address in cluster.name_servers:
            with attempts.at(f"name server {address}"):
                topics = request(cluster.name_server(address), name)
                if as_json:
                    json_line({"broker": name, "name_server": str(address), "topics": topics})
                else:
                    print(f"broker {name}: changed at name server {address} for {count_of(topics, 'topic')}")
    return attempts.code()
