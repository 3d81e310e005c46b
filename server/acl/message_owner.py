"""The owner of a stored message that a request names only by its physical offset.

An offset counts only if the consume queue has it: the body of a message may contain bytes that look like another
record, of any topic.
"""

from __future__ import annotations

from typing import Final

from rocketwire.server.core.server_error import ServerError
from rocketwire.server.messages.stored_message import StoredMessage, stored_message
from rocketwire.store.protocol import StoreProtocol
from rocketwire.wire import names
from rocketwire.wire.errors import RecordInvalid
from rocketwire.wire.facts import properties
from rocketwire.wire.properties import property_reader

HOLDING_TOPICS: Final = frozenset(
    {
        names.SCHEDULE_TOPIC,
        names.TRANS_HALF_TOPIC,
        names.TRANS_CHECK_MAX_TIME_TOPIC,
        names.TIMER_TOPIC,
        *names.SYSTEM_TOPICS_OF_5X,
    }
)
"""Topics that hold messages of all topics for a while; REAL_TOPIC, which the broker writes, has the real one."""

_real_topic: Final = property_reader(properties.REAL_TOPIC.encode())


class NoMessageThere(ServerError):
    """No message begins at a physical offset, so its owner is unknown."""

    def __init__(self, offset: int) -> None:
        super().__init__(f"no message begins at offset {offset} of the commit log")


def owner_at(store: StoreProtocol, offset: int) -> str:
    """The topic of the message at a physical offset: the real one if the message waits in another.

    Raises:
        NoMessageThere: no message begins there, or its consume queue does not (or no longer) have it.
    """
    record = store.record_at(offset)
    try:
        message = None if record is None else stored_message(record)
    except RecordInvalid:
        message = None
    if message is None or store.place((message.topic, message.queue_id), message.queue_offset) != offset:
        raise NoMessageThere(offset)
    return real_topic(message)


def real_topic(message: StoredMessage) -> str:
    """The topic of a message; the one that it is for if it waits in another."""
    if message.topic in HOLDING_TOPICS:
        real = _real_topic(message.properties)
        if real:
            return str(real, "utf-8", "replace")
    return message.topic
