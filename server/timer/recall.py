"""Cancelling a message that waits for its time, by the handle that its producer was given.

A marker cancels it: a timer message of the same topic that is due in the same slot of the wheel, whose property
TIMER_DEL_UNIQKEY is the unique key of the other. Markers are written as by 5.5.0's RecallMessageProcessor.
"""

from __future__ import annotations

from typing import Final

from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.errors import (
    RecallFailed,
    RecallForbidden,
    RecallRefused,
    RecallTopicUnknown,
    ServerError,
)
from rocketwire.server.timer.keys import TimerKeys
from rocketwire.server.timer.records import TIMER_ROOM
from rocketwire.server.timer.sends import TimerSends
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.store.append.drafts import Draft
from rocketwire.wire.facts import properties as names
from rocketwire.wire.facts.record import MAX_PROPERTIES_LENGTH
from rocketwire.wire.headers.send import RecallMessageRequestHeader
from rocketwire.wire.properties import encode_properties
from rocketwire.wire.recall_handle import RecallHandle, decode_recall_handle
from rocketwire.wire.stored_properties import tags_code

_TAG: Final = "_RECALL_TAG_"
_BORN_TIMESTAMP: Final = "BORN_TIMESTAMP"
_BODY: Final = b"0"
_QUEUE: Final = 0


class Recall:
    """Makes the markers of one broker."""

    def __init__(
        self,
        keys: LiveGroup[TimerKeys],
        broker_keys: LiveGroup[BrokerKeys],
        topics: BrokerTopics,
        timers: TimerSends,
        clock: Clock,
    ) -> None:
        self._keys = keys
        self._broker_keys = broker_keys
        self._topics = topics
        self._timers = timers
        self._clock = clock

    def marker(self, fields: RecallMessageRequestHeader, born_host: bytes) -> Draft:
        """The marker that cancels the message, to be stored.

        Raises:
            RecallForbidden: the configuration does not allow it.
            RecallTopicUnknown: the topic does not exist.
            RecallHandleInvalid: the handle is not valid.
            RecallRefused: it is of another topic or broker, or the time is past or too far away.
            RecallFailed: the marker cannot be stored.
            PropertiesInvalid: a value of the client contains a separator of properties.
        """
        keys = self._keys.current
        if not keys.recall_message_enable:
            raise RecallForbidden
        if self._topics.get(fields.topic) is None:
            raise RecallTopicUnknown(fields.topic)
        handle = decode_recall_handle(fields.recall_handle)
        if handle.topic != fields.topic:
            raise RecallRefused("topic not match")
        if handle.broker != self._broker_keys.current.broker_name:
            raise RecallRefused("broker service not available")
        now = self._clock()
        if not 0 < handle.time - now < keys.timer_max_delay_sec * 1000:
            raise RecallRefused("timestamp invalid")
        return self._draft(handle, fields.producer_group, born_host, now)

    def _draft(self, handle: RecallHandle, group: str | None, born_host: bytes, now: int) -> Draft:
        cancelling = {names.TIMER_DEL_UNIQ_KEY: handle.unique_key, names.TIMER_DELIVER_MS: str(handle.time)}
        properties = {
            names.TAGS: _TAG,
            names.UNIQ_KEY: handle.unique_key,
            **cancelling,
            _BORN_TIMESTAMP: str(now),
            **({names.PRODUCER_GROUP: group} if group else {}),
        }
        text = encode_properties(properties).encode()
        if 0 in text:
            raise RecallFailed
        draft = Draft(
            handle.topic, _QUEUE, _BODY, text, 0, 0, now, born_host, 0, 0, tags_code(_TAG), handle.unique_key, None
        )
        try:
            self._timers.schedule(draft, encode_properties(cancelling), b"")
        except ServerError as error:
            raise RecallFailed from error
        if len(draft.properties) > MAX_PROPERTIES_LENGTH - TIMER_ROOM:
            raise RecallFailed
        return draft
