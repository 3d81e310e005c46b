"""How a group's configuration, members and subscriptions are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rocketwire.remoting.admin.brokers import RegisteredBroker
    from rocketwire.wire.bodies.client import SubscriptionData
    from rocketwire.wire.bodies.group import SubscriptionGroupConfig
    from rocketwire.wire.bodies.online import ClientConnection


def configuration(broker: RegisteredBroker, config: SubscriptionGroupConfig) -> dict[str, Any]:
    """A group's configuration on one broker, as `--json` prints it."""
    return {
        "cluster": broker.cluster,
        "broker": broker.name,
        "address": broker.address,
        "consume_enable": config.consume_enable,
        "broadcast_enable": config.consume_broadcast_enable,
        "from_min_enable": config.consume_from_min_enable,
        "orderly": bool(config.consume_message_orderly),
        "retry_queues": config.retry_queue_nums,
        "max_retries": config.retry_max_times,
        "attributes": dict(config.attributes or {}),
    }


def member(client: ClientConnection) -> dict[str, Any]:
    """A member, as `--json` prints it."""
    from rocketwire.wire.facts.codes import version_name

    return {
        "client_id": client.client_id,
        "address": client.client_addr,
        "language": client.language or "",
        "version": version_name(client.version),
    }


def subscription(one: SubscriptionData) -> dict[str, Any]:
    """A subscription, as `--json` prints it."""
    return {
        "topic": one.topic,
        "expression": one.sub_string,
        "expression_type": one.expression_type,
        "version": one.sub_version,
    }


def write_configurations(group: str, rows: list[dict[str, Any]]) -> None:
    """Print a table of configurations."""
    from rocketwire.cli.table import TableColumn, print_table

    columns = (
        *(TableColumn("GROUP", least=12), TableColumn("CLUSTER", spare=1), TableColumn("BROKER", least=10)),
        *(TableColumn("CONSUME"), TableColumn("BROADCAST"), TableColumn("RETRY QUEUES", right=True)),
        *(TableColumn("MAX RETRIES", right=True), TableColumn("ATTRIBUTES", spare=2)),
    )
    print_table(
        columns,
        [
            (
                *(group, row["cluster"], row["broker"]),
                *(_yes(row["consume_enable"]), _yes(row["broadcast_enable"])),
                *(str(row["retry_queues"]), str(row["max_retries"])),
                ", ".join(f"{name}={value}" for name, value in sorted(row["attributes"].items())),
            )
            for row in rows
        ],
    )


def _yes(value: bool) -> str:  # noqa: FBT001 - what is shown
    return "yes" if value else "no"
