"""Sends of timer messages: when they are due, and their records in the timer's topic.

A property has the time: the first present one of 5.x's TIMER_DELAY_SEC, TIMER_DELAY_MS and TIMER_DELIVER_MS, or
``__STARTDELIVERTIME`` of cloud services. The message is stored in queue 0 of rmq_sys_wheel_timer, as
5.5.0 stores it, with its topic and queue among its properties and the time as TIMER_OUT_MS: to the millisecond, in the
form of `store.timer.units`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.errors import MessageIllegal, TimerDisabled
from rocketwire.server.messages.real_queue import with_real_queue
from rocketwire.server.timer.keys import TimerKeys
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.store.append.drafts import Draft
from rocketwire.store.timer.units import out_time
from rocketwire.wire import names
from rocketwire.wire.facts import properties as property_names
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.facts.properties import ITEM_SEP, NAME_SEP
from rocketwire.wire.properties import decode_properties, property_reader
from rocketwire.wire.recall_handle import encode_recall_handle

#: How the remark of a refused time begins, as with Apache's brokers.
ILLEGAL_TIME: Final = "timer message illegal"
_MS_PER_SECOND: Final = 1000
#: The unit in ms, 0 for ms since 1970; the first that a message has counts.
_UNITS: Final = {
    property_names.TIMER_DELAY_SEC: _MS_PER_SECOND,
    property_names.TIMER_DELAY_MS: 1,
    property_names.TIMER_DELIVER_MS: 0,
    property_names.START_DELIVER_TIME: 0,
}
_TIMES: Final = tuple(_UNITS)
_MOST_DIGITS: Final = 19  # of a Java long
#: The common prefix of the names that 5.x's clients set.
_OF_5: Final = "TIMER_D"
_TIMER_OUT_MS: Final = property_names.TIMER_OUT_MS.encode()
_NAMES: Final = (_OF_5, property_names.START_DELIVER_TIME)
_TIMER_QUEUE: Final = 0
_OUT_ITEM: Final = f"{property_names.TIMER_OUT_MS}{NAME_SEP}".encode()
_out_of: Final = property_reader(property_names.TIMER_OUT_MS.encode())
_NOT_TRANSACTION: Final = ~int(SysFlag.TRANSACTION_MASK)
#: The properties that 5.5.0 removes from a message that also has a delay level.
TIMES_OF_5: Final = tuple(name.encode() for name in _TIMES[:-1])
#: The properties by which a producer sends a timer message or cancels one.
TIMER_PROPERTIES: Final = tuple(name.encode() for name in (*_TIMES, property_names.TIMER_DEL_UNIQ_KEY))


def has_only_a_time(items: str) -> bool:
    """Whether the steering properties are exactly one of the timer's, as for nearly all timer messages."""
    return items.startswith(_NAMES) and ITEM_SEP not in items


class TimerQueueParts(NamedTuple):
    """The common parts of all timer messages for one queue whose only steering property is a time.

    Attributes:
        most: The longest delay in ms.
        behind: The properties behind TIMER_OUT_MS, with the separator before them.
        handle: The recall handle up to the time, before base64; None without handles.
    """

    most: int
    behind: bytes
    handle: bytes | None


def may_have_a_time(items: str) -> bool:
    """A fast check whether steering properties may name a time."""
    return _OF_5 in items or property_names.START_DELIVER_TIME in items


def without_times(items: str) -> str:
    """Steering properties without the timer's."""
    return ITEM_SEP.join([item for item in items.split(ITEM_SEP) if not item.startswith(_NAMES)])


def time_property(properties: Mapping[str, str]) -> str | None:
    """The name of the timer's property among these; None without one."""
    return next((name for name in (*_TIMES, property_names.TIMER_DEL_UNIQ_KEY) if name in properties), None)


def was_delivered(properties: bytes) -> bool:
    """Whether the timer delivered the message before, as a retried one: then it is not a timer message any more."""
    return _OUT_ITEM in properties and _out_of(properties) is not None


class TimerSends:
    """Turns sends into timer messages."""

    def __init__(
        self, keys: LiveGroup[TimerKeys], broker_keys: LiveGroup[BrokerKeys], topics: BrokerTopics, clock: Clock
    ) -> None:
        self._keys = keys
        self._broker_keys = broker_keys
        self._topics = topics
        self._clock = clock

    def refused(self) -> MessageIllegal:
        """The error for a time that is invalid, too far away, or in the past for a marker."""
        limit = self._keys.current.timer_max_delay_sec * _MS_PER_SECOND
        return MessageIllegal(
            f"{ILLEGAL_TIME}, the delay time should not be bigger than the max delay {limit}ms; "
            "or if set del msg, the delay time should be bigger than the current time"
        )

    def queue_parts(self, topic: str, queue_id: int) -> TimerQueueParts | None:
        """The decisions of `schedule` for all messages of a queue, valid while the configuration does not change.

        None: call `schedule` for each message. The caller checks when a message is due, and whether it waited before.
        """
        keys = self._keys.current
        if not keys.timer_wheel_enable or self._topics.get(names.TIMER_TOPIC) is None:
            return None
        behind = with_real_queue(b"x", topic, queue_id)[1:]
        broker_name = self._broker_keys.current.broker_name
        handle = None if topic.startswith(names.RETRY_PREFIX) else f"v1 {topic} {broker_name} ".encode()
        return TimerQueueParts(keys.timer_max_delay_sec * _MS_PER_SECOND, behind, handle)

    def schedule(self, draft: Draft, items: str, wait: bytes) -> bytes | None:
        """Redirect a draft to the timer's topic if its properties have a time in the future; the given one is changed.

        Args:
            draft: The message to be delivered.
            items: Its steering properties.
            wait: The text to append to its properties: Apache stores WAIT with timer messages.

        Returns:
            the handle by which it can be cancelled, if it waits and has a unique key.

        Raises:
            MessageIllegal: the time is not a number, negative or too far away, or a marker's is in the past.
            TimerDisabled: timers are off.
            StoreError: the timer's topic could not be saved.
        """
        now = self._clock()
        properties = draft.properties
        if was_delivered(properties):
            return None
        time, deletes = self._due(items, now)
        if time is None:
            return None
        keys = self._keys.current
        if not keys.timer_wheel_enable:
            raise TimerDisabled
        if time - now > keys.timer_max_delay_sec * _MS_PER_SECOND:
            raise self.refused()
        if time <= now:
            if deletes:
                raise self.refused()
            return None
        if self._topics.get(names.TIMER_TOPIC) is None:
            self._topics.create_retry(names.TIMER_TOPIC, 1)
        topic, key = draft.topic, draft.unique_key
        draft.properties = with_real_queue(
            b"%b%b\x02%b\x01%d" % (properties, wait, _TIMER_OUT_MS, out_time(time)),
            topic,
            draft.queue_id,
        )
        draft.topic, draft.queue_id = names.TIMER_TOPIC, _TIMER_QUEUE
        draft.sys_flag &= _NOT_TRANSACTION
        if key is None or " " in key or topic.startswith(names.RETRY_PREFIX):
            return None
        return encode_recall_handle(topic, self._broker_keys.current.broker_name, time, key)

    def _due(self, items: str, now: int) -> tuple[int | None, bool]:
        """When a message is due, in ms since 1970, None without a time; and whether it is a marker."""
        name, _, value = items.partition(NAME_SEP)
        deletes = False
        if ITEM_SEP in value:
            properties = decode_properties(items)
            deletes = property_names.TIMER_DEL_UNIQ_KEY in properties
            name = next((name for name in _TIMES if name in properties), "")
            value = properties.get(name, "")
        unit = _UNITS.get(name)
        if unit is None:
            return None, deletes
        if not value.isdecimal():
            value = value.removeprefix("+")
        if len(value) > _MOST_DIGITS or not value.isdecimal():
            raise self.refused()
        return (now + int(value) * unit if unit else int(value)), deletes
