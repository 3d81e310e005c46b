"""The property text that clients send as the broker stores it, of a single message and of a batch's messages."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from rocketwire.wire.batch import decode_batch
from rocketwire.wire.facts import properties as names
from rocketwire.wire.java import hash_map_order, string_hash
from rocketwire.wire.properties import decode_properties, decode_stored_properties, encode_properties
from rocketwire.wire.property_edits import remove_properties

MOST_MESSAGES: Final = 8192
"""Of a batch."""
MOST_PROPERTIES: Final = 131_072
"""Of all messages of a batch; the kernel counts as many."""
_POP_CK: Final = names.POP_CK.encode()
_SHORTEST_ITEM: Final = 3  # the official decoder skips anything shorter


class StoredProperties(NamedTuple):
    """Property text as it goes to the commit log, with the values that the broker needs of it.

    As in `decode_properties`, the last of equal names counts, and one without a value is ignored.
    """

    data: bytes
    unique_key: str | None
    keys: str | None
    tags: str | None
    wait: str | None  # WAIT, which only a batch's `data` keeps: "true" or nothing means to wait for the flush
    steering: str  # the properties that change where or when the message is delivered, as property text


STEERING_NAMES: Final = frozenset(
    {
        names.DELAY,
        names.TRANSACTION_PREPARED,
        names.TIMER_DELAY_SEC,
        names.TIMER_DELAY_MS,
        names.TIMER_DELIVER_MS,
        names.START_DELIVER_TIME,
        names.TIMER_DEL_UNIQ_KEY,
        names.INNER_NUM,  # refused, as by Apache 5.5.0: it marks a record that holds a batch
    }
)


BROKER_NAMES: Final = frozenset({names.CLUSTER, names.MSG_REGION, names.TRACE_ON, names.POP_CK})
"""The properties that only the broker sets: a client's values are not stored, as by Apache since 5.0.

A consumer that forwards a message sends them: POP_CK of a popped one, the others of every one.
"""


def stored_properties(text: str, broker_items: str) -> StoredProperties:
    r"""Rewrite a client's property text as it is stored: WAIT dropped, and the broker's own properties added.

    `broker_items` is their text, as ``CLUSTER\x01name``; the client's values of `BROKER_NAMES` are dropped, and so are
    items without a value, as by Apache's broker.
    """
    unique_key = keys = tags = wait = None
    steering = ""
    kept = []
    for item in text.split("\x02"):
        name, _, value = item.partition("\x01")
        if not value or not name or len(item) < _SHORTEST_ITEM:
            continue
        if name == names.UNIQ_KEY:
            unique_key = value
        elif name == names.WAIT:
            wait = value
            continue
        elif name == names.TAGS:
            tags = value
        elif name == names.KEYS:
            keys = value
        elif name in BROKER_NAMES:
            continue
        elif name in STEERING_NAMES:
            steering = f"{steering}\x02{item}" if steering else item
        kept.append(item)
    kept.append(broker_items)
    return StoredProperties("\x02".join(kept).encode(), unique_key, keys, tags, wait, steering)


def batch_properties(text: str, broker_items: str) -> StoredProperties:
    """Rewrite the property text of a batch's header as a 4.9.7 broker appends it to each message's.

    Unlike a single message's it keeps WAIT.
    """
    items = decode_properties(text)
    items.pop(names.POP_CK, None)
    steering = encode_properties({name: value for name, value in items.items() if name in STEERING_NAMES})
    items |= decode_properties(broker_items)
    data = encode_properties({name: items[name] for name in hash_map_order(items)}).encode()
    unique_key, keys, tags, wait = map(items.get, (names.UNIQ_KEY, names.KEYS, names.TAGS, names.WAIT))
    return StoredProperties(data, unique_key, keys, tags, wait, steering)


class BatchMessage(NamedTuple):
    """A message of a batch, with the values that the broker needs of its properties.

    These are stored as they came, but without a POP_CK.

    It is stored with the batch's properties behind them: keys and tags of the batch replace its own.
    """

    flag: int
    body: bytes
    properties: bytes
    unique_key: str | None
    keys: str | None
    tags: str | None
    steering: bool


def batch_messages(body: bytes) -> list[BatchMessage]:
    """The messages of a batch's body.

    Raises:
        BatchTooLarge: there are too many, or too many properties.
        BatchInvalid: a message is cut short, or its lengths do not add up.
    """
    items = decode_batch(body, most_messages=MOST_MESSAGES, most_properties=MOST_PROPERTIES)
    return [_batch_message(*item) for item in items]


def _batch_message(flag: int, body: bytes | memoryview, properties: bytes) -> BatchMessage:
    properties = remove_properties(properties, (_POP_CK,))
    values = decode_stored_properties(properties)
    unique_key, keys, tags = map(values.get, (names.UNIQ_KEY, names.KEYS, names.TAGS))
    steering = not STEERING_NAMES.isdisjoint(values)
    return BatchMessage(flag, bytes(body), properties, unique_key, keys, tags, steering)


@lru_cache(maxsize=4096)
def tags_code(tags: str | None) -> int:
    """The consume queue's tag code: the Java hash of TAGS, 0 without a tag."""
    return string_hash(tags) if tags else 0
