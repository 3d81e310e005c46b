"""What the broker decides about a message before it is stored, and storing it.

`Sending.message` and `Sending.batch` check a send as a 4.9.7 broker does and turn it into store drafts;
`Sending.commit` appends a group of them and says, when the answer may be given, what became of each. Both the general
handlers and the hot path end here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from rocketwire.server.appending import NOT_STORED, Refusals, append_group
from rocketwire.server.delay import delay_level, scheduled_draft
from rocketwire.server.errors import (
    MessageIllegal,
    NameInvalid,
    NotPermitted,
    QueueIllegal,
    ServerError,
    TopicNotFound,
)
from rocketwire.server.live_config import LiveConfig
from rocketwire.server.message_types import check_message_type
from rocketwire.server.metrics import Metrics
from rocketwire.server.page_cache import PageCacheGuard
from rocketwire.server.request import Peer
from rocketwire.server.retry_topics import RetryTopics
from rocketwire.server.steering import is_transactional, refuse_timers, steering_of
from rocketwire.server.topics import BrokerTopics
from rocketwire.server.transactions.half import half_draft
from rocketwire.store.flush import GroupCommit
from rocketwire.store.store import Appended, Draft, MessageStore
from rocketwire.wire import names
from rocketwire.wire import properties as property_names
from rocketwire.wire.bodies.topic import TopicConfig, TopicFilterType
from rocketwire.wire.codes import Permission, ResponseCode, SysFlag, TopicSysFlag, permission_text
from rocketwire.wire.compression import compression_type
from rocketwire.wire.errors import WireError
from rocketwire.wire.fast import (
    SendFields,
    StoredProperties,
    batch_messages,
    batch_properties,
    stored_properties,
    tags_code,
)
from rocketwire.wire.headers.send import SendMessageRequestHeader
from rocketwire.wire.properties import decode_properties
from rocketwire.wire.property_edits import with_items

MAX_PROPERTIES_BYTES: Final = 32767
_ITEM_SEPARATOR: Final = 2  # the byte between two properties
_NO_PROPERTIES: Final = ""
#: Properties have no checksum: after a crash, zeros among them could be a page that the disk lost.
NUL: Final = "the message is illegal: a property holds a NUL character (\\u0000)"
#: Messages of the other transaction types have no entry in a queue, so none that could be due.
_TRANSACTION_MASK: Final = int(SysFlag.TRANSACTION_MASK)
_DELAYED_TYPES: Final = frozenset({SysFlag.TRANSACTION_NOT, SysFlag.TRANSACTION_COMMIT})
_DELAY: Final = property_names.DELAY.encode()
_HOST_BITS: Final = SysFlag.BORN_HOST_V6 | SysFlag.STORE_HOST_V6


SendRequestFields = SendMessageRequestHeader | SendFields
"""A send's header fields: from the general decoder or from the hot path's."""


class Prepared(NamedTuple):
    """A send that passed its checks: the queue chosen, one draft a message, whether it waits for the disk."""

    queue_id: int
    drafts: list[Draft]
    wait: bool


class PlainSend(NamedTuple):
    """What is stored with each message of a send: its sysFlag and, of a batch's, the properties behind its own.

    `waits` is whether a batch's sender waits for the disk.
    """

    sys_flag: int
    tail: bytes | None
    waits: bool


Outcome = Callable[[Sequence[Appended], ResponseCode, Refusals], None]
"""Called with what became of each draft, SUCCESS or FLUSH_DISK_TIMEOUT for the stored ones, and why others were not."""


class Sending:
    """Turns sends into stored messages.

    Attributes:
        cluster_item: The property, name and value, that every message is stored with.
    """

    def __init__(
        self,
        *,
        config: LiveConfig,
        topics: BrokerTopics,
        store: MessageStore,
        flush: GroupCommit | None,
        metrics: Metrics,
        choose: Callable[[int], int],
        page_cache: PageCacheGuard,
        retries: RetryTopics,
    ) -> None:
        self._config = config
        self._topics = topics
        self._store = store
        self._flush = flush
        self._metrics = metrics
        self._choose = choose
        self._page_cache = page_cache
        self._retries = retries
        self._unsent: dict[Peer, None] = {}
        if flush is not None:
            flush.answered = self._send_answers
        self._levels = len(store.settings.delay_levels)
        self.cluster_item = f"{property_names.CLUSTER}\x01{config.current.broker_cluster_name}"

    def message(self, fields: SendRequestFields, body: memoryview, born_host: bytes, remote: str) -> Prepared:
        """Check a send of one message.

        Raises:
            ServerError: the send is refused; nothing was stored.
            CompressionUnknown: the sysFlag names no known compression.
        """
        config, queue_id = self._queue(fields, remote, batch=False)
        properties = stored_properties(fields.properties or _NO_PROPERTIES, self.cluster_item)
        if len(body) > self._config.current.max_message_size or len(properties.data) > MAX_PROPERTIES_BYTES:
            raise self._too_large()
        if 0 in properties.data:
            raise MessageIllegal(NUL)
        draft = Draft(
            config.topic_name,
            queue_id,
            body,
            properties.data,
            fields.flag,
            self._sys_flag(config, fields),
            fields.born_timestamp,
            born_host,
            fields.reconsume_times or 0,
            0,
            tags_code(properties.tags),
            properties.unique_key,
            properties.keys,
        )
        if properties.steering:
            draft = self._steer(draft, properties)
        return Prepared(queue_id, [draft], _waits(properties.wait))

    def batch(self, fields: SendRequestFields, body: memoryview, born_host: bytes, remote: str) -> Prepared:
        """Check a send of several messages for one queue.

        Every message is stored with its own properties, followed by the batch's own with CLUSTER, as Apache stores it.

        Raises:
            ServerError: the send is refused; nothing was stored.
            BatchInvalid: the body is not a row of messages.
        """
        if fields.topic.startswith(names.RETRY_PREFIX):
            raise MessageIllegal("batch request does not support retry group " + fields.topic)
        config, queue_id = self._queue(fields, remote, batch=True)
        if len(body) > self._config.current.max_message_size:
            raise self._too_large()
        tail, waits = self._common(fields)
        sys_flag = self._sys_flag(config, fields)
        reconsume_times = fields.reconsume_times or 0
        topic, born_timestamp = fields.topic, fields.born_timestamp
        drafts: list[Draft] = []
        for flag, item_body, properties, unique_key, keys, tags, steering in batch_messages(bytes(body)):
            if steering:
                raise MessageIllegal("a batch takes no delayed or transactional messages")
            stored = properties + (b"" if not properties or properties[-1] == _ITEM_SEPARATOR else b"\x02") + tail
            if len(stored) > MAX_PROPERTIES_BYTES:
                raise self._too_large()
            if 0 in stored:
                raise MessageIllegal(NUL)
            drafts.append(
                Draft(
                    topic,
                    queue_id,
                    item_body,
                    stored,
                    flag,
                    sys_flag,
                    born_timestamp,
                    born_host,
                    reconsume_times,
                    0,
                    tags_code(tags),
                    unique_key,
                    keys,
                )
            )
        if not drafts:
            raise MessageIllegal("the batch holds no message")
        if topic in self._topics.typed:
            self._check_type(topic, *[str(draft.properties, "utf-8", "replace") for draft in drafts])
        drafts[0].together = len(drafts)
        return Prepared(queue_id, drafts, waits)

    def _common(self, fields: SendRequestFields) -> tuple[bytes, bool]:
        """The properties that all messages of a batch are stored with, and whether its sender waits for the disk."""
        common = fields.properties or _NO_PROPERTIES
        of_all = stored_properties(common, self.cluster_item)
        if of_all.steering:
            self._check_batch(of_all.steering)
        return batch_properties(common, self.cluster_item), _waits(of_all.wait)

    def plain(self, fields: SendRequestFields) -> PlainSend | None:
        """What `message` or `batch` decides about all sends with this topic, queue, sysFlag and properties (a batch's).

        None: it depends on more than that, may change something, or refuses them. What is decided holds as long as the
        topics and the configuration stay as they are; the sizes, a message's own properties, and whether they hold NUL
        characters are to be looked at still.
        """
        topic = fields.topic
        if topic in self._topics.particular or self._topics.get(topic) is None or fields.queue_id < 0:
            return None
        try:
            config, _ = self._queue(fields, "", batch=fields.batch)
            sys_flag = self._sys_flag(config, fields)
            tail, waits = self._common(fields) if fields.batch else (None, False)
        except (ServerError, WireError):
            return None
        if sys_flag & _TRANSACTION_MASK or (tail is not None and 0 in tail):
            return None
        return PlainSend(sys_flag, tail, waits)

    def _queue(self, fields: SendRequestFields, remote: str, *, batch: bool) -> tuple[TopicConfig, int]:
        """The configuration, made if allowed, of the topic to store in, and the queue."""
        topic = fields.topic
        config = self._topics.get(topic)
        broker = self._config.current
        if not broker.broker_permission & Permission.WRITE and config is not None and config.order:
            raise NotPermitted(f"the broker[{broker.advertised_host}] sending message is forbidden")
        particular = config is None or topic in self._topics.particular
        if particular:
            _check_name(topic)
            if not batch:
                self._check_type(topic, fields.properties or _NO_PROPERTIES)
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

    def _check_type(self, topic: str, *properties: str) -> None:
        """Refuse messages of another type than a typed topic takes."""
        accepted = self._topics.typed.get(topic)
        if accepted is not None and self._config.current.enable_topic_message_type_check:
            for text in properties:
                check_message_type(topic, accepted, decode_properties(text))

    def _new_topic(self, fields: SendRequestFields) -> TopicConfig:
        topic = fields.topic
        retry = topic.startswith(names.RETRY_PREFIX)
        flag = (TopicSysFlag.UNIT_SUB if retry else TopicSysFlag.UNIT) if fields.unit_mode else 0
        made = self._topics.create_on_send(topic, fields.default_topic, fields.default_topic_queue_nums, flag)
        if made is None and retry:
            made = self._topics.create_retry(topic, 1, flag)
        if made is None:
            raise TopicNotFound(topic)
        return made

    def _too_large(self) -> MessageIllegal:
        limit = self._config.current.max_message_size
        return MessageIllegal(
            "the message is illegal, maybe msg body or properties length not matched. "
            f"msg body length limit {limit}B, msg properties length limit 32KB."
        )

    def _steer(self, draft: Draft, properties: StoredProperties) -> Draft:
        """The draft as it waits for its time or for its transaction, as its properties ask; itself if not at all."""
        level, other_level, transactional, wait = steering_of(properties.steering, properties.wait, self._levels)
        # A consumer of an older client tries a message again by a send, with all properties that it came with.
        if transactional and not (draft.reconsume_times > 0 and level):
            self._check_transactions_allowed()
            draft.properties += wait
            draft = half_draft(draft)
        elif level and draft.sys_flag & _TRANSACTION_MASK in _DELAYED_TYPES:
            if other_level:
                draft.properties = with_items(draft.properties, ((_DELAY, b"%d" % level),))
            draft.properties += wait
            draft = scheduled_draft(draft, level)
        if len(draft.properties) > MAX_PROPERTIES_BYTES:
            raise self._too_large()
        return draft

    def _check_batch(self, items: str) -> None:
        """Refuse a batch that is to be delivered later or by a transaction, as these properties of it say."""
        properties = decode_properties(items)
        if is_transactional(properties):
            self._check_transactions_allowed()
            raise MessageIllegal(f"property {property_names.TRANSACTION_PREPARED}: a batch has no transaction")
        refuse_timers(properties)
        if delay_level(properties, 1):
            raise MessageIllegal(f"property {property_names.DELAY}: a batch is not delayed")

    def _check_transactions_allowed(self) -> None:
        config = self._config.current
        if config.reject_transaction_message:
            raise NotPermitted(f"the broker[{config.advertised_host}] sending transaction message is forbidden")

    def _sys_flag(self, config: TopicConfig, fields: SendRequestFields) -> int:
        """The flag to store, less what only the store can say: how long the addresses are."""
        sys_flag = fields.sys_flag & ~_HOST_BITS
        if sys_flag & SysFlag.COMPRESSION_MASK:
            compression_type(sys_flag)
        if config.topic_filter_type is TopicFilterType.MULTI_TAG:
            sys_flag |= SysFlag.MULTI_TAGS
        return sys_flag

    def commit(self, drafts: list[Draft], outcome: Outcome, *, wait: bool, peer: Peer | None = None) -> None:
        """Append the drafts as one group and `report`."""
        appended, refusals = self.append(drafts)
        self.report(appended, refusals, outcome, wait=wait, peer=peer)

    def append(self, drafts: Sequence[Draft]) -> tuple[list[Appended], Refusals]:
        """Append the drafts as one group, and count them; what became of each, and the refusals."""
        if self._page_cache.busy:
            refusal = self._page_cache.refusal(len(drafts))
            return [NOT_STORED] * len(drafts), dict.fromkeys(range(len(drafts)), refusal)
        began = self._page_cache.now()
        appended, refusals = append_group(self._store, drafts)
        self._page_cache.appended(began)
        stored = _stored(appended, refusals)
        if stored:
            self._metrics.stored(len(stored), stored[-1].physical_offset + stored[-1].size - stored[0].physical_offset)
        return appended, refusals

    def report(
        self,
        appended: list[Appended],
        refusals: Refusals,
        outcome: Outcome,
        *,
        wait: bool,
        peer: Peer | None = None,
    ) -> None:
        """Report what `append` gave; under SYNC_FLUSH with `wait` not before the disk has what was stored.

        What `outcome` writes to `peer` then is sent with all that became durable together.
        """
        stored = _stored(appended, refusals)
        if self._flush is None or not wait or not stored:
            outcome(appended, ResponseCode.SUCCESS, refusals)
            return

        def durable(done: bool) -> None:  # noqa: FBT001 - GroupCommit's shape
            outcome(appended, ResponseCode.SUCCESS if done else ResponseCode.FLUSH_DISK_TIMEOUT, refusals)
            if peer is not None:
                self.send_later(peer)

        self._flush.wait_durable(stored[-1].physical_offset + stored[-1].size, durable)

    def send_later(self, peer: Peer) -> None:
        """Send what was written to `peer`, of what became durable, when all of that is answered."""
        self._unsent[peer] = None

    def _send_answers(self) -> None:
        unsent, self._unsent = self._unsent, {}
        for peer in unsent:
            peer.flush()


def _stored(appended: list[Appended], refusals: Refusals) -> list[Appended]:
    return [each for each in appended if each is not NOT_STORED] if refusals else appended


def _waits(value: str | None) -> bool:
    """Whether a producer with this WAIT wants to wait for the disk."""
    return value is None or value == "true" or value.lower() == "true"


def _check_name(topic: str) -> None:
    problem = names.topic_problem(topic)
    if problem is not None:
        raise NameInvalid(problem)
    problem = names.not_sendable_problem(topic)
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
