"""The order configuration of a topic, which name servers keep: the queues of each broker, as `broker-a:8;broker-b:8`.

Clients of ordered topics then count queues of brokers that are down too, so that keys stay with their queues. A broker
takes a topic's order from what the name server answers to its registration, so it has to register once more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocketwire.cli.attempts import ServerAttempts
    from rocketwire.cli.topic.shown import Row
    from rocketwire.remoting.cluster import BlockingCluster


def keep_order(cluster: BlockingCluster, attempts: ServerAttempts, rows: Sequence[Row]) -> None:
    """Enter a topic's queues of some brokers, or remove them where it has no order; then have the brokers register."""
    from rocketwire.remoting.admin.topics import put_topic

    queues = {broker.name: config.write_queue_nums if config.order else None for broker, config in rows}
    enter_queues(cluster, attempts, rows[0][1].topic_name, queues)
    for broker, config in rows:
        with attempts.at(f"broker {broker.name}"):
            put_topic(cluster.connection(broker.address), config)


def enter_queues(
    cluster: BlockingCluster, attempts: ServerAttempts, topic: str, queues: Mapping[str, int | None]
) -> None:
    """Enter a topic's queues of some brokers at every name server; None removes a broker."""
    from rocketwire.remoting.admin.name_servers import ORDER_NAMESPACE, delete_key_value, key_value, put_key_value

    for address in cluster.name_servers:
        with attempts.at(f"name server {address}"):
            server = cluster.name_server(address)
            former = key_value(server, ORDER_NAMESPACE, topic)
            text = merged(former or "", queues)
            if text == (former or ""):
                continue
            if text:
                put_key_value(server, ORDER_NAMESPACE, topic, text)
            else:
                delete_key_value(server, ORDER_NAMESPACE, topic)


def merged(text: str, queues: Mapping[str, int | None]) -> str:
    """An order configuration with the queues of some brokers changed; None removes a broker."""
    entries = dict(each.rpartition(":")[::2] for each in text.split(";") if each)
    for broker, number in queues.items():
        if number is None:
            entries.pop(broker, None)
        else:
            entries[broker] = str(number)
    return ";".join(f"{broker}:{number}" for broker, number in entries.items())
