"""`rocketwire broker config`: a broker's configuration."""

from __future__ import annotations

from functools import partial
from typing import Final

import click

from rocketwire.cli.brokers import BrokerChoice, broker_options
from rocketwire.cli.json_option import json_option
from rocketwire.cli.online import ClusterAccess, OnlineCommand, online
from rocketwire.cli.properties import property_options

_EPILOG: Final = "Example: rocketwire broker config --broker broker-a --set autoCreateTopicEnable=false"


@click.command(
    "config",
    cls=OnlineCommand,
    epilog="Example: rocketwire broker config --broker broker-a --set autoCreateTopicEnable=false",
)
@property_options
@broker_options
@json_option
@online
def command(
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
    from rocketwire.cli.attempts import ServerAttempts
    from rocketwire.cli.brokers import master
    from rocketwire.cli.properties import Values, chosen, parsed_changes, write
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
