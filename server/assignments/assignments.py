"""Which queues each client of a group has, and whether it pulls or pops them.

5.x consumers that let the broker assign queues (`setClientRebalance(false)`) query them about every 20 s. A group that
pulls shares its queues out as a rebalance of its members would. In one that pops each client has all queues, or with
`popShareQueueNum` its queues and those of so many others: what a slow client does not get to, another takes.

Without an answer (None) the client keeps the queues that it has.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from rocketwire.server.assignments.dividing import STRATEGIES, TopicQueues, rank_of, share_of
from rocketwire.server.assignments.keys import AssignmentKeys
from rocketwire.server.clients.groups import ClientGroups
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.errors import BodyRejected, GroupNotFound, NotPermitted, TopicNotOnBroker
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.topics.subscription_groups import SubscriptionGroups
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.store.tables.request_modes import RequestModeTable
from rocketwire.wire import names
from rocketwire.wire.bodies.assignment import (
    MessageRequestMode,
    QueryAssignmentRequestBody,
    SetMessageRequestModeRequestBody,
)
from rocketwire.wire.bodies.client import MessageModel
from rocketwire.wire.bodies.route import QueueData
from rocketwire.wire.facts.codes import Permission

log = logging.getLogger(__name__)

MOST_MODES: Final = 10_000
"""The most modes, of all topics and groups. A change saves the whole."""


class ClusterRoutes(Protocol):
    """What is known of all brokers of a cluster."""

    def __call__(self, topic: str) -> Sequence[QueueData]:
        """The queues of a topic, of each of its brokers; none if there is no such topic."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientQueues:
    """The queues of one client.

    Attributes:
        mode: Whether it pulls or pops them.
        queues: Those of the topic, or those that stand for any of a broker's.
        numbers: Which of them it has.
    """

    mode: MessageRequestMode
    queues: TopicQueues
    numbers: Collection[int]


class Assignments:
    """Modes, and the queues of clients."""

    def __init__(
        self,
        table: RequestModeTable,
        *,
        broker_name: str,
        clients: ClientGroups,
        groups: SubscriptionGroups,
        keys: LiveGroup[AssignmentKeys],
        routes: ClusterRoutes,
        topics: BrokerTopics,
    ) -> None:
        self.table = table
        self._broker_name = broker_name
        self._clients = clients
        self._groups = groups
        self._keys = keys
        self._routes = routes
        self._topics = topics

    def set_mode(self, mode: SetMessageRequestModeRequestBody) -> None:
        """Set how a group reads a topic's messages; the caller has to save the table.

        Raises:
            NotPermitted: it is a retry topic.
            TopicNotOnBroker: there is no such topic.
            GroupNotFound: there is no such group, and groups are not created automatically.
            LimitExceeded: there are too many modes.
            NameInvalid: the name of a new group is not valid.
        """
        if mode.topic.startswith(names.RETRY_PREFIX):
            raise NotPermitted("retry topic is not allowed to set mode")
        if self._topics.get(mode.topic) is None:
            raise TopicNotOnBroker(mode.topic)
        if self._groups.find(mode.consumer_group) is None:
            raise GroupNotFound(mode.consumer_group)
        if self.table.get(mode.topic, mode.consumer_group) is None and len(self.table) >= MOST_MODES:
            raise LimitExceeded("messageRequestModes", MOST_MODES)
        self.table.put(mode)
        log.info(
            "group %(group)s, topic %(topic)s: messages come by %(mode)s",
            {"group": mode.consumer_group, "topic": mode.topic, "mode": mode.mode},
        )

    def mode(self, topic: str, group: str) -> tuple[MessageRequestMode, int]:
        """How a group reads a topic's messages, and with how many others a client shares its queues if it pops."""
        known = self.table.get(topic, group)
        if known is not None:
            return known.mode, known.pop_share_queue_num
        keys = self._keys.current
        if topic.startswith(names.RETRY_PREFIX):
            return MessageRequestMode.PULL, 0
        return MessageRequestMode(keys.default_message_request_mode), keys.default_pop_share_queue_num

    def queues_of_client(self, query: QueryAssignmentRequestBody) -> ClientQueues | None:
        """The queues of the client that makes the request; None: it is not known.

        Raises:
            BodyRejected: the request does not contain whether each client gets every message.
        """
        if query.message_model is None:
            raise BodyRejected("the message model is missing")
        mode, others = self.mode(query.topic, query.consumer_group)
        queues = self._queues(query)
        if queues is None:
            return None
        if query.message_model is MessageModel.BROADCASTING or not self._keys.current.server_load_balancer_enable:
            return ClientQueues(mode=mode, queues=queues, numbers=range(len(queues)))
        group = self._clients.consumer(query.consumer_group)
        strategy = STRATEGIES.get(query.strategy_name)
        if group is None or strategy is None:
            return None
        members = set(group.client_ids())
        pops = mode is MessageRequestMode.POP
        if pops and (others <= 0 or others >= len(members) - 1):
            queues = queues.any_of_brokers()
            return ClientQueues(mode=mode, queues=queues, numbers=range(len(queues)))
        if not query.client_id or not len(queues):
            return None
        if query.client_id not in members:
            return ClientQueues(mode=mode, queues=queues, numbers=())
        client = rank_of(query.client_id, members)
        numbers: Collection[int] = strategy(len(queues), len(members), client)
        if pops:
            numbers = share_of(strategy, len(queues), len(members), client, others)
        return ClientQueues(mode=mode, queues=queues, numbers=numbers)

    def _queues(self, query: QueryAssignmentRequestBody) -> TopicQueues | None:
        if query.topic.startswith(names.LIGHT_QUEUE_PREFIX) and query.message_model is MessageModel.CLUSTERING:
            return TopicQueues({self._broker_name: 1})
        data = self._routes(query.topic)
        if not data:
            return None
        return TopicQueues({each.broker_name: each.read_queue_nums for each in data if each.perm & Permission.READ})
