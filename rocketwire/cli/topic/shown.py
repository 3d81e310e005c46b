"""How a topic's configuration is shown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from rocketwire.wire.facts.codes import Permission

if TYPE_CHECKING:
    from rocketwire.remoting.admin.brokers import RegisteredBroker
    from rocketwire.wire.bodies.topic import TopicConfig

PERMISSIONS: Final = {"RW": 6, "R": 4, "W": 2, "6": 6, "4": 4, "2": 2}
"""What `--perm` takes."""
_MESSAGE_TYPE: Final = "message.type"
Row = tuple["RegisteredBroker", "TopicConfig"]


def permission(bits: int) -> str:
    """A permission as `RW`, `R`, `W` or `none`."""
    text = ("R" if bits & Permission.READ else "") + ("W" if bits & Permission.WRITE else "")
    return text or "none"


def as_json(broker: RegisteredBroker, config: TopicConfig) -> dict[str, Any]:
    """The object that `--json` prints for a topic on one broker."""
    attributes = dict(config.attributes or {})
    return {
        "topic": config.topic_name,
        "cluster": broker.cluster,
        "broker": broker.name,
        "address": broker.address,
        "read_queues": config.read_queue_nums,
        "write_queues": config.write_queue_nums,
        "permission": permission(config.perm),
        "order": config.order,
        "message_type": attributes.get(_MESSAGE_TYPE),
        "attributes": attributes,
        "filter_type": str(config.topic_filter_type),
        "sys_flag": config.topic_sys_flag,
    }


def write(rows: Iterable[Row], *, json: bool) -> None:
    """Print the configurations of topics on brokers."""
    from rocketwire.cli.output import json_line
    from rocketwire.cli.table import TableColumn, print_table

    if json:
        for row in rows:
            json_line(as_json(*row))
        return
    columns = (
        TableColumn("TOPIC", least=12),
        TableColumn("CLUSTER", spare=1),
        TableColumn("BROKER", least=10),
        TableColumn("READ QUEUES", right=True),
        TableColumn("WRITE QUEUES", right=True),
        TableColumn("PERM"),
        TableColumn("ORDER", spare=2),
        TableColumn("MESSAGE TYPE", spare=3),
        TableColumn("ATTRIBUTES", spare=1),
    )
    print_table(columns, [_cells(*row) for row in rows])


def _cells(broker: RegisteredBroker, config: TopicConfig) -> tuple[str, ...]:
    attributes = config.attributes or {}
    return (
        config.topic_name,
        broker.cluster,
        broker.name,
        str(config.read_queue_nums),
        str(config.write_queue_nums),
        permission(config.perm),
        "yes" if config.order else "no",
        attributes.get(_MESSAGE_TYPE, ""),
        ", ".join(f"{name}={value}" for name, value in sorted(attributes.items()) if name != _MESSAGE_TYPE),
    )
