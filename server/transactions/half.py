"""The records of a transaction, written as Apache 4.9.7 writes them.

A half message is the producer's with its topic and queue among its properties; the others are made from it: the
message that a commit delivers, the copy that is put behind the half queue when its producer is asked, the one that
nobody answers for any more, and the op message that goes with each of them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from rocketwire.server.real_queue import with_real_queue
from rocketwire.server.stored_message import StoredMessage
from rocketwire.store.layout.record import HOST_BITS
from rocketwire.store.store import Draft
from rocketwire.wire import names
from rocketwire.wire import properties as property_names
from rocketwire.wire.codes import SysFlag
from rocketwire.wire.fast import tags_code
from rocketwire.wire.property_edits import value_of, without

HALF: Final = (names.TRANS_HALF_TOPIC, 0)
OP: Final = (names.TRANS_OP_HALF_TOPIC, 0)
GROUP: Final = "CID_RMQ_SYS_TRANS"

REMOVE_TAG: Final = "d"
_REMOVE_TAG_CODE: Final = tags_code(REMOVE_TAG)
_OP_PROPERTIES: Final = f"WAIT\x01true\x02TAGS\x01{REMOVE_TAG}".encode()
_TAGS: Final = property_names.TAGS.encode()
_KEYS: Final = property_names.KEYS.encode()
_UNIQ_KEY: Final = property_names.UNIQ_KEY.encode()
_DELAY: Final = property_names.DELAY.encode()
_REAL_TOPIC: Final = property_names.REAL_TOPIC.encode()
_REAL_TOPIC_ITEM: Final = f"{property_names.ITEM_SEP}{property_names.REAL_TOPIC}{property_names.NAME_SEP}".encode()
_REAL_QUEUE_ID: Final = property_names.REAL_QUEUE_ID.encode()
_ENDS_KEPT: Final = 1024
#: A record's own bits, which say how long its addresses are, are for the store to set.
_KEPT_FLAGS: Final = ~(HOST_BITS | SysFlag.TRANSACTION_MASK)


def half_draft(draft: Draft) -> Draft:
    """The draft as it waits for its transaction; the given one is changed.

    A delay is dropped, as the official producer drops it.

    Args:
        draft: The message as it is to be delivered, with WAIT among its properties if its producer set it.

    Raises:
        PropertiesInvalid: a separator stands in the topic's name.
    """
    properties = draft.properties
    if _DELAY in properties:
        properties = without(properties, (_DELAY,))
    draft.properties = with_real_queue(properties, draft.topic, draft.queue_id)
    draft.topic, draft.queue_id = HALF
    draft.sys_flag &= ~SysFlag.TRANSACTION_MASK
    return draft


def real_queue(properties: bytes) -> tuple[str, int] | None:
    """Topic and queue that a half message is for; None when it does not say."""
    at = properties.rfind(_REAL_TOPIC_ITEM)  # where this broker writes both, behind all others
    return (_queue_said_in(properties[at:]) if at >= 0 else None) or _queue_said_in(properties)


# A producer's messages have few such ends.
@lru_cache(maxsize=_ENDS_KEPT)
def _queue_said_in(properties: bytes) -> tuple[str, int] | None:
    topic, queue_id = value_of(properties, _REAL_TOPIC), value_of(properties, _REAL_QUEUE_ID) or b""
    return (str(topic, "utf-8", "replace"), int(queue_id)) if topic and queue_id.isdigit() else None


def real_draft(half: StoredMessage, queue: tuple[str, int]) -> Draft:
    """The message that a commit delivers: with all properties of the half message, as 4.9.7 stores it."""
    properties = half.properties
    return Draft(
        queue[0],
        queue[1],
        half.body,
        properties,
        half.flag,
        half.sys_flag & _KEPT_FLAGS | SysFlag.TRANSACTION_COMMIT,
        half.born_timestamp,
        half.born_host,
        half.reconsume_times,
        half.physical_offset,
        tags_code(_text_of(properties, _TAGS)),
        _text_of(properties, _UNIQ_KEY),
        _text_of(properties, _KEYS),
    )


def _text_of(properties: bytes, name: bytes) -> str | None:
    value = value_of(properties, name)
    return None if value is None else str(value, "utf-8", "replace")


def op_draft(half_offset: int, *, now: int, store_host: bytes) -> Draft:
    """The note that the half message at a queue offset is done with."""
    body = b"%d" % half_offset
    return Draft(
        OP[0], OP[1], body, _OP_PROPERTIES, 0, SysFlag.TRANSACTION_NOT, now, store_host, 0, 0, _REMOVE_TAG_CODE
    )


def done_with(op: StoredMessage) -> list[int]:
    """Queue offsets of the half messages that an op message is about: one of 4.9's, any number of 5.x's."""
    if value_of(op.properties, _TAGS) != REMOVE_TAG.encode():
        return []
    return [int(number) for number in bytes(op.body).split(b",") if number.isdigit()]
