"""The records of a transaction, written as Apache 4.9.7 writes them.

A half message is the producer's with its topic and queue among its properties; the others are made from it: the
message that a commit delivers, the copy that is put behind the half queue when its producer is asked, the one that
nobody answers for any more, and the op message that goes with each of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rocketwire.server.stored_message import StoredMessage, stored_text
from rocketwire.store.store import Draft
from rocketwire.wire import names
from rocketwire.wire import properties as property_names
from rocketwire.wire.codes import SysFlag
from rocketwire.wire.fast import tags_code

HALF: Final = (names.TRANS_HALF_TOPIC, 0)
OP: Final = (names.TRANS_OP_HALF_TOPIC, 0)
GROUP: Final = "CID_RMQ_SYS_TRANS"

REMOVE_TAG: Final = "d"
_OP_PROPERTIES: Final = f"WAIT\x01true\x02TAGS\x01{REMOVE_TAG}".encode()


def half_draft(draft: Draft, properties: Mapping[str, str]) -> Draft:
    """The draft as it waits for its transaction; the given one is changed.

    A delay is dropped, as the official producer drops it.

    Args:
        draft: The message as it is to be delivered.
        properties: All its properties, WAIT and CLUSTER among them.

    Raises:
        PropertiesInvalid: a separator stands in a name or value.
    """
    kept = {name: value for name, value in properties.items() if name != property_names.DELAY}
    kept[property_names.REAL_TOPIC] = draft.topic
    kept[property_names.REAL_QUEUE_ID] = str(draft.queue_id)
    draft.properties = stored_text(kept)
    draft.topic, draft.queue_id = HALF
    draft.sys_flag &= ~SysFlag.TRANSACTION_MASK
    return draft


def real_queue(properties: Mapping[str, str]) -> tuple[str, int] | None:
    """Topic and queue that a half message is for; None when it does not say."""
    topic, queue_id = properties.get(property_names.REAL_TOPIC), properties.get(property_names.REAL_QUEUE_ID, "")
    return (topic, int(queue_id)) if topic and queue_id.isascii() and queue_id.isdigit() else None


def real_draft(half: StoredMessage, properties: Mapping[str, str], queue: tuple[str, int]) -> Draft:
    """The message that a commit delivers: with all properties of the half message, as 4.9.7 stores it."""
    draft = half.moved(*queue, properties)
    draft.sys_flag = draft.sys_flag & ~SysFlag.TRANSACTION_MASK | SysFlag.TRANSACTION_COMMIT
    draft.prepared_offset = half.physical_offset
    return draft


def op_draft(half_offset: int, *, now: int, store_host: bytes) -> Draft:
    """The note that the half message at a queue offset is done with."""
    return Draft(
        topic=OP[0],
        queue_id=OP[1],
        body=b"%d" % half_offset,
        properties=_OP_PROPERTIES,
        flag=0,
        sys_flag=SysFlag.TRANSACTION_NOT,
        born_timestamp=now,
        born_host=store_host,
        tags_code=tags_code(REMOVE_TAG),
    )


def done_with(op: StoredMessage) -> list[int]:
    """Queue offsets of the half messages that an op message is about: one of 4.9's, any number of 5.x's."""
    if op.decoded_properties().get(property_names.TAGS) != REMOVE_TAG:
        return []
    return [int(number) for number in bytes(op.body).split(b",") if number.isdigit()]
