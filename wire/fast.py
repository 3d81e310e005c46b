"""The fast path of sends: rewriting the property text that clients send into the text that is stored.

Property tests prove each function equal to its declared counterpart (`wire.properties`, `wire.batch`). The headers of
sends are decoded by `fast_headers`, their answers written by `send_answers`.
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct
from typing import Final, NamedTuple

from rocketwire.wire.batch import decode_batch
from rocketwire.wire.errors import BatchInvalid, BatchTooLarge
from rocketwire.wire.facts import properties as names
from rocketwire.wire.java import hash_map_order, string_hash
from rocketwire.wire.properties import decode_properties, encode_properties
from rocketwire.wire.property_edits import remove_properties

_BATCH_HEAD: Final = Struct(">iiiii")
_BATCH_LEAST: Final = _BATCH_HEAD.size + 2
MOST_MESSAGES: Final = 8192
"""Of a batch."""
MOST_PROPERTIES: Final = 131_072
"""Of all messages of a batch; the kernel counts as many."""
_ITEM_SEP: Final = b"\x02"
_POP_CK: Final = names.POP_CK.encode()
_INT16_HIGH: Final = 0x7F
_MOST_BATCH_TEXTS: Final = 64
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


_new = tuple.__new__  # of a NamedTuple, without its checks

STEERING_NAMES: Final = frozenset(
    {
        names.DELAY,
        names.TRANSACTION_PREPARED,
        names.TIMER_DELAY_SEC,
        names.TIMER_DELAY_MS,
        names.TIMER_DELIVER_MS,
        names.START_DELIVER_TIME,
        names.TIMER_DEL_UNIQ_KEY,
        names.INNER_NUM,  # refused, as by Apache 5.5.0: it says that the record holds a batch
    }
)


BROKER_NAMES: Final = frozenset({names.CLUSTER, names.MSG_REGION, names.TRACE_ON, names.POP_CK})
"""The properties that only the broker says: a client's values are not stored, as by Apache since 5.0.

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
    return _new(StoredProperties, ("\x02".join(kept).encode(), unique_key, keys, tags, wait, steering))


@lru_cache(maxsize=_MOST_BATCH_TEXTS)
def batch_properties(text: str, broker_items: str) -> StoredProperties:
    """Rewrite the property text of a batch's header as a 4.9.7 broker appends it to each message's.

    Unlike a single message's it keeps WAIT. Batches of one 4.x client have few such texts, or just one; 5.x clients
    give each batch a UNIQ_KEY.
    """
    items = decode_properties(text)
    items.pop(names.POP_CK, None)
    steering = encode_properties({name: value for name, value in items.items() if name in STEERING_NAMES})
    items |= decode_properties(broker_items)
    data = encode_properties({name: items[name] for name in hash_map_order(items)}).encode()
    unique_key, keys, tags, wait = map(items.get, (names.UNIQ_KEY, names.KEYS, names.TAGS, names.WAIT))
    return _new(StoredProperties, (data, unique_key, keys, tags, wait, steering))


class BatchMessage(NamedTuple):
    """A message of a batch, with the values that the broker needs of its own properties.

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
    """The messages of a batch's body, as `decode_batch` reads them.

    Raises:
        BatchTooLarge: there are too many, or too many properties.
        BatchInvalid: a message is cut short, or its lengths do not add up.
    """
    result: list[BatchMessage] = []
    append = result.append
    unpack = _BATCH_HEAD.unpack_from
    at, end = 0, len(body)
    items = 0
    while at < end:
        if end - at < _BATCH_LEAST or len(result) == MOST_MESSAGES:
            raise _why_refused(body, len(result), items)
        total, _, _, flag, body_length = unpack(body, at)
        body_at = at + _BATCH_HEAD.size
        length_at = body_at + body_length
        at += total
        properties = body[length_at + 2 : at]
        items += properties.count(_ITEM_SEP)
        # The length of the properties must be what is left of the message, and a positive int16.
        if (
            body_length < 0
            or not length_at + 2 <= at <= end
            or body[length_at] << 8 | body[length_at + 1] != len(properties)
            or body[length_at] > _INT16_HIGH
            or items > MOST_PROPERTIES
        ):
            raise _why_refused(body, len(result), items)
        if _POP_CK in properties:
            properties = remove_properties(properties, (_POP_CK,))
        unique_key, keys, tags, steering = _known_values(properties)
        append(_new(BatchMessage, (flag, body[body_at:length_at], properties, unique_key, keys, tags, steering)))
    return result


def _known_values(properties: bytes) -> tuple[str | None, str | None, str | None, bool]:
    """UNIQ_KEY, KEYS and TAGS of a message of a batch, and whether one of its properties steers."""
    unique_key = keys = tags = None
    steering = False
    for item in str(properties, "utf-8", "replace").split("\x02"):
        name, _, value = item.partition("\x01")
        if not value:
            continue
        if name == names.UNIQ_KEY:
            unique_key = value
        elif name == names.TAGS:
            tags = value
        elif name == names.KEYS:
            keys = value
        elif name in STEERING_NAMES:
            steering = True
    return unique_key, keys, tags, steering


def _why_refused(body: bytes, messages: int, properties: int) -> BatchInvalid:
    """What is wrong with a batch: it is too large, or what the declared decoder finds."""
    if messages == MOST_MESSAGES:
        return BatchTooLarge("batchMessages", MOST_MESSAGES)
    if properties > MOST_PROPERTIES:
        return BatchTooLarge("batchProperties", MOST_PROPERTIES)
    reason = "the batch cannot be read"
    try:
        decode_batch(body)
    except BatchInvalid as error:
        reason = str(error)
    return BatchInvalid(reason)


_TAG_CODES: dict[str, int] = {}
_TAG_CODES_KEPT: Final = 4096


def tags_code(tags: str | None) -> int:
    """The consume queue's tag code: the Java hash of TAGS, 0 without a tag."""
    if not tags:
        return 0
    code = _TAG_CODES.get(tags)
    if code is None:
        if len(_TAG_CODES) >= _TAG_CODES_KEPT:
            _TAG_CODES.clear()
        code = _TAG_CODES[tags] = string_hash(tags)
    return code
