"""`rocketwire group members`: a group's members and the queues that each has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rocketwire.cli.brokers import BrokerChoice, broker_options
from rocketwire.cli.json_option import json_option
from rocketwire.cli.online import ClusterAccess, OnlineCommand, online
from rocketwire.cli.parameter_types import GROUP

if TYPE_CHECKING:
    from rocketwire.cli.group.owners import QueueOwners


@click.command("members", cls=OnlineCommand, epilog="Example: rocketwire group members orders")
@click.argument("group", metavar="GROUP", type=GROUP)
@broker_options
@json_option
@online
def command(endpoint: ClusterAccess, *, group: str, choice: BrokerChoice, as_json: bool) -> int:
    """Print the members of GROUP that are on line: address, language, version, and the queues that each consumes.

    Each member is asked for its queues, through a broker.
    """
    from rocketwire.cli.attempts import ServerAttempts
    from rocketwire.cli.errors import CommandFailed
    from rocketwire.cli.found import check_group
    from rocketwire.cli.group.owners import find_members

    attempts = ServerAttempts()
    with endpoint.connected() as cluster:
        brokers = choice.of(cluster.info())
        members = find_members(cluster, group, brokers, attempts)
        if not members.clients:
            if attempts.code() == 0:
                check_group(cluster, group, brokers, attempts)
                raise CommandFailed(f"group {group}: no member is on line")
            return attempts.code()
    _write(group, members, as_json=as_json)
    return attempts.code()


def _write(group: str, members: QueueOwners, *, as_json: bool) -> None:
    from rocketwire.cli.group.shown import member
    from rocketwire.cli.output import json_line
    from rocketwire.cli.table import TableColumn, print_table

    rows = []
    for client_id, client in sorted(members.clients.items()):
        queues = members.queues.get(client_id)
        told = (
            None
            if queues is None
            else [{"topic": each.topic, "broker": each.broker_name, "queue_id": each.queue_id} for each in queues]
        )
        rows.append({"group": group, **member(client), "queues": told})
    if as_json:
        for row in rows:
            json_line(row)
        return
    columns = (
        *(TableColumn("CLIENT", least=16), TableColumn("ADDRESS", least=15), TableColumn("LANGUAGE", spare=1)),
        *(TableColumn("VERSION", spare=2), TableColumn("QUEUES", least=16)),
    )
    print_table(
        columns,
        [
            (
                *(row["client_id"], row["address"], row["language"], row["version"]),
                "?" if row["queues"] is None else _shown(row["queues"]),
            )
            for row in rows
        ],
    )


def _shown(queues: list[dict[str, str | int]]) -> str:
    """Queues as `Orders broker-a 0,1; Orders broker-b 0`."""
    by_place: dict[str, list[str]] = {}
    for each in queues:
        by_place.setdefault(f"{each['topic']} {each['broker']}", []).append(str(each["queue_id"]))
    return "; ".join(f"{place} {','.join(numbers)}" for place, numbers in by_place.items())
