"""Decoding timer records: the waiting message, its topic and due time, or the message that a marker cancels."""

from __future__ import annotations

from typing import Final, NamedTuple

from rocketwire.store.offline.read.selected import SelectedMessage
from rocketwire.wire.facts import properties as names
from rocketwire.wire.java import INT32_MAX, parse_natural_number

#: No tuple has this hash.
NO_MARK: Final = -1
_SECOND: Final = 1000


class TimerMessage(NamedTuple):
    """A message of the timer's topic.

    Attributes:
        out: TIMER_OUT_MS, as it is stored; store.timer.units.due gives the time when the message is due.
        topic: Where it is to be delivered.
        queue_id: The queue of that topic.
        unique_key: Its producer's id for it, or None.
        message_id: The id a consumer sees: the unique key, or else the offset message id of this record.
        keys: The words of its keys.
        tags: Its tag or None.
        size: Bytes of the record.
        rolls: How often it was stored again in the timer's topic.
        physical_offset: Where the record is.
        queue_offset: Its offset in the timer's topic.
        stored: Store time of the record, ms.
        cancels: The unique key of the message that it cancels; None for a message that is to be delivered.
    """

    out: int
    topic: str
    queue_id: int
    unique_key: str | None
    message_id: str
    keys: tuple[str, ...]
    tags: str | None
    size: int
    rolls: int
    physical_offset: int
    queue_offset: int
    stored: int
    cancels: str | None

    @property
    def mark(self) -> int:
        """A number that a message shares with the marker that cancels it; `NO_MARK` without unique key.

        It is a hash of the unique key and the second of the slot: a marker cancels a message of the same slot, and with
        every precision the messages of a slot share a second. It is the same within one process only.
        """
        key = self.cancels if self.cancels is not None else self.unique_key
        return NO_MARK if key is None else hash((key, self.out // _SECOND))


def timer_message(one: SelectedMessage) -> TimerMessage | None:
    """A message of the timer's topic; None for one without a time or a topic to be delivered to."""
    properties, message = one.properties, one.message
    out = parse_natural_number(properties.get(names.TIMER_OUT_MS, ""))
    topic = properties.get(names.REAL_TOPIC)
    if out is None or not topic:
        return None
    return TimerMessage(
        out=out,
        topic=topic,
        queue_id=parse_natural_number(properties.get(names.REAL_QUEUE_ID, ""), INT32_MAX) or 0,
        unique_key=properties.get(names.UNIQ_KEY),
        message_id=one.message_id,
        keys=tuple(one.keys),
        tags=one.tags,
        size=one.size,
        rolls=parse_natural_number(properties.get(names.TIMER_ROLL_TIMES, ""), INT32_MAX) or 0,
        physical_offset=message.physical_offset,
        queue_offset=message.queue_offset,
        stored=message.store_timestamp,
        cancels=properties.get(names.TIMER_DEL_UNIQ_KEY),
    )
