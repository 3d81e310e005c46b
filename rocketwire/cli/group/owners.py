"""Which member of a group has which queue, as the members say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocketwire.cli.attempts import ServerAttempts
    from rocketwire.remoting.admin.brokers import RegisteredBroker
    from rocketwire.remoting.cluster import BlockingCluster
    from rocketwire.wire.bodies.client import MessageQueue
    from rocketwire.wire.bodies.online import ClientConnection


@dataclass(slots=True)
class QueueOwners:
    """The members of a group by client id, and the queues of those that tell them."""

    clients: dict[str, ClientConnection] = field(default_factory=dict)
    queues: dict[str, tuple[MessageQueue, ...]] = field(default_factory=dict)

    @property
    def owners(self) -> dict[MessageQueue, str]:
        """The client id of each queue's owner."""
        return {queue: client_id for client_id, queues in self.queues.items() for queue in queues}


def find_members(
    cluster: BlockingCluster, group: str, brokers: Iterable[RegisteredBroker], attempts: ServerAttempts
) -> QueueOwners:
    """The members that are connected to brokers; each is asked once, through a broker, for its queues."""
    from rocketwire.remoting.admin.groups import consumer_connections, running_info

    found = QueueOwners()
    for broker in brokers:
        with attempts.at(f"broker {broker.name}"):
            connection = cluster.connection(broker.address)
            connected = consumer_connections(connection, group)
            for client in () if connected is None else connected.connection_set:
                found.clients.setdefault(client.client_id, client)
                if client.client_id not in found.queues:
                    with attempts.at(f"member {client.client_id}"):
                        queues = running_info(connection, group, client.client_id).mq_table
                        found.queues[client.client_id] = tuple(sorted(queues, key=_place))
    return found


def _place(queue: MessageQueue) -> tuple[str, str, int]:
    return queue.topic, queue.broker_name, queue.queue_id
