"""Whose a stored message is that a request names by its place in the log, and no topic with it.

A place is believed only if the message's queue leads there: the body of a message may hold bytes that look like another
record, of any topic and as long as its sender likes.
"""

from __future__ import annotations

from typing import Final

from rocketwire.server.core.server_error import ServerError
from rocketwire.server.messages.stored_message import stored_message
from rocketwire.store.protocol import Messages
from rocketwire.wire import names, properties
from rocketwire.wire.errors import RecordInvalid
from rocketwire.wire.property_edits import reader_of

HOLDING_TOPICS: Final = frozenset(
    {
        names.SCHEDULE_TOPIC,
        names.TRANS_HALF_TOPIC,
        names.TRANS_CHECK_MAX_TIME_TOPIC,
        names.TIMER_TOPIC,
        *names.LATER_SYSTEM_TOPICS,
    }
)
"""Where messages of all topics are kept for a while; what is theirs says REAL_TOPIC, which the broker writes."""

_real_topic: Final = reader_of(properties.REAL_TOPIC.encode())


class NoMessageThere(ServerError):
    """No message begins at a place of the log; it cannot be said who may have what is there."""

    def __init__(self, offset: int) -> None:
        super().__init__(f"no message begins at offset {offset} of the commit log")


def owner_at(store: Messages, offset: int) -> str:
    """The topic that the message at a place in the log belongs to: the real one where it waits for something.

    Raises:
        NoMessageThere: no message begins there, or its queue does not lead there (any more).
    """
    record = store.record_at(offset)
    try:
        message = None if record is None else stored_message(record)
    except RecordInvalid:
        message = None
    if message is None or store.place((message.topic, message.queue_id), message.queue_offset) != offset:
        raise NoMessageThere(offset)
    if message.topic in HOLDING_TOPICS:
        real = _real_topic(message.properties)
        if real:
            return str(real, "utf-8", "replace")
    return message.topic
