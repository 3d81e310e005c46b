"""What a send becomes in the store: its messages' drafts, checked and with their properties as they are stored."""

from __future__ import annotations

from typing import Final, NamedTuple

from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.errors import MessageIllegal, PropertyHoldsNul, ServerError
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.metrics import SEND
from rocketwire.server.delay import scheduled_draft
from rocketwire.server.send.checks import NO_PROPERTIES, SendChecks
from rocketwire.server.send.delivery_properties import delivery_properties, wait_item
from rocketwire.server.send.keys import SendKeys
from rocketwire.server.throttle.throttle import Throttle
from rocketwire.server.timer.records import TIMER_ROOM
from rocketwire.server.timer.sends import (
    TIMER_PROPERTIES,
    TIMES_OF_5,
    TimerQueueParts,
    TimerSends,
    has_only_a_time,
    may_have_a_time,
    without_times,
)
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.server.transactions.half import half_draft
from rocketwire.store.append.drafts import Draft
from rocketwire.wire import names
from rocketwire.wire.errors import BatchTooLarge, WireError
from rocketwire.wire.facts import properties as property_names
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.facts.properties import ITEM_SEP, NAME_SEP
from rocketwire.wire.facts.record import MAX_PROPERTIES_LENGTH
from rocketwire.wire.headers.send import SendMessageRequestHeader
from rocketwire.wire.property_edits import remove_properties, set_properties
from rocketwire.wire.stored_properties import (
    StoredProperties,
    batch_messages,
    batch_properties,
    stored_properties,
    tags_code,
)

_MOST_OF_TIMERS: Final = MAX_PROPERTIES_LENGTH - TIMER_ROOM
_ITEM_SEPARATOR: Final = 2  # the byte between two properties
#: Messages of the other transaction types have no entry in a queue, so none that could be due.
_TRANSACTION_MASK: Final = int(SysFlag.TRANSACTION_MASK)
_DELAYED_TYPES: Final = frozenset({SysFlag.TRANSACTION_NOT, SysFlag.TRANSACTION_COMMIT})
_DELAY: Final = property_names.DELAY.encode()


class PreparedSend(NamedTuple):
    """A send that passed its checks.

    Attributes:
        queue_id: The queue chosen.
        drafts: One a message.
        wait: Whether it waits for the disk.
        recall_handle: With what a timer message can be cancelled.
        transaction_id: The unique key of a half message.
    """

    queue_id: int
    drafts: list[Draft]
    wait: bool
    recall_handle: bytes | None = None
    transaction_id: str | None = None


class DirectSend(NamedTuple):
    """What is stored with each message of a send.

    Attributes:
        sys_flag: The sysFlag.
        tail: Of a batch's messages, the properties behind their own.
        waits: Whether a batch's sender waits for the disk.
        timer: What a single message gets that has a time of delivery; None where that is not plain.
        is_half: The sysFlag is that of half messages: single messages are plain only if their properties agree.
        takes_half: Whether single half messages are accepted.
    """

    sys_flag: int
    tail: bytes | None
    waits_for_flush: bool
    timer: TimerQueueParts | None
    is_half: bool = False
    takes_half: bool = False


class SendDrafts:
    """Makes drafts of sends, as a 4.9.7 broker would store them.

    Attributes:
        broker_items: The text of the properties that every message is stored with.
    """

    def __init__(
        self,
        keys: LiveGroup[SendKeys],
        broker: BrokerKeys,
        topics: BrokerTopics,
        checks: SendChecks,
        timers: TimerSends,
        *,
        delay_levels: int,
    ) -> None:
        self._keys = keys
        self._topics = topics
        self._checks = checks
        self._timers = timers
        self._levels = delay_levels
        items = [f"{property_names.CLUSTER}{NAME_SEP}{broker.broker_cluster_name}"]
        if broker.store_region:
            # Consumers of 5.x trace only what has a region, those of cloud services by the topic of this region.
            items[:0] = (
                f"{property_names.MSG_REGION}{NAME_SEP}{broker.region_id}",
                f"{property_names.TRACE_ON}{NAME_SEP}{'true' if broker.trace_on else 'false'}",
            )
        self.broker_items = ITEM_SEP.join(items)

    def message(
        self, fields: SendMessageRequestHeader, body: memoryview, born_host: bytes, remote: str
    ) -> PreparedSend:
        """Check a send of one message.

        Raises:
            ServerError: the send is refused; nothing was stored.
            CompressionUnknown: the sysFlag names no known compression.
        """
        config, queue_id = self._checks.queue(fields, remote, batch=False)
        properties = stored_properties(fields.properties or NO_PROPERTIES, self.broker_items)
        if len(body) > self._keys.current.max_message_size or len(properties.data) > MAX_PROPERTIES_LENGTH:
            raise self._checks.too_large()
        if 0 in properties.data:
            raise PropertyHoldsNul
        draft = Draft(
            config.topic_name,
            queue_id,
            body,
            properties.data,
            fields.flag,
            self._checks.sys_flag(config, fields),
            fields.born_timestamp,
            born_host,
            fields.reconsume_times or 0,
            0,
            tags_code(properties.tags),
            properties.unique_key,
            properties.keys,
        )
        handle = self._steer(draft, properties) if properties.steering else None
        transaction_id = draft.unique_key if draft.topic == names.TRANS_HALF_TOPIC else None
        return PreparedSend(queue_id, [draft], _waits(properties.wait), handle, transaction_id)

    def batch(self, fields: SendMessageRequestHeader, body: memoryview, born_host: bytes, remote: str) -> PreparedSend:
        """Check a send of several messages for one queue.

        Every message is stored with its own properties, followed by the batch's own with CLUSTER, as Apache stores it.
        So what the batch has counts: a 5.x client gives it a UNIQ_KEY, which is then the id of all its messages.

        Raises:
            ServerError: the send is refused; nothing was stored.
            BatchInvalid: the body is not a row of messages.
            LimitExceeded: there are too many of them, or they have too many properties.
        """
        if fields.topic.startswith(names.RETRY_PREFIX):
            raise MessageIllegal("batch request does not support retry group " + fields.topic)
        config, queue_id = self._checks.queue(fields, remote, batch=True)
        if len(body) > self._keys.current.max_message_size:
            raise self._checks.too_large()
        common = self._common(fields)
        tail = common.data
        sys_flag = self._checks.sys_flag(config, fields)
        reconsume_times = fields.reconsume_times or 0
        topic, born_timestamp = fields.topic, fields.born_timestamp
        drafts: list[Draft] = []
        try:
            messages = batch_messages(bytes(body))
        except BatchTooLarge as error:
            raise LimitExceeded(error.limit, error.most) from error
        for flag, item_body, properties, unique_key, keys, tags, steering in messages:
            if steering:
                raise MessageIllegal("a batch takes no delayed or transactional messages")
            stored = properties + (b"" if not properties or properties[-1] == _ITEM_SEPARATOR else b"\x02") + tail
            if len(stored) > MAX_PROPERTIES_LENGTH:
                raise self._checks.too_large()
            if 0 in stored:
                raise PropertyHoldsNul
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
                    tags_code(common.tags or tags),
                    common.unique_key or unique_key,
                    common.keys or keys,
                )
            )
        if not drafts:
            raise MessageIllegal("the batch holds no message")
        if topic in self._topics.typed:
            self._checks.check_type(topic, *[str(draft.properties, "utf-8", "replace") for draft in drafts])
        drafts[0].group_size = len(drafts)
        return PreparedSend(queue_id, drafts, _waits(common.wait))

    def has_topic(self, topic: str) -> bool:
        """Whether there is such a topic."""
        return self._topics.get(topic) is not None

    def direct_send(self, fields: SendMessageRequestHeader, *, typed: bool = False) -> DirectSend | None:
        """What `message` or `batch` decides about all sends with this topic, queue, sysFlag and properties (a batch's).

        None: it depends on more than that, may change something, or refuses them. What is decided holds as long as the
        topics and the configuration stay as they are; the sizes, a message's own properties, and whether they hold NUL
        characters are still to be checked. With `typed` the sends are single messages, of a type that the topic takes.
        """
        topic = fields.topic
        if topic in self._topics.particular and not (typed and topic in self._topics.typed):
            return None
        if self._topics.get(topic) is None or fields.queue_id < 0:
            return None
        try:
            config, _ = self._checks.queue(fields, "", batch=fields.batch or typed)
            sys_flag = self._checks.sys_flag(config, fields)
            common = self._common(fields) if fields.batch else None
        except (ServerError, WireError):
            return None
        kind = sys_flag & _TRANSACTION_MASK
        if common is None and kind in {SysFlag.TRANSACTION_NOT, SysFlag.TRANSACTION_PREPARED}:
            is_half = kind == SysFlag.TRANSACTION_PREPARED
            timer = None if is_half else self._timers.queue_parts(topic, fields.queue_id)
            takes_half = self._checks.allows_transactions
            return DirectSend(
                sys_flag, None, waits_for_flush=False, timer=timer, is_half=is_half, takes_half=takes_half
            )
        if common is None or kind or 0 in common.data:
            return None
        return DirectSend(sys_flag, common.data, waits_for_flush=_waits(common.wait), timer=None)

    def _common(self, fields: SendMessageRequestHeader) -> StoredProperties:
        """The properties that all messages of a batch are stored with, behind their own."""
        common = batch_properties(fields.properties or NO_PROPERTIES, self.broker_items)
        if common.steering:
            self._checks.check_batch(common.steering)
        return common

    def _steer(self, draft: Draft, properties: StoredProperties) -> bytes | None:
        """Change a draft so that it waits for its time or for its transaction, if its properties demand that.

        Returns:
            the handle by which it can be cancelled, if it is a timer message.
        """
        items = properties.steering
        if has_only_a_time(items) and draft.sys_flag & _TRANSACTION_MASK in _DELAYED_TYPES:
            return self._time(draft, items, wait_item(properties.wait))
        handle = None
        timed = may_have_a_time(items)
        steering = delivery_properties(without_times(items) if timed else items, properties.wait, self._levels)
        level, other_level, transactional, wait = steering
        # A consumer of an older client tries a message again by a send, with all properties that it came with.
        if transactional and not (draft.reconsume_times > 0 and level):
            self._checks.check_transactions_allowed()
            if timed:
                draft.properties = remove_properties(draft.properties, TIMER_PROPERTIES)
            draft.properties += wait
            half_draft(draft)
        elif draft.sys_flag & _TRANSACTION_MASK in _DELAYED_TYPES:
            if level:
                if timed:
                    draft.properties = remove_properties(draft.properties, TIMES_OF_5)
                if other_level:
                    draft.properties = set_properties(draft.properties, ((_DELAY, b"%d" % level),))
                draft.properties += wait
                scheduled_draft(draft, level)
            elif timed:
                handle = self._time(draft, items, wait)
        if len(draft.properties) > MAX_PROPERTIES_LENGTH:
            raise self._checks.too_large()
        return handle

    def _time(self, draft: Draft, items: str, wait: bytes) -> bytes | None:
        handle = self._timers.schedule(draft, items, wait)
        if len(draft.properties) > _MOST_OF_TIMERS and draft.topic == names.TIMER_TOPIC:
            raise self._checks.too_large()
        return handle


def _waits(value: str | None) -> bool:
    """Whether a producer with this WAIT wants to wait for the disk."""
    return value is None or value == "true" or value.lower() == "true"


class SendPreparer:
    """Prepares sends.

    Attributes:
        drafts: Makes drafts of sends.
        throttle: Decides whether a send is within its quotas.
    """

    def __init__(self, drafts: SendDrafts, throttle: Throttle) -> None:
        self.drafts = drafts
        self.throttle = throttle

    def prepare(
        self, fields: SendMessageRequestHeader, body: memoryview, born_host: bytes, remote: str, account: str = ""
    ) -> PreparedSend | None:
        """Check a send and make its drafts; None: it is over a quota, and refused with `throttle.send_remark`.

        Quotas are checked first, so that refused sends are cheap.

        Raises:
            ServerError: the send is refused; nothing was stored.
            WireError: its body or its flags cannot be read.
        """
        throttle = self.throttle
        quota_set = throttle.send(fields.topic, fields.producer_group, account) if throttle.sends else None
        if quota_set is not None and not throttle.passes(SEND, quota_set):
            return None
        make = self.drafts.batch if fields.batch else self.drafts.message
        prepared = make(fields, body, born_host, remote)
        if quota_set is not None:
            throttle.sent(quota_set, prepared.drafts)
        return prepared
