"""`rocketwire group list|lag`: how many messages groups have to consume."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import click

from rocketwire.cli.attempts import ServerAttempts
from rocketwire.cli.brokers import BrokerChoice, broker_options, check_group, topic_brokers
from rocketwire.cli.errors import CommandError, CommandFailed
from rocketwire.cli.online import ClusterAccess, online_command
from rocketwire.cli.output import number
from rocketwire.cli.parameter_types import GROUP, TOPIC
from rocketwire.cli.table import TableColumn, print_rows
from rocketwire.cli.times import shown

if TYPE_CHECKING:
    from rocketwire.remoting.connection import BlockingConnection
    from rocketwire.wire.bodies.online import ConsumerConnection
    from rocketwire.wire.bodies.progress import ConsumeStats


_KINDS: Final = ("own", "system")


@dataclass(slots=True)
class _Group:
    """The brokers' figures of a group, summed up."""

    members: set[str] = field(default_factory=set)
    consume_type: str | None = None
    message_model: str | None = None
    lag: int = 0
    has_offsets: bool = False
    rate: float = 0.0

    def add(self, connected: ConsumerConnection | None, stats: ConsumeStats) -> None:
        """Add the figures of one broker."""
        if connected is not None:
            self.members.update(each.client_id for each in connected.connection_set)
            self.consume_type = connected.consume_type or self.consume_type
            self.message_model = connected.message_model or self.message_model
        self.has_offsets = self.has_offsets or bool(stats.offset_table)
        self.lag += sum(each.broker_offset - each.consumer_offset for each in stats.offset_table.values())
        self.rate += stats.consume_tps


@online_command("list", "Example: rocketwire group list --kind own --json")
@click.option(
    "--kind",
    type=click.Choice(_KINDS),
    help="Only applications' groups, or those that every broker has of itself. [default: own]",
)
@click.option("--all", "everything", is_flag=True, help="Groups of both kinds.")
@broker_options
def list_command(
    endpoint: ClusterAccess,
    *,
    kind: str | None,
    everything: bool,
    choice: BrokerChoice,
    as_json: bool,
) -> int:
    """Print applications' consumer groups: how many members are on line, and how many messages they have to consume.

    The lag of a group that has committed no offsets is shown as `-`. A group that consumes by broadcasting keeps its
    offsets itself, so brokers know no lag of it.
    """
    if kind and everything:
        raise CommandError("--kind and --all: only one of them")

    attempts = ServerAttempts()
    groups: dict[str, _Group] = {}
    with endpoint.connected() as cluster:
        brokers = choice.of(cluster.info())
        of_topics = () if choice.cluster_name or choice.broker_names else cluster.groups()
        for broker in brokers:
            with attempts.at(f"broker {broker.name}"):
                _add(groups, cluster.connection(broker.address), of_topics)
    chosen = [(name, groups[name], _kind(name)) for name in sorted(groups)]
    chosen = [each for each in chosen if everything or each[2] == (kind or _KINDS[0])]
    rows = [
        {
            "group": name,
            "kind": its_kind,
            "member_count": len(group.members),
            "consume_type": group.consume_type,
            "message_model": group.message_model,
            "lag": group.lag if group.has_offsets else None,
            "tps": group.rate,
        }
        for name, group, its_kind in chosen
    ]
    columns = (
        TableColumn("GROUP", of="group", least=16),
        TableColumn("MEMBERS", of="member_count", right=True),
        TableColumn("LAG", of=lambda row: "-" if row["lag"] is None else row["lag"], right=True),
        TableColumn("MESSAGES/S", of=lambda row: f"{row['tps']:.1f}", right=True),
        TableColumn("MODEL", of="message_model", spare=2),
        TableColumn("TYPE", of="consume_type", spare=1),
    )
    print_rows(rows, columns, as_json=as_json)
    return attempts.code(found=bool(chosen), what="groups")


def _add(groups: dict[str, _Group], broker: BlockingConnection, also: tuple[str, ...] | list[str]) -> None:
    """Add the groups of one broker, and `also` those that have a retry topic."""
    from rocketwire.remoting.admin.groups import all_consumer_connections, group_configs, progress_of_all

    names = sorted({*group_configs(broker), *also})
    connected = list(all_consumer_connections(broker, names))
    stats = list(progress_of_all(broker, names))
    for name, its_members, its_stats in zip(names, connected, stats, strict=True):
        groups.setdefault(name, _Group()).add(its_members, its_stats)


def _kind(group: str) -> str:
    from rocketwire.wire.names import PREDEFINED_GROUPS, is_system_group

    return "system" if group in PREDEFINED_GROUPS or is_system_group(group) else "own"


@online_command("lag", "Example: rocketwire group lag orders --topic Orders --json")
@click.argument("group", metavar="GROUP", type=GROUP)
@click.option("--topic", metavar="TOPIC", type=TOPIC, help="Only in this topic.")
@broker_options
def lag_command(
    endpoint: ClusterAccess,
    *,
    group: str,
    topic: str | None,
    choice: BrokerChoice,
    as_json: bool,
) -> int:
    """Print for each queue how far GROUP is behind: the queue's end, the group's offset, and who consumes it.

    Without --topic, these are the topics that the group has committed offsets in, its retry topic among them; of a
    group with members, only those that it subscribes to.
    """
    from rocketwire.cli.group.show import find_members
    from rocketwire.remoting.admin.groups import progress

    attempts = ServerAttempts()
    rows: list[dict[str, Any]] = []
    with endpoint.connected() as cluster:
        brokers = choice.of(cluster.info()) if topic is None else topic_brokers(cluster, topic, choice)
        brokers = check_group(cluster, group, brokers, attempts)
        table = {}
        for broker in brokers:
            with attempts.at(f"broker {broker.name}"):
                table.update(progress(cluster.connection(broker.address), group, topic).offset_table)
        owners = find_members(cluster, group, attempts.left(brokers), attempts).owners
    for queue in sorted(table, key=lambda each: (each.topic, each.broker_name, each.queue_id)):
        found = table[queue]
        rows.append(
            {
                "group": group,
                "topic": queue.topic,
                "broker": queue.broker_name,
                "queue_id": queue.queue_id,
                "broker_offset": found.broker_offset,
                "consumer_offset": found.consumer_offset,
                "lag": found.broker_offset - found.consumer_offset,
                "last_consumed": found.last_timestamp or None,
                "owner": owners.get(queue),
            }
        )
    if not rows and attempts.code() == 0:
        raise CommandFailed(f"group {group}: the brokers have no offsets of it")
    columns = (
        TableColumn("TOPIC", of="topic", least=12),
        TableColumn("BROKER", of="broker", least=8),
        TableColumn("QUEUE", of="queue_id", right=True),
        TableColumn("BROKER OFFSET", of="broker_offset", right=True),
        TableColumn("CONSUMER OFFSET", of="consumer_offset", right=True),
        TableColumn("LAG", of="lag", right=True),
        TableColumn("LAST CONSUMED (UTC)", of=lambda row: shown(row["last_consumed"]), time=True, spare=2),
        TableColumn("OWNER", of="owner", least=12, spare=1),
    )
    print_rows(rows, columns, as_json=as_json)
    if rows and not as_json:
        print(f"lag: {number(sum(row['lag'] for row in rows))}")
    return attempts.code(found=bool(rows))
