"""Messages that a consumer sends back: stored again for its group, to be redelivered later.

The message is read from the log by its offset: the request has nothing else of it. A copy goes to the group's retry
topic, through the schedule topic with a delay that grows with each try, or to its dead letters after too many. Apache
4.9.7's order of checks and its remarks are kept, for the official client shows them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.cache_invalidation import CacheInvalidation
from rocketwire.server.core.errors import NotPermitted, ServerError, ServiceUnavailable, SystemBusy
from rocketwire.server.delay import queue_of_level
from rocketwire.server.messages.next_tries import NextTries
from rocketwire.server.messages.real_queue import with_real_queue
from rocketwire.server.messages.stored_message import StoredMessage, stored_message
from rocketwire.server.statistics.counters import Counters
from rocketwire.server.statistics.statistics import GroupTopic
from rocketwire.server.topics.retry_topics import RetryTopics
from rocketwire.store.append.drafts import Draft
from rocketwire.store.errors import DraftRefused
from rocketwire.store.protocol import StoreProtocol
from rocketwire.store.records.lost_pages import guard_against_lost_pages
from rocketwire.wire import names
from rocketwire.wire.bodies.group import SubscriptionGroupConfig
from rocketwire.wire.errors import RecordInvalid
from rocketwire.wire.facts import properties as property_names
from rocketwire.wire.facts.codes import VERSION_3_4_9, Permission, SysFlag
from rocketwire.wire.facts.properties import ITEM_SEP, NAME_SEP
from rocketwire.wire.facts.record import MAX_PROPERTIES_LENGTH
from rocketwire.wire.headers.send import ConsumerSendMsgBackRequestHeader
from rocketwire.wire.java import to_int32
from rocketwire.wire.message_id import offset_message_id
from rocketwire.wire.properties import property_value, split_properties
from rocketwire.wire.property_edits import set_properties
from rocketwire.wire.stored_properties import tags_code

_FIRST_RETRY_LEVEL: Final = 3
_WAIT: Final = property_names.WAIT.encode()
_NO_WAIT: Final = (_WAIT, b"false")
_DELAY: Final = property_names.DELAY.encode()
_RETRY_TOPIC: Final = property_names.RETRY_TOPIC.encode()
_ORIGIN_MESSAGE_ID: Final = property_names.ORIGIN_MESSAGE_ID.encode()
_TAGS: Final = property_names.TAGS.encode()
_OF_RETRIES: Final = tuple(
    name.encode()
    for name in (
        property_names.WAIT,
        property_names.DELAY,
        property_names.RETRY_TOPIC,
        property_names.ORIGIN_MESSAGE_ID,
        property_names.REAL_TOPIC,
        property_names.REAL_QUEUE_ID,
    )
)
_ITEM_SEP: Final = ITEM_SEP.encode()[0]
_LONGEST_KEPT: Final = 1024  # bytes
_KEPT: Final = 1024
_DEAD_LETTER_QUEUE: Final = 0
_PROPERTIES_TOO_LARGE: Final = "PROPERTIES_SIZE_EXCEEDED"
_ILLEGAL: Final = "MESSAGE_ILLEGAL"
_UNKNOWN: Final = "UNKNOWN_ERROR"
#: Apache answers a failed write with the name of the store's status.
_STATUS: Final[dict[type[Exception], str]] = {
    DraftRefused: _ILLEGAL,
    ServiceUnavailable: "SERVICE_NOT_AVAILABLE",
}


class SendBackFailed(ServerError):
    """The log has the message no more, or it could not be stored again; code 1."""


class SendBackDestination(NamedTuple):
    """Where a group's messages go: a retry topic with a number of queues, and after `limit` tries the dead letters."""

    group: SubscriptionGroupConfig
    topic: str
    queues: int
    limit: int


class SendBack:
    """Makes what is stored of messages that the consumers of one broker send back."""

    def __init__(
        self,
        *,
        broker_keys: LiveGroup[BrokerKeys],
        store: StoreProtocol,
        retries: RetryTopics,
        choose: Callable[[int], int],
        invalidation: CacheInvalidation,
        counters: Counters[GroupTopic],
    ) -> None:
        self._broker_keys = broker_keys
        self._store = store
        self._retries = retries
        self._choose = choose
        self._counters = counters
        self._targets: dict[tuple[str, bool], SendBackDestination] = {}
        invalidation.register(self._targets.clear)

    def destination(self, group: str, *, unit_mode: bool) -> SendBackDestination | None:
        """Where the messages are stored that a group sends back; None: the group wants no retries.

        Raises:
            RetryGroupNotFound: the group does not exist and may not be made.
            NotPermitted: the broker or the retry topic takes no messages.
            NameInvalid: the name of the group breaks the rules, or is too long for a retry topic's.
        """
        known = self._targets.get((group, unit_mode))
        if known is not None:
            return known
        found = self._retries.group(group)
        broker = self._broker_keys.current
        if not broker.broker_permission & Permission.WRITE:
            raise NotPermitted(f"the broker[{broker.advertised_host}] sending message is forbidden")
        if found.retry_queue_nums <= 0:
            return None
        retry = self._retries.retry(found, unit_mode=unit_mode)
        if not retry.perm & Permission.WRITE:
            raise NotPermitted(f"the topic[{retry.topic_name}] sending message is forbidden")
        target = SendBackDestination(found, retry.topic_name, found.retry_queue_nums, found.retry_max_times)
        if len(self._targets) >= _KEPT:
            self._targets.clear()
        self._targets[group, unit_mode] = target
        return target

    def draft(self, target: SendBackDestination, fields: ConsumerSendMsgBackRequestHeader, version: int) -> Draft:
        """A consumer's message as it is to be stored for its next try, or as a dead letter.

        Args:
            target: What `destination` gave for the group.
            fields: Which message, and how often it may be tried.
            version: The client's; those before 3.4.9 leave the number of tries to the group.

        Raises:
            SendBackFailed: no message stands at that place, its properties leave no room for those of a retry, or have
                so many zeros that after a crash they would be taken for a page that the disk lost.
            NameInvalid: the name of the group is too long for a dead letter topic's.
        """
        message = self._message(fields.offset)
        limit = fields.max_reconsume_times
        if limit is None or version < VERSION_3_4_9:
            limit = target.limit
        if fields.delay_level < 0 or message.reconsume_times >= limit:
            draft = self._dead_letter(message, target)
        else:
            draft = self._retry(message, target, fields.delay_level)
        draft.reconsume_times = to_int32(draft.reconsume_times + 1)
        if 0 in draft.properties:
            text = guard_against_lost_pages(draft.properties)
            if text is None:
                raise SendBackFailed(_ILLEGAL)
            draft.properties = text
        if len(draft.properties) > MAX_PROPERTIES_LENGTH:
            raise SendBackFailed(_PROPERTIES_TOO_LARGE)
        return draft

    def count(self, group: str, properties: bytes) -> None:
        """Count a message that was stored again with these properties: by its group and first topic."""
        self._counters.add((group, str(property_value(properties, _RETRY_TOPIC) or b"", "utf-8", "replace")), 1)

    def next_tries(self, group: str, topic: str, *, unit_mode: bool) -> NextTries | None:
        """How messages of a topic are stored that a group gives back; None: one like another.

        Raises:
            ServerError, WireError, StoreError: they are refused.
        """
        target = self.destination(group, unit_mode=unit_mode)
        if target is None or target.queues != 1:
            return None
        levels = range(1, len(self._store.delay_levels) + 1)
        behind = tuple(_added(topic, level, target.topic, 0) for level in levels)
        return NextTries((group, topic), target.limit, target.topic, behind)

    def count_all(self, counts: Mapping[GroupTopic, int]) -> None:
        """Count messages that the kernel stored again, by their groups and first topics."""
        for key, count in counts.items():
            self._counters.add(key, count, calls=count)

    def _message(self, offset: int) -> StoredMessage:
        record = self._store.record_at(offset)
        if record is not None:
            try:
                message = stored_message(record)
            except RecordInvalid:
                record = None
        if record is None or message.physical_offset != offset:
            raise SendBackFailed(f"look message by offset failed, {offset}")
        return message

    def _dead_letter(self, message: StoredMessage, target: SendBackDestination) -> Draft:
        topic = self._retries.dead_letters(target.group.group_name)
        own = split_properties(message.properties)
        text = _properties(message, 0)
        return message.draft_with(
            topic.topic_name, _DEAD_LETTER_QUEUE, text, _kind(own.shared_text).tags, own.unique_key, own.keys
        )

    def _retry(self, message: StoredMessage, target: SendBackDestination, level: int) -> Draft:
        level = level or to_int32(_FIRST_RETRY_LEVEL + message.reconsume_times)
        queues = target.queues
        queue_id = self._choose(queues) if queues > 1 else 0  # most groups have one, and choosing takes its time
        unique_key, keys, others = split_properties(message.properties)
        kind = _kind(others)
        # Half messages are not for consumers: Apache stores them where none sees them.
        if level <= 0 or message.sys_flag & SysFlag.TRANSACTION_PREPARED:
            return message.draft_with(target.topic, queue_id, _properties(message, level), kind.tags, unique_key, keys)
        level = min(level, len(self._store.delay_levels))
        if kind.first_try:
            added = _added(message.topic, level, target.topic, queue_id)
            text = message.properties + added + _message_id(message)
        else:
            text = with_real_queue(_properties(message, level), target.topic, queue_id)
        return message.draft_with(names.SCHEDULE_TOPIC, queue_of_level(level), text, kind.tags, unique_key, keys)


def refusal(error: Exception) -> ServerError:
    """What a consumer is answered when the store does not take its message for that reason."""
    if isinstance(error, SystemBusy):  # the request did not come to be carried out
        return error
    return SendBackFailed(next((status for kind, status in _STATUS.items() if isinstance(error, kind)), _UNKNOWN))


def _properties(message: StoredMessage, level: int) -> bytes:
    """The message's properties, as they are stored, with those of a retry."""
    text = message.properties
    items = [_NO_WAIT, (_DELAY, b"%d" % level)]
    if property_value(text, _RETRY_TOPIC) is None:
        items.append((_RETRY_TOPIC, message.topic.encode()))
    if not (property_value(text, _ORIGIN_MESSAGE_ID) or b"").strip():
        items.append((_ORIGIN_MESSAGE_ID, _message_id(message)))
    return set_properties(text, items)


def _message_id(message: StoredMessage) -> bytes:
    return offset_message_id(message.store_host, message.physical_offset).encode()


class _Kind(NamedTuple):
    """The hash of TAGS, and whether there are no properties of a retry: then they can be appended as they are."""

    tags: int
    first_try: bool


def _kind(others: bytes) -> _Kind:
    return _known_kind(others) if len(others) <= _LONGEST_KEPT else _read_kind(others)


def _read_kind(others: bytes) -> _Kind:
    tags = property_value(others, _TAGS)
    first_try = others != b"" and others[-1] != _ITEM_SEP and not any(name in others for name in _OF_RETRIES)
    return _Kind(0 if tags is None else tags_code(str(tags, "utf-8", "replace")), first_try)


_known_kind = lru_cache(maxsize=_KEPT)(_read_kind)


# Messages of one topic that a group sends back get the same.
@lru_cache(maxsize=_KEPT)
def _added(topic: str, level: int, retry_topic: str, queue_id: int) -> bytes:
    """What `_properties` adds to a message's that had none of these, up to its id, and its queue."""
    items = [_NO_WAIT, (_DELAY, b"%d" % level), (_RETRY_TOPIC, topic.encode())]
    added = with_real_queue(set_properties(b"", items), retry_topic, queue_id)
    return ITEM_SEP.encode() + added + ITEM_SEP.encode() + _ORIGIN_MESSAGE_ID + NAME_SEP.encode()
