"""`rocketwire group show`: a group's configuration, members and subscriptions."""

from __future__ import annotations

from typing import Any

import click

from rocketwire.cli.brokers import BrokerChoice, broker_options
from rocketwire.cli.json_option import json_option
from rocketwire.cli.online import ClusterAccess, OnlineCommand, online
from rocketwire.cli.parameter_types import GROUP


@click.command("show", cls=OnlineCommand, epilog="Example: rocketwire group show orders")
@click.argument("group", metavar="GROUP", type=GROUP)
@broker_options
@json_option
@online
def command(endpoint: ClusterAccess, *, group: str, choice: BrokerChoice, as_json: bool) -> int:
    """Print the configuration of GROUP on each broker, its members, and what the brokers say that it subscribes to."""
    from rocketwire.cli.attempts import ServerAttempts
    from rocketwire.cli.found import unknown_group
    from rocketwire.cli.group.shown import configuration, member, subscription
    from rocketwire.cli.output import json_line
    from rocketwire.remoting.admin.groups import consumer_connections, group_configs

    attempts = ServerAttempts()
    known: set[str] = set()
    configurations: list[dict[str, Any]] = []
    members: dict[str, dict[str, Any]] = {}
    subscriptions: dict[str, dict[str, Any]] = {}
    ways = {"consume_type": None, "message_model": None, "consume_from_where": None}
    with endpoint.connected() as cluster:
        for broker in choice.of(cluster.info()):
            with attempts.at(f"broker {broker.name}"):
                connection = cluster.connection(broker.address)
                configs = group_configs(connection)
                known.update(configs)
                if group in configs:
                    configurations.append(configuration(broker, configs[group]))
                connected = consumer_connections(connection, group)
                if connected is not None:
                    members.update((each.client_id, member(each)) for each in connected.connection_set)
                    subscriptions.update(
                        (topic, subscription(each)) for topic, each in connected.subscription_table.items()
                    )
                    ways = {name: getattr(connected, name) for name in ways}
    if not configurations and not members:
        if attempts.done:
            raise unknown_group(group, known)
        return attempts.code()
    found = {
        "group": group,
        "brokers": configurations,
        "members": [members[name] for name in sorted(members)],
        "subscriptions": [subscriptions[topic] for topic in sorted(subscriptions)],
        **ways,
    }
    if as_json:
        json_line(found)
    else:
        _write(found)
    return attempts.code()


def _write(found: dict[str, Any]) -> None:
    from rocketwire.cli.group.shown import write_configurations
    from rocketwire.cli.table import TableColumn, print_table

    write_configurations(found["group"], found["brokers"])
    print()
    if not found["members"]:
        print("no member is on line")
        return
    print(f"{found['consume_type']}, {found['message_model']}, {found['consume_from_where']}")
    print()
    members = (
        *(TableColumn("CLIENT", least=16), TableColumn("ADDRESS", least=15), TableColumn("LANGUAGE", spare=1)),
        TableColumn("VERSION", spare=2),
    )
    print_table(members, [tuple(each.values()) for each in found["members"]])
    print()
    print_table(
        (TableColumn("TOPIC", least=12), TableColumn("SUBSCRIPTION", least=12), TableColumn("TYPE")),
        [(each["topic"], each["expression"] or "", each["expression_type"]) for each in found["subscriptions"]],
    )
