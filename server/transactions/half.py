"""The records of a transaction, written as Apache 4.9.7 writes them.

A half message is the producer's with its topic and queue among its properties; the others are made from it: the
message that a commit delivers, the copy that is put behind the half queue when a back-check is sent, the one that
has used up its back-checks, and the op message that goes with each of them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from rocketwire.server.messages.real_queue import with_real_queue
from rocketwire.server.messages.stored_message import StoredMessage
from rocketwire.store.append.drafts import Draft
from rocketwire.wire import names
from rocketwire.wire.facts import properties as property_names
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.facts.record import HOST_BITS
from rocketwire.wire.java import INT32_MAX, parse_natural_number
from rocketwire.wire.properties import SplitProperties, property_value
from rocketwire.wire.property_edits import remove_properties
from rocketwire.wire.stored_properties import tags_code

HALF: Final = (names.TRANS_HALF_TOPIC, 0)
OP: Final = (names.TRANS_OP_HALF_TOPIC, 0)
GROUP: Final = "CID_RMQ_SYS_TRANS"

REMOVE_TAG: Final = "d"
OP_TAGS_CODE: Final = tags_code(REMOVE_TAG)
OP_PROPERTIES: Final = f"{property_names.WAIT}\x01true\x02{property_names.TAGS}\x01{REMOVE_TAG}".encode()
_TAGS: Final = property_names.TAGS.encode()
_DELAY: Final = property_names.DELAY.encode()
_REAL_TOPIC: Final = property_names.REAL_TOPIC.encode()
_REAL_QUEUE_ID: Final = property_names.REAL_QUEUE_ID.encode()
_PRODUCER_GROUP: Final = property_names.PRODUCER_GROUP.encode()
_WAIT: Final = property_names.WAIT.encode()
_TRUE: Final = b"true"
_TEXTS_KEPT: Final = 1024
_LONGEST_KEPT: Final = 1024  # bytes
#: Bits for the lengths of a record's addresses are set by the store.
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
        properties = remove_properties(properties, (_DELAY,))
    draft.properties = with_real_queue(properties, draft.topic, draft.queue_id)
    draft.topic, draft.queue_id = HALF
    draft.sys_flag &= ~SysFlag.TRANSACTION_MASK
    return draft


class HalfMessageProperties(NamedTuple):
    """A half message's properties: its producer's group, the queue that it is for, WAIT, the hash of TAGS."""

    group: bytes | None
    queue: tuple[str, int] | None
    wait: bool
    tags: int


def read_half_properties(properties: bytes) -> HalfMessageProperties:
    """Read a half message's properties, with or without those that differ between all messages."""
    return _read_cached(properties) if len(properties) <= _LONGEST_KEPT else _read(properties)


def _read(properties: bytes) -> HalfMessageProperties:
    topic = property_value(properties, _REAL_TOPIC)
    queue_id = parse_natural_number(property_value(properties, _REAL_QUEUE_ID) or b"", INT32_MAX)
    queue = (str(topic, "utf-8", "replace"), queue_id) if topic and queue_id is not None else None
    wait = (property_value(properties, _WAIT) or _TRUE).lower() == _TRUE
    tags = property_value(properties, _TAGS)
    return HalfMessageProperties(
        property_value(properties, _PRODUCER_GROUP),
        queue,
        wait,
        0 if tags is None else tags_code(str(tags, "utf-8", "replace")),
    )


_read_cached = lru_cache(maxsize=_TEXTS_KEPT)(_read)  # those of one producer are mostly the same


def committed_draft(half: StoredMessage, queue: tuple[str, int], own: SplitProperties, tags: int) -> Draft:
    """The message that a commit delivers: with all properties of the half message, as 4.9.7 stores it."""
    return Draft(
        queue[0],
        queue[1],
        half.body,
        half.properties,
        half.flag,
        half.sys_flag & _KEPT_FLAGS | SysFlag.TRANSACTION_COMMIT,
        half.born_timestamp,
        half.born_host,
        half.reconsume_times,
        half.physical_offset,
        tags,
        own.unique_key,
        own.keys,
    )


def op_draft(half_offset: int, now: int, store_host: bytes) -> Draft:
    """The note, of now (ms since 1970), that the half message at a queue offset is done with."""
    body = b"%d" % half_offset
    return Draft(OP[0], OP[1], body, OP_PROPERTIES, 0, SysFlag.TRANSACTION_NOT, now, store_host, 0, 0, OP_TAGS_CODE)


def decided_offsets(op: StoredMessage) -> list[int]:
    """Queue offsets of the half messages that an op message is about: one of 4.9's, any number of 5.x's."""
    if property_value(op.properties, _TAGS) != REMOVE_TAG.encode():
        return []
    numbers = map(parse_natural_number, bytes(op.body).split(b","))
    return [number for number in numbers if number is not None]
