"""Encodes rows as messages: a batch of rows at once, without a step for each row.

Invalid rows are found before any row of their batch is sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rocketwire.spark.endpoint.write.ids import UniqueKeys
from rocketwire.spark.errors import RowInvalid
from rocketwire.wire.facts import properties as names
from rocketwire.wire.facts.record import MAX_PROPERTIES_LENGTH
from rocketwire.wire.java import INT32_MAX, INT32_MIN
from rocketwire.wire.names import forbidden_send_reason, topic_name_error

Numbers = npt.NDArray[np.int64]

#: Names of properties that producers or brokers set (`__SHARDINGKEY` is set by applications). Rows that were read have
#: some; they describe the message that was read, not the new one.
OWN_NAMES: Final = frozenset(
    value
    for name, value in vars(names).items()
    if name.isupper() and isinstance(value, str) and name not in ("NAME_SEP", "ITEM_SEP", "KEY_SEP", "SHARDING_KEY")
)
_SEPARATORS: Final = f"[{names.NAME_SEP}{names.ITEM_SEP}]"
_TEXT: Final = pa.large_string()
_BYTES: Final = pa.large_binary()
_NOTHING: Final = pa.scalar("", _TEXT)
_ITEM_HEAD: Final = np.dtype([("size", ">i4"), ("magic", ">i4"), ("crc", ">i4"), ("flag", ">i4"), ("body", ">i4")])
_LENGTH: Final = np.dtype(">i2")
_QUEUE_BITS: Final = 34


class SendableRows(NamedTuple):
    """Rows of a batch that may be sent together, in their order.

    Attributes:
        topic: Their topic.
        queue_id: The queue that they name; None when they name none.
        delayed: Whether they are delivered later: each is sent by itself.
        items: The messages as `wire.batch` writes them, one after the other.
        bounds: Where in `items` each begins, and where the last ends.
        bodies, properties, flags: Of each the body, the encoded properties and the flag.
    """

    topic: str
    queue_id: int | None
    delayed: bool
    items: memoryview
    bounds: Numbers
    bodies: pa.Array
    properties: pa.Array
    flags: npt.NDArray[np.int32]


def sendable_rows(rows: pa.RecordBatch, *, topic: str | None, most: int, keys: UniqueKeys) -> Iterator[SendableRows]:
    """The messages of some rows, together where topic, queue and delay are the same.

    Args:
        rows: Columns as `columns.check` lets them pass.
        topic: Of rows that name none.
        most: Bytes of the largest body.
        keys: Makes their ids.

    Raises:
        RowInvalid: a row cannot be sent.
    """
    columns = {name: rows.column(number) for number, name in enumerate(rows.schema.names)}
    topics = _topics(columns.get("topic"), topic, len(rows))
    queues = _whole(columns.get("queue_id"), "queue_id", len(rows), missing=-1)
    delays = _whole(columns.get("delay_level"), "delay_level", len(rows), missing=0)
    flags = _whole(columns.get("flag"), "flag", len(rows), missing=0, least=INT32_MIN).astype(np.int32)
    bodies = _bodies(columns["body"], most)
    properties = _properties(columns, delays, keys.take(len(rows)))
    # One number a row of topic, queue (-1: any) and whether it is delayed.
    lanes = (topics.indices.to_numpy().astype(np.int64) << _QUEUE_BITS) + ((queues + 1) << 1) + (delays > 0)
    kinds = [int(lanes[0])] if len(lanes) and (lanes == lanes[0]).all() else np.unique(lanes).tolist()
    for kind in kinds:
        code, queue_id, delayed = kind >> _QUEUE_BITS, (kind % (1 << _QUEUE_BITS) >> 1) - 1, bool(kind & 1)
        own_bodies, own_properties, own_flags = bodies, properties, flags
        if len(kinds) > 1:
            mine = np.flatnonzero(lanes == kind)
            own_bodies, own_properties, own_flags = bodies.take(mine), properties.take(mine), flags[mine]
        items, bounds = encoded_items(own_bodies, own_properties, own_flags)
        topic_of_run = topics.dictionary[code].as_py()
        queue_of_run = None if queue_id < 0 else queue_id
        yield SendableRows(topic_of_run, queue_of_run, delayed, items, bounds, own_bodies, own_properties, own_flags)


def encoded_items(bodies: pa.Array, properties: pa.Array, flags: npt.NDArray[np.int32]) -> tuple[memoryview, Numbers]:
    """Messages in the format of a batch, and where each begins: `wire.batch.encode_batch` of all in one step."""
    heads = np.zeros(len(bodies), _ITEM_HEAD)
    body_sizes = pc.binary_length(bodies).to_numpy()
    property_sizes = pc.binary_length(properties).to_numpy()
    heads["size"] = _ITEM_HEAD.itemsize + _LENGTH.itemsize + body_sizes + property_sizes
    heads["flag"] = flags
    heads["body"] = body_sizes
    joined = pc.binary_join_element_wise(
        _fixed(heads), bodies, _fixed(property_sizes.astype(_LENGTH)), properties, pa.scalar(b"", _BYTES)
    )
    _, offsets, data = joined.buffers()
    return memoryview(data), np.frombuffer(offsets, np.int64, len(joined) + 1, joined.offset * 8)


def _fixed(values: npt.NDArray[np.generic]) -> pa.Array:
    """Numbers or structures as bytes."""
    offsets = np.arange(0, (len(values) + 1) * values.itemsize, values.itemsize, dtype=np.int64)
    return pa.LargeBinaryArray.from_buffers(
        _BYTES, len(values), [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(values))]
    )


def _topics(column: pa.Array | None, otherwise: str | None, count: int) -> pa.DictionaryArray:
    column = pa.nulls(count, _TEXT) if column is None else column.cast(_TEXT)
    if otherwise is not None:
        column = pc.fill_null(column, otherwise)
    if column.null_count:
        raise RowInvalid("a row has no topic", "Fill the column topic, or give the option topic")
    found = pc.dictionary_encode(column)
    for topic in found.dictionary.to_pylist():
        problem = topic_name_error(topic) or forbidden_send_reason(topic)
        if problem is not None:
            raise RowInvalid(f"messages cannot be sent to the topic {topic[:200]!r}: {problem}", "Rename the topic")
    return found


def _whole(column: pa.Array | None, name: str, count: int, *, missing: int, least: int = 0) -> Numbers:
    if column is None:
        return np.full(count, missing, np.int64)
    found: Numbers = pc.fill_null(column.cast(pa.int64()), missing).to_numpy(zero_copy_only=False)
    wrong = ((found < least) | (found > INT32_MAX)) & column.is_valid().to_numpy(zero_copy_only=False)
    if wrong.any():
        raise RowInvalid(
            f"a row has {found[wrong][0]} in the column {name}", f"It is null, or from {least} to {INT32_MAX}"
        )
    return found


def _bodies(column: pa.Array, most: int) -> pa.Array:
    if column.null_count:
        raise RowInvalid("a row has no body", "Filter such rows out, or fill the column body")
    bodies = column.cast(_TEXT).cast(_BYTES) if pa.types.is_string(column.type) else column.cast(_BYTES)
    sizes = pc.binary_length(bodies).to_numpy()
    if len(sizes) and sizes.min() == 0:
        raise RowInvalid("a row has a body of 0 bytes, which RocketMQ's clients do not send", "Filter such rows out")
    if len(sizes) and sizes.max() > most:
        raise RowInvalid(
            f"a row has a body of {sizes.max()} bytes, and {most} are allowed",
            "Where the broker's maxMessageSize allows more, so may the option maxMessageSize",
        )
    return bodies


def _properties(columns: dict[str, pa.Array], delays: Numbers, ids: pa.Array) -> pa.Array:
    """The encoded properties of each row."""
    item = f"{names.ITEM_SEP}{{}}{names.NAME_SEP}"
    parts = [_prefixed(f"{names.UNIQ_KEY}{names.NAME_SEP}", ids)]
    for column, name in (("tags", names.TAGS), ("keys", names.KEYS)):
        if column in columns:
            parts.append(_prefixed(item.format(name), _words(columns[column], column)))
    if delays.any():
        levels = pa.array(delays, mask=delays == 0).cast(_TEXT)
        parts.append(_prefixed(item.format(names.DELAY), levels))
    if "properties" in columns:
        parts.append(_others(columns["properties"]))
    encoded = pc.binary_join_element_wise(*parts, _NOTHING, null_handling="replace", null_replacement="").cast(_BYTES)
    sizes = pc.binary_length(encoded).to_numpy()
    if len(sizes) and sizes.max() > MAX_PROPERTIES_LENGTH:
        raise RowInvalid(
            f"a row's tags, keys and properties take {sizes.max()} bytes, and {MAX_PROPERTIES_LENGTH} are allowed",
            "Shorten them, or put them into the body",
        )
    return encoded


def _prefixed(prefix: str, values: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(pa.scalar(prefix, _TEXT), values, _NOTHING)


def _words(column: pa.Array, name: str) -> pa.Array:
    """Tags or keys as one text; null where there are none."""
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        rows, (words,) = _flat(column, [column.values])
        kept = pc.fill_null(pc.not_equal(words.cast(_TEXT), ""), False)  # noqa: FBT003 (what null becomes)
        column = _joined(rows[kept.to_numpy(zero_copy_only=False)], words.filter(kept), len(column), names.KEY_SEP)
    text = column.cast(_TEXT)
    _refuse_separators(text, name)
    return pc.if_else(pc.equal(text, ""), None, text)


def _others(column: pa.Array) -> pa.Array:
    """The items of a row's own properties, each behind a separator."""
    rows, (keys, values) = _flat(column, [column.keys, column.items])
    keys, values = keys.cast(_TEXT), values.cast(_TEXT)
    named = pc.and_(pc.not_equal(keys, ""), pc.not_equal(values, ""))
    kept = pc.fill_null(pc.and_(named, pc.invert(pc.is_in(keys, pa.array(sorted(OWN_NAMES), _TEXT)))), False)  # noqa: FBT003 (what null becomes)
    keys, values = keys.filter(kept), values.filter(kept)
    _refuse_separators(keys, "properties")
    _refuse_separators(values, "properties")
    pairs = pc.binary_join_element_wise(keys, values, pa.scalar(names.NAME_SEP, _TEXT))
    items = _prefixed(names.ITEM_SEP, pairs)
    return _joined(rows[kept.to_numpy(zero_copy_only=False)], items, len(column), "")


def _flat(column: pa.Array, children: list[pa.Array]) -> tuple[Numbers, list[pa.Array]]:
    """The row of each element of a list or map, and the elements: those of null rows left out."""
    offsets = column.offsets.to_numpy().astype(np.int64)
    rows = np.repeat(np.arange(len(column)), np.diff(offsets))
    flat = [child.slice(offsets[0], offsets[-1] - offsets[0]) for child in children]
    if column.null_count:
        there = column.is_valid().to_numpy(zero_copy_only=False)[rows]
        rows, flat = rows[there], [child.filter(pa.array(there)) for child in flat]
    return rows, flat


def _joined(rows: Numbers, texts: pa.Array, count: int, separator: str) -> pa.Array:
    """The texts of each row as one, empty where a row has none."""
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=count), out=offsets[1:])
    lists = pa.LargeListArray.from_arrays(pa.array(offsets), texts.cast(_TEXT))
    return pc.binary_join(lists, pa.scalar(separator, _TEXT))


def _refuse_separators(texts: pa.Array, column: str) -> None:
    wrong = pc.match_substring_regex(texts, _SEPARATORS)
    if pc.any(wrong).as_py():
        shown = texts.filter(wrong)[0].as_py()[:100]
        raise RowInvalid(
            f"the column {column} has a text with 0x01 or 0x02, which separate properties: {shown!r}", "Replace them"
        )
