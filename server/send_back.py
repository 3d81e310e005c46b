"""Messages that a consumer could not use and gives back: stored again for its group, to come back later.

The message is taken from the log by its place, for the consumer names no more. A copy goes to the group's retry topic,
through the schedule topic with a delay that grows with each try, or to its dead letters after too many. Apache 4.9.7's
order of checks and its remarks are kept, for the official client shows them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from rocketwire.server.appending import Refusals
from rocketwire.server.delay import queue_of, waiting_properties
from rocketwire.server.errors import NotPermitted, ServerError, ServiceUnavailable, SystemBusy
from rocketwire.server.live_config import LiveConfig
from rocketwire.server.retry_topics import RetryTopics
from rocketwire.server.sending import MAX_PROPERTIES_BYTES, Sending
from rocketwire.server.stored_message import StoredMessage, stored_message
from rocketwire.store.errors import RecordTooLarge, TopicUnusable
from rocketwire.store.store import Appended, Draft, MessageStore
from rocketwire.wire import names
from rocketwire.wire import properties as property_names
from rocketwire.wire.bodies.group import SubscriptionGroupConfig
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.codes import VERSION_3_4_9, Permission, ResponseCode, SysFlag
from rocketwire.wire.errors import RecordInvalid
from rocketwire.wire.headers.send import ConsumerSendMsgBackRequestHeader
from rocketwire.wire.message_id import offset_message_id

_FIRST_RETRY_LEVEL: Final = 3
_DEAD_LETTER_QUEUE: Final = 0
_PROPERTIES_TOO_LARGE: Final = "PROPERTIES_SIZE_EXCEEDED"
_UNKNOWN: Final = "UNKNOWN_ERROR"
#: Apache answers a failed write with the name of the store's status.
_STATUS: Final[dict[type[Exception], str]] = {
    RecordTooLarge: "MESSAGE_ILLEGAL",
    TopicUnusable: "MESSAGE_ILLEGAL",
    ServiceUnavailable: "SERVICE_NOT_AVAILABLE",
}


class NotSentBack(ServerError):
    """The message is not there any more, or could not be stored again; code 1."""


class SendBack:
    """Takes messages back for one broker."""

    def __init__(
        self,
        *,
        config: LiveConfig,
        store: MessageStore,
        sending: Sending,
        retries: RetryTopics,
        choose: Callable[[int], int],
    ) -> None:
        self._config = config
        self._store = store
        self._sending = sending
        self._retries = retries
        self._choose = choose

    def take(self, fields: ConsumerSendMsgBackRequestHeader, version: int) -> None:
        """Store a consumer's message for its next try, or as a dead letter.

        Raises:
            NotSentBack: besides what `draft` says, the store did not take the message.
            SystemBusy: the request waited behind an append that took too long.
        """
        draft = self.draft(fields, version)
        if draft is None:
            return
        errors: list[Exception] = []

        def outcome(_appended: Sequence[Appended], _code: ResponseCode, refusals: Refusals) -> None:
            errors.extend(refusals.values())

        self._sending.commit([draft], outcome, wait=False)
        for error in errors:
            raise refusal(error) from error

    def draft(self, fields: ConsumerSendMsgBackRequestHeader, version: int) -> Draft | None:
        """A consumer's message as it is to be stored for its next try, or as a dead letter.

        Args:
            fields: Which message, of which group, and how often it may be tried.
            version: The client's; those before 3.4.9 leave the number of tries to the group.

        Returns:
            None when it is to be dropped: the group has no retry queues, so it wants no retries.

        Raises:
            RetryGroupNotFound: the group does not exist and may not be made.
            NotPermitted: the broker or the retry topic takes no messages.
            NotSentBack: no message stands at that place, or its properties leave no room for those of a retry.
            NameInvalid: the name of the group breaks the rules, or is too long for a retry topic's.
        """
        group = self._retries.group(fields.group)
        config = self._config.current
        if not config.broker_permission & Permission.WRITE:
            raise NotPermitted(f"the broker[{config.advertised_host}] sending message is forbidden")
        if group.retry_queue_nums <= 0:
            return None
        retry = self._retries.retry(group, unit_mode=fields.unit_mode)
        if not retry.perm & Permission.WRITE:
            raise NotPermitted(f"the topic[{retry.topic_name}] sending message is forbidden")
        message = self._message(fields.offset)
        limit = group.retry_max_times
        if fields.max_reconsume_times is not None and version >= VERSION_3_4_9:
            limit = fields.max_reconsume_times
        if fields.delay_level < 0 or message.reconsume_times >= limit:
            draft = self._dead_letter(message, group)
        else:
            draft = self._retry(message, group, retry, fields.delay_level)
        if len(draft.properties) > MAX_PROPERTIES_BYTES:
            raise NotSentBack(_PROPERTIES_TOO_LARGE)
        return draft

    def _message(self, offset: int) -> StoredMessage:
        record = self._store.record_at(offset)
        if record is not None:
            try:
                message = stored_message(record)
            except RecordInvalid:
                record = None
        if record is None or message.physical_offset != offset:
            raise NotSentBack(f"look message by offset failed, {offset}")
        return message

    def _dead_letter(self, message: StoredMessage, group: SubscriptionGroupConfig) -> Draft:
        topic = self._retries.dead_letters(group.group_name)
        draft = message.draft(topic.topic_name, _DEAD_LETTER_QUEUE, _properties(message, 0))
        draft.reconsume_times += 1
        return draft

    def _retry(self, message: StoredMessage, group: SubscriptionGroupConfig, topic: TopicConfig, level: int) -> Draft:
        level = level or _FIRST_RETRY_LEVEL + message.reconsume_times
        properties = _properties(message, level)
        queues = group.retry_queue_nums
        queue_id = self._choose(queues) if queues > 1 else 0  # most groups have one, and choosing takes its time
        if message.sys_flag & SysFlag.TRANSACTION_PREPARED:  # not for consumers: Apache stores it where none sees it
            draft = message.draft(topic.topic_name, queue_id, properties)
        else:
            level = min(level, len(self._store.settings.delay_levels))
            waiting = waiting_properties(properties, topic.topic_name, queue_id, level)
            draft = message.draft(names.SCHEDULE_TOPIC, queue_of(level), waiting)
        draft.reconsume_times += 1
        return draft


def refusal(error: Exception) -> ServerError:
    """What a consumer is answered when the store does not take its message for that reason."""
    if isinstance(error, SystemBusy):  # the request did not come to be carried out
        return error
    return NotSentBack(_STATUS.get(type(error), _UNKNOWN))


def _properties(message: StoredMessage, level: int) -> dict[str, str]:
    """The message's properties with those of a retry put after them, in Apache's order."""
    properties = message.decoded_properties()
    properties.setdefault(property_names.RETRY_TOPIC, message.topic)
    properties[property_names.WAIT] = "false"
    properties[property_names.DELAY] = str(level)
    if not properties.get(property_names.ORIGIN_MESSAGE_ID, "").strip():
        first = offset_message_id(message.store_host, message.physical_offset)
        properties[property_names.ORIGIN_MESSAGE_ID] = first
    return properties
