"""Whether requests of POP are served, which broker, topic and group decide, in the order of a 5.5.0 broker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.client_errors import NotInQueue, ParameterInvalid, PopDisabled
from rocketwire.server.core.errors import GroupNotFound, MessageIllegal, NotPermitted, QueueIllegal, TopicNotFound
from rocketwire.server.pop.ordered import PopQueue
from rocketwire.server.timer.keys import TimerKeys
from rocketwire.server.topics.subscription_groups import SubscriptionGroups
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.store.protocol import StoreProtocol
from rocketwire.wire import names
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.facts.codes import Permission

MOST_MESSAGES: Final = 32
"""The most that one pop takes: an acknowledgement of each is a bit of its check point."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PopChecks:
    """The dependencies of the checks."""

    broker_keys: LiveGroup[BrokerKeys]
    timer_keys: LiveGroup[TimerKeys]
    topics: BrokerTopics
    groups: SubscriptionGroups
    store: StoreProtocol

    def pop(self, group: str, topic: str, queue_id: int, most: int, remote: str) -> TopicConfig:
        """The topic of a pop; `remote` is the client's address, for the remark of a refusal.

        Raises:
            ServerError: it is not served.
        """
        broker = self.broker_keys.current
        if not broker.broker_permission & Permission.READ:
            raise NotPermitted(f"the broker[{broker.advertised_host}] pop message is forbidden")
        if most > MOST_MESSAGES:
            raise ParameterInvalid(
                f"the broker[{broker.advertised_host}] pop message's num is greater than {MOST_MESSAGES}"
            )
        if not self.timer_keys.current.timer_wheel_enable:
            raise PopDisabled(broker.advertised_host)
        # The check point of what was popped there would be one more message there.
        if names.is_pending_topic(topic):
            raise NotPermitted(f"the topic[{topic}] pop message is forbidden")
        return self._readable(group, topic, queue_id, remote, ParameterInvalid)

    def peek(self, group: str, topic: str, queue_id: int, remote: str) -> TopicConfig:
        """The topic of a peek; as `pop`."""
        self._check_peeking()
        return self._readable(group, topic, queue_id, remote, ParameterInvalid)

    def wait(self, group: str, topic: str, queue_id: int, remote: str) -> TopicConfig:
        """The topic of a request that waits for messages, or counts those that do; as `pop`."""
        self._check_peeking()
        return self._readable(group, topic, queue_id, remote, QueueIllegal)

    def _check_peeking(self) -> None:
        broker = self.broker_keys.current
        if not broker.broker_permission & Permission.READ:
            raise NotPermitted(f"the broker[{broker.advertised_host}] peeking message is forbidden")

    def _readable(
        self, group: str, topic: str, queue_id: int, remote: str, illegal: type[ParameterInvalid | QueueIllegal]
    ) -> TopicConfig:
        config = self._topic(topic)
        if not config.perm & Permission.READ:
            raise NotPermitted(f"the topic[{topic}] peeking message is forbidden")
        if queue_id >= config.read_queue_nums:
            raise illegal(_no_queue(config, queue_id, remote))
        found = self.groups.find(group)
        if found is None:
            raise GroupNotFound(group)
        if not found.consume_enable:
            raise NotPermitted(f"subscription group no permission, {group}")
        return config

    def group_may_ack(self, queue: PopQueue, remote: str) -> None:
        """Check that a group may have popped messages of a queue.

        Raises:
            TopicNotFound, GroupNotFound: there is no such topic, or group.
            MessageIllegal: the topic has no such queue.
        """
        config = self._topic(queue.topic)
        if not 0 <= queue.queue_id < config.read_queue_nums:
            raise MessageIllegal(_no_queue(config, queue.queue_id, remote))
        if self.groups.table.get(queue.group) is None:
            raise GroupNotFound(queue.group)

    def message_may_be_popped(self, queue: PopQueue, offset: int, remote: str, *, behind: int) -> None:
        """Check that a message may have been popped, whose offset is at most `behind` past the last one's.

        Raises:
            TopicNotFound, GroupNotFound, MessageIllegal: as `group_may_ack`.
            NotInQueue: there is no message at that offset.
        """
        self.group_may_ack(queue, remote)
        least, end = self.queue_bounds(queue)
        if not least <= offset < end + behind:
            raise NotInQueue(
                f"offset is illegal, key:{queue.topic}@{queue.queue_id}, commit:{offset}, store:{least}~{end}"
            )

    def queue_bounds(self, queue: PopQueue) -> tuple[int, int]:
        """The queue offset of the oldest message of a queue, and that of the next one."""
        place = queue.topic, queue.queue_id
        return self.store.min_offset(*place), self.store.max_offset(*place)

    def _topic(self, topic: str) -> TopicConfig:
        config = self.topics.get(topic)
        if config is None:
            raise TopicNotFound(topic, gap=" ")
        return config


def _no_queue(config: TopicConfig, queue_id: int, remote: str) -> str:
    return (
        f"queueId[{queue_id}] is illegal, topic:[{config.topic_name}] "
        f"topicConfig.readQueueNums:[{config.read_queue_nums}] consumer:[{remote}]"
    )
