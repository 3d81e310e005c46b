"""The destination of a message that waits in one of the broker's internal topics: two of its properties name it.

Delayed messages and the half ones of transactions wait like this.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from rocketwire.wire.facts import properties as property_names
from rocketwire.wire.java import parse_natural_number
from rocketwire.wire.properties import property_value
from rocketwire.wire.property_edits import set_properties

_TOPIC: Final = property_names.REAL_TOPIC.encode()
_QUEUE_ID: Final = property_names.REAL_QUEUE_ID.encode()
_ITEM_SEP: Final = property_names.ITEM_SEP.encode()
_ITEM_SEP_BYTE: Final = _ITEM_SEP[0]
#: How both names begin.
_REAL: Final = b"REAL_"
_OPENING: Final = _ITEM_SEP + _TOPIC + property_names.NAME_SEP.encode()
_QUEUES_KEPT: Final = 1024
_LONGEST_KEPT: Final = 512


class RealQueue(NamedTuple):
    """Where a message is to be delivered."""

    topic: str
    queue_id: int


def with_real_queue(text: bytes, topic: str, queue_id: int) -> bytes:
    """A message's properties, as they are stored, with the topic and queue where it is to be delivered.

    Raises:
        PropertiesInvalid: the topic's name has a separator in it.
    """
    added = _added(topic, queue_id)
    if text and text[-1] != _ITEM_SEP_BYTE and text.rfind(_REAL) < 0:
        return text + added
    return set_properties(text, ((_TOPIC, topic.encode()), (_QUEUE_ID, b"%d" % queue_id)))


@lru_cache(maxsize=_QUEUES_KEPT)
def _added(topic: str, queue_id: int) -> bytes:
    return _ITEM_SEP + set_properties(b"", ((_TOPIC, topic.encode()), (_QUEUE_ID, b"%d" % queue_id)))


def real_queue(text: bytes) -> RealQueue | None:
    """Where the message with these properties is to be delivered; None when they do not name a destination."""
    at = text.rfind(_OPENING)  # this broker writes both behind all others, where most messages' are alike
    if at >= 0 and len(text) - at <= _LONGEST_KEPT:
        found = _read_cached(text[at:])
        if found is not None:
            return found
    return _read(text)


def _read(text: bytes) -> RealQueue | None:
    topic, queue_id = property_value(text, _TOPIC), parse_natural_number(property_value(text, _QUEUE_ID) or b"")
    return RealQueue(str(topic, "utf-8", "replace"), queue_id) if topic and queue_id is not None else None


_read_cached = lru_cache(maxsize=_QUEUES_KEPT)(_read)
