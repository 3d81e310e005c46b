"""Whether a send may be stored, and where: the checks of a 4.9.7 broker that do not read the message itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.errors import (
    MessageIllegal,
    NameInvalid,
    NotPermitted,
    QueueIllegal,
    TopicNotFound,
)
from rocketwire.server.delay import delay_level
from rocketwire.server.send.delivery_properties import check_one_message, is_transactional
from rocketwire.server.send.keys import SendKeys
from rocketwire.server.timer.sends import time_property
from rocketwire.server.topics.message_types import MessageType, check_message_type, may_have_a_type
from rocketwire.server.topics.retry_topics import RetryTopics
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.server.transactions.keys import TransactionKeys
from rocketwire.wire import names
from rocketwire.wire.bodies.topic import TopicConfig, TopicFilterType
from rocketwire.wire.compression import compression_type
from rocketwire.wire.errors import HeaderFieldMissing
from rocketwire.wire.facts import properties as property_names
from rocketwire.wire.facts.codes import Permission, SysFlag, TopicSysFlag, permission_text
from rocketwire.wire.facts.record import HOST_BITS
from rocketwire.wire.headers.send import SendMessageRequestHeader
from rocketwire.wire.properties import decode_properties

NO_PROPERTIES: Final = ""
_NAMES_KEPT: Final = 1024


class SendChecks:
    """Decides by topic, queue, flags and configuration."""

    def __init__(
        self,
        keys: LiveGroup[SendKeys],
        broker_keys: LiveGroup[BrokerKeys],
        transaction_keys: LiveGroup[TransactionKeys],
        topics: BrokerTopics,
        *,
        choose: Callable[[int], int],
        retries: RetryTopics,
    ) -> None:
        self._keys = keys
        self._broker_keys = broker_keys
        self._transaction_keys = transaction_keys
        self._topics = topics
        self._choose = choose
        self._retries = retries

    def queue(self, fields: SendMessageRequestHeader, remote: str, *, batch: bool) -> tuple[TopicConfig, int]:
        """The configuration, made if allowed, of the topic to store in, and the queue.

        Raises:
            ServerError: the send is refused.
        """
        topic = fields.topic
        config = self._topics.get(topic)
        broker = self._broker_keys.current
        if not broker.broker_permission & Permission.WRITE and config is not None and config.order:
            raise NotPermitted(f"the broker[{broker.advertised_host}] sending message is forbidden")
        particular = config is None or topic in self._topics.particular
        if particular:
            _check_name(topic)
            if not batch:
                self.check_type(topic, fields.properties or NO_PROPERTIES)
        if config is None:
            config = self._new_topic(fields)
        queue_id = fields.queue_id
        if queue_id < 0:
            queue_id = self._choose(max(1, config.write_queue_nums))
        elif queue_id >= config.write_queue_nums and queue_id >= config.read_queue_nums:
            raise QueueIllegal(f"request queueId[{queue_id}] is illegal, {topic_text(config)} Producer: {remote}")
        if particular and topic.startswith(names.RETRY_PREFIX):
            to = self._retries.destination(config, tried=fields.reconsume_times or 0, limit=fields.max_reconsume_times)
            return (config, queue_id) if to is config else (to, 0)
        return config, queue_id

    def check_type(self, topic: str, *properties: str) -> None:
        """Refuse messages of another type than a typed topic takes."""
        accepted = self._topics.typed.get(topic)
        if accepted is not None and self._keys.current.enable_topic_message_type_check:
            for text in properties:
                if accepted is not MessageType.NORMAL or may_have_a_type(text):
                    check_message_type(topic, accepted, decode_properties(text))

    def _new_topic(self, fields: SendMessageRequestHeader) -> TopicConfig:
        topic = fields.topic
        retry = topic.startswith(names.RETRY_PREFIX)
        if fields.default_topic is None:
            raise HeaderFieldMissing(SendMessageRequestHeader.__name__, "defaultTopic")
        flag = (TopicSysFlag.UNIT_SUB if retry else TopicSysFlag.UNIT) if fields.unit_mode else 0
        made = self._topics.create_on_send(topic, fields.default_topic, fields.default_topic_queue_nums, flag)
        if made is None and retry:
            made = self._topics.create_retry(topic, 1, flag)
        if made is None:
            raise TopicNotFound(topic)
        return made

    def too_large(self) -> MessageIllegal:
        """The error for a body or properties that are too long."""
        limit = self._keys.current.max_message_size
        return MessageIllegal(
            "the message is illegal, maybe msg body or properties length not matched. "
            f"msg body length limit {limit}B, msg properties length limit 32KB."
        )

    def check_batch(self, items: str) -> None:
        """Refuse a batch whose properties demand that it is delivered later or by a transaction."""
        properties = decode_properties(items)
        check_one_message(properties)
        if is_transactional(properties):
            self.check_transactions_allowed()
            raise MessageIllegal(f"property {property_names.TRANSACTION_PREPARED}: a batch has no transaction")
        name = time_property(properties)
        if name is not None:
            raise MessageIllegal(f"property {name}: a batch is not delivered at a set time")
        if delay_level(properties, 1):
            raise MessageIllegal(f"property {property_names.DELAY}: a batch is not delayed")

    @property
    def allows_transactions(self) -> bool:
        """Whether half messages are taken."""
        return not self._transaction_keys.current.reject_transaction_message

    def check_transactions_allowed(self) -> None:
        """Refuse half messages where they are not wanted."""
        if not self.allows_transactions:
            raise NotPermitted(
                f"the broker[{self._broker_keys.current.advertised_host}] sending transaction message is forbidden"
            )

    def sys_flag(self, config: TopicConfig, fields: SendMessageRequestHeader) -> int:
        """The flag to store, but for what only the store knows: how long the addresses are."""
        sys_flag = fields.sys_flag & ~HOST_BITS
        if sys_flag & SysFlag.COMPRESSION_MASK:
            compression_type(sys_flag)
        if config.topic_filter_type is TopicFilterType.MULTI_TAG:
            sys_flag |= SysFlag.MULTI_TAGS
        return sys_flag


@lru_cache(maxsize=_NAMES_KEPT)  # of names that pass: an error is not kept
def _check_name(topic: str) -> None:
    problem = names.topic_name_error(topic)
    if problem is not None:
        raise NameInvalid(problem)
    problem = names.forbidden_send_reason(topic)
    if problem is not None:
        raise NotPermitted(problem)


def topic_text(config: TopicConfig) -> str:
    """A topic's configuration as Apache writes it into remarks."""
    return (
        f"TopicConfig [topicName={config.topic_name}, readQueueNums={config.read_queue_nums}, "
        f"writeQueueNums={config.write_queue_nums}, perm={permission_text(config.perm)}, "
        f"topicFilterType={config.topic_filter_type}, topicSysFlag={config.topic_sys_flag}, "
        f"order={'true' if config.order else 'false'}]"
    )
