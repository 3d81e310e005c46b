"""`rocketwire broker stats`: all that a broker tells of how it does."""

from __future__ import annotations

import click

from rocketwire.cli.brokers import BrokerChoice, broker_options
from rocketwire.cli.json_option import json_option
from rocketwire.cli.online import ClusterAccess, OnlineCommand, online


@click.command("stats", cls=OnlineCommand, epilog="Example: rocketwire broker stats --broker broker-a --get putTps")
@click.option("--get", "keys", metavar="KEY", multiple=True, help="Only this key; repeatable.")
@broker_options
@json_option
@online
def command(
    endpoint: ClusterAccess,
    *,
    keys: tuple[str, ...],
    choice: BrokerChoice,
    as_json: bool,
) -> int:
    """Print rates, totals, queues, log and disk of brokers, under RocketMQ's own names.

    Rates such as putTps are messages a second in the last 10 seconds, minute and 10 minutes.
    """
    from rocketwire.cli.attempts import ServerAttempts
    from rocketwire.cli.errors import CommandFailed
    from rocketwire.cli.properties import Values, write
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
