"""Timer messages as they are sent: when one is due, and how it waits in the timer's topic.

A client says it by a property: 5.x's TIMER_DELAY_SEC, TIMER_DELAY_MS and TIMER_DELIVER_MS, of which the first that is
there counts, or ``__STARTDELIVERTIME`` of cloud services. The message is stored in queue 0 of rmq_sys_wheel_timer, as
5.5.0 stores it, with its topic and queue among its properties and the time as TIMER_OUT_MS: to the millisecond, as
`store.timer.units` says it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from rocketwire.server.config.live import LiveConfig
from rocketwire.server.core.clock import Clock
from rocketwire.server.core.errors import MessageIllegal, TimerDisabled
from rocketwire.server.messages.real_queue import with_real_queue
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.store.append.drafts import Draft
from rocketwire.store.timer.units import out_time
from rocketwire.wire import names
from rocketwire.wire import properties as property_names
from rocketwire.wire.codes import SysFlag
from rocketwire.wire.properties import ITEM_SEP, NAME_SEP, decode_properties
from rocketwire.wire.property_edits import reader_of
from rocketwire.wire.recall_handle import encode_recall_handle

_MS_PER_SECOND: Final = 1000
#: ms in one, 0 for a moment in ms since 1970; the first that a message has counts.
_UNITS: Final = {
    property_names.TIMER_DELAY_SEC: _MS_PER_SECOND,
    property_names.TIMER_DELAY_MS: 1,
    property_names.TIMER_DELIVER_MS: 0,
    property_names.START_DELIVER_TIME: 0,
}
_TIMES: Final = tuple(_UNITS)
_MOST_DIGITS: Final = 19  # of a Java long
#: How the names begin that 5.x's clients set.
_OF_5: Final = "TIMER_D"
_NAMES: Final = (_OF_5, property_names.START_DELIVER_TIME)
_TIMER_QUEUE: Final = 0
_OUT_ITEM: Final = f"{property_names.TIMER_OUT_MS}{NAME_SEP}".encode()
_out_of: Final = reader_of(property_names.TIMER_OUT_MS.encode())
_NOT_TRANSACTION: Final = ~int(SysFlag.TRANSACTION_MASK)
#: What 5.5.0 takes from a message that has a delay level besides.
TIMES_OF_5: Final = tuple(name.encode() for name in _TIMES[:-1])


def is_time(items: str) -> bool:
    """Whether steering properties are one of the timer's and no other: as nearly all of timer messages."""
    return items.startswith(_NAMES) and ITEM_SEP not in items


class PlainTimer(NamedTuple):
    """What is the same of all timer messages for one queue that name a time and have nothing else to them.

    Attributes:
        most: How many ms one may wait.
        behind: The properties behind TIMER_OUT_MS, with the separator before them.
        handle: What stands before the time in recall handles, before base64; None where there are none.
    """

    most: int
    behind: bytes
    handle: bytes | None


def may_name_a_time(items: str) -> bool:
    """Whether steering properties may name a time; what has nothing to do with timers is told apart fast."""
    return _OF_5 in items or property_names.START_DELIVER_TIME in items


def without_times(items: str) -> str:
    """Steering properties without the timer's."""
    return ITEM_SEP.join([item for item in items.split(ITEM_SEP) if not item.startswith(_NAMES)])


def named_time(properties: Mapping[str, str]) -> str | None:
    """The name of a property that is the timer's; None when there is none."""
    return next((name for name in (*_TIMES, property_names.TIMER_DEL_UNIQ_KEY) if name in properties), None)


def was_delivered(properties: bytes) -> bool:
    """Whether a message has been a timer message before, as one that is tried again: then it is none any more."""
    return _OUT_ITEM in properties and _out_of(properties) is not None


class TimerSends:
    """Makes timer messages of sends."""

    def __init__(self, config: LiveConfig, topics: BrokerTopics, clock: Clock) -> None:
        self._config = config
        self._topics = topics
        self._clock = clock

    def refused(self) -> MessageIllegal:
        """What says that a time is none, or too far away, or in the past for a message that is to cancel another."""
        limit = self._config.current.timer_max_delay_sec * _MS_PER_SECOND
        return MessageIllegal(
            f"timer message illegal, the delay time should not be bigger than the max delay {limit}ms; "
            "or if set del msg, the delay time should be bigger than the current time"
        )

    def plain(self, topic: str, queue_id: int) -> PlainTimer | None:
        """What `schedule` decides about all messages for a queue, as long as the configuration stays as it is.

        None: it is for `schedule` to say. When a message is due, and whether it waited before, is to be looked at.
        """
        config = self._config.current
        if not config.timer_wheel_enable or self._topics.get(names.TIMER_TOPIC) is None:
            return None
        behind = with_real_queue(b"x", topic, queue_id)[1:]
        handle = None if topic.startswith(names.RETRY_PREFIX) else f"v1 {topic} {config.broker_name} ".encode()
        return PlainTimer(config.timer_max_delay_sec * _MS_PER_SECOND, behind, handle)

    def schedule(self, draft: Draft, items: str, wait: bytes) -> bytes | None:
        """Have a draft wait if its properties say so and the time is to come; the given one is changed.

        Args:
            draft: The message as it is to be delivered.
            items: Its steering properties.
            wait: What its properties are to have behind them, as Apache stores WAIT with messages that wait.

        Returns:
            the handle by which it can be cancelled, if it waits and has a unique key.

        Raises:
            MessageIllegal: the time is no number, negative or too far away, or in the past where it is to cancel.
            TimerDisabled: timers are off.
            StoreError: the timer's topic could not be written down.
        """
        now = self._clock()
        properties = draft.properties
        if was_delivered(properties):
            return None
        time, deletes = self._due(items, now)
        if time is None:
            return None
        config = self._config.current
        if not config.timer_wheel_enable:
            raise TimerDisabled
        if time - now > config.timer_max_delay_sec * _MS_PER_SECOND:
            raise self.refused()
        if time <= now:
            if deletes:
                raise self.refused()
            return None
        if self._topics.get(names.TIMER_TOPIC) is None:
            self._topics.create_retry(names.TIMER_TOPIC, 1)
        topic, key = draft.topic, draft.unique_key
        draft.properties = with_real_queue(
            b"%b%b\x02TIMER_OUT_MS\x01%d" % (properties, wait, out_time(time)),
            topic,
            draft.queue_id,
        )
        draft.topic, draft.queue_id = names.TIMER_TOPIC, _TIMER_QUEUE
        draft.sys_flag &= _NOT_TRANSACTION
        if key is None or " " in key or topic.startswith(names.RETRY_PREFIX):
            return None
        return encode_recall_handle(topic, config.broker_name, time, key)

    def refuse_half(self, draft: Draft, items: str) -> None:
        """Refuse a half message for a set time: Apache would deliver it into the half topic.

        Raises:
            MessageIllegal: it is one.
        """
        name = named_time(decode_properties(items))
        if name is not None and not was_delivered(draft.properties):
            raise MessageIllegal(f"property {name}: a transaction's message is not delivered at a set time")

    def _due(self, items: str, now: int) -> tuple[int | None, bool]:
        """When a message is due, in ms since 1970, None for no time; and whether it is to cancel another."""
        name, _, value = items.partition(NAME_SEP)
        deletes = False
        if ITEM_SEP in value:
            said = decode_properties(items)
            deletes = property_names.TIMER_DEL_UNIQ_KEY in said
            name = next((name for name in _TIMES if name in said), "")
            value = said.get(name, "")
        unit = _UNITS.get(name)
        if unit is None:
            return None, deletes
        if not value.isdecimal():
            value = value.removeprefix("+")
        if len(value) > _MOST_DIGITS or not value.isdecimal():
            raise self.refused()
        return (now + int(value) * unit if unit else int(value)), deletes
