"""`rocketwire broker config|stats|wipe-write|add-write`: show and configure one broker."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import click

from rocketwire.cli.attempts import ServerAttempts
from rocketwire.cli.brokers import BrokerChoice, broker_options, check_broker, master
from rocketwire.cli.errors import CommandFailed
from rocketwire.cli.online import ClusterAccess, online_command
from rocketwire.cli.output import count_of, json_line
from rocketwire.cli.properties import Values, chosen, parsed_changes, property_options, write

if TYPE_CHECKING:
    from rocketwire.remoting.connection import BlockingConnection


@online_command("config", "Example: rocketwire broker config --broker broker-a --set autoCreateTopicEnable=false")
@property_options
@broker_options
def config_command(
    endpoint: ClusterAccess,
    *,
    keys: tuple[str, ...],
    changes: tuple[str, ...],
    choice: BrokerChoice,
    as_json: bool,
) -> int:
    """Print the configuration of brokers, or change keys of it while they run; of each broker its master's.

    A key that a broker does not have, and a value that it does not take, are errors.
    """
    from rocketwire.remoting.admin.brokers import change_configuration, configuration

    wanted = parsed_changes(changes)
    attempts = ServerAttempts()
    found: list[tuple[dict[str, str], Values]] = []
    with endpoint.connected() as cluster:
        for broker in choice.of(cluster.info()):
            with attempts.at(f"broker {broker.name}"):
                connection = master(cluster, broker) if wanted else cluster.connection(broker.address)
                read, change = partial(configuration, connection), partial(change_configuration, connection)
                values = chosen(read, change, keys=keys, changes=wanted)
                found.append(({"broker": broker.name, "address": broker.address}, values))
    write("broker", found, as_json=as_json)
    return attempts.code(found=bool(found), what="settings")


@online_command("stats", "Example: rocketwire broker stats --broker broker-a --get putTps")
@click.option("--get", "keys", metavar="KEY", multiple=True, help="Only this key; repeatable.")
@broker_options
def stats_command(
    endpoint: ClusterAccess,
    *,
    keys: tuple[str, ...],
    choice: BrokerChoice,
    as_json: bool,
) -> int:
    """Print rates, totals, queues, log and disk of brokers, under RocketMQ's own names.

    Rates such as putTps are messages a second in the last 10 seconds, minute and 10 minutes.
    """
    from rocketwire.remoting.admin.brokers import runtime_info
    from rocketwire.server.config.nearest import suggestion

    attempts = ServerAttempts()
    found: list[tuple[dict[str, str], Values]] = []
    with endpoint.connected() as cluster:
        for broker in choice.of(cluster.info()):
            with attempts.at(f"broker {broker.name}"):
                info = runtime_info(cluster.connection(broker.address))
                for key in keys:
                    if key not in info:
                        raise CommandFailed(f"it has no key {key}{suggestion(key, info)}")
                values = {key: info[key] for key in sorted(info) if not keys or key in keys}
                found.append(({"broker": broker.name, "address": broker.address}, values))
    write("broker", found, as_json=as_json)
    return attempts.code(found=bool(found), what="statistics")


@online_command("wipe-write", "Example: rocketwire broker wipe-write broker-a")
@click.argument("broker")
def wipe_command(endpoint: ClusterAccess, *, broker: str, as_json: bool) -> int:
    """Take the permission to write from the routes of all topics of BROKER, at every name server.

    Producers then send to other brokers, within some 30 seconds, while consumers receive the remaining messages. It
    holds until the broker registers its topics again, as it does when it starts or a topic is changed.
    """
    from rocketwire.remoting.admin.name_servers import wipe_write_permission

    return _change(endpoint, broker, wipe_write_permission, as_json=as_json)


@online_command("add-write", "Example: rocketwire broker add-write broker-a")
@click.argument("broker")
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
