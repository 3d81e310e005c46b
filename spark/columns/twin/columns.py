"""Each column of a record, made for many records at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rocketwire.spark.columns.plain_arrays import microseconds
from rocketwire.spark.columns.twin.endings import last_values
from rocketwire.spark.columns.twin.gathering import column_of, gathered, octets_of, with_nulls
from rocketwire.spark.columns.twin.hosts import host_texts, offset_ids
from rocketwire.spark.columns.twin.places import records_at
from rocketwire.spark.columns.twin.texts import Parts, Texts, texts_of
from rocketwire.spark.schema import arrow_schema
from rocketwire.store.records.columns import Buffer
from rocketwire.wire.facts import properties as names_of

#: Columns that are made of the properties; for tags alone the rest need not be decoded.
_OF_TEXTS: Final = frozenset({"message_id", "keys", "properties"})
_LAST_ASCII: Final = 0x7F
#: What the schema calls otherwise than the store's columns do.
_IN_RECORDS: Final = {"store_size": "size", "prepared_transaction_offset": "prepared_offset"}


def columns(buffer: Buffer, positions: NDArray[np.int64], names: Sequence[str]) -> pa.RecordBatch:
    """Columns of records in the Arrow types of the schema, bodies as they are stored."""
    rows = _Rows(buffer, positions, texts_wanted=not _OF_TEXTS.isdisjoint(names))
    schema, kinds = _kinds(tuple(names))
    return pa.RecordBatch.from_arrays([_MADE[name](rows, kind) for name, kind in kinds], schema=schema)


def tags_are(buffer: Buffer, positions: NDArray[np.int64], wanted: frozenset[bytes]) -> NDArray[np.bool_]:
    """Which records have one of these tags."""
    tags = _tags(_Rows(buffer, positions, texts_wanted=False), pa.string())
    found: NDArray[np.bool_] = pc.is_in(
        tags.cast(pa.binary()), value_set=pa.array(sorted(wanted), pa.binary()), skip_nulls=True
    ).to_numpy(zero_copy_only=False)
    return found


class _Rows:
    """Records, and values that several columns share, made when the first one needs them."""

    def __init__(self, buffer: Buffer, positions: NDArray[np.int64], *, texts_wanted: bool) -> None:
        """`texts_wanted`: a column needs the properties, whether others do or not."""
        self.texts_wanted = texts_wanted
        self.buffer = buffer
        self.positions = positions
        self.records = records_at(buffer, positions)

    @cached_property
    def texts(self) -> Texts:
        return texts_of(self.buffer, *self.part("properties"))

    def number(self, name: str) -> NDArray[Any]:
        """A column of numbers, by its name in the schema."""
        found: NDArray[Any] = getattr(self.records, _IN_RECORDS.get(name, name))
        return found

    def part(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where each record's topic, body or properties begin, and where they end."""
        begins: NDArray[np.int64] = getattr(self.records, f"{name}_position")
        return begins, begins + getattr(self.records, f"{name}_length")


def _number(name: str) -> Callable[[_Rows, pa.DataType], pa.Array]:
    return lambda rows, kind: column_of(kind, rows.number(name))


def _time(name: str) -> Callable[[_Rows, pa.DataType], pa.Array]:
    def made(rows: _Rows, kind: pa.DataType) -> pa.Array:
        return column_of(kind, microseconds(rows.number(name)))

    return made


def _topic(rows: _Rows, kind: pa.DataType) -> pa.Array:
    return gathered(rows.buffer, *rows.part("topic"), kind)


def _body(rows: _Rows, kind: pa.DataType) -> pa.Array:
    return gathered(rows.buffer, *rows.part("body"), kind)


def _host(field: str) -> Callable[[_Rows, pa.DataType], pa.Array]:
    return lambda rows, _: host_texts(rows.buffer, rows.positions, field)


def _offset_message_id(rows: _Rows, _: pa.DataType) -> pa.Array:
    return offset_ids(rows.buffer, rows.positions)


def _message_id(rows: _Rows, kind: pa.DataType) -> pa.Array:
    octets, unique = rows.texts.octets, rows.texts.last_of(names_of.UNIQ_KEY)
    count = len(rows.positions)
    if len(unique.row) == count:
        return gathered(octets, unique.begin, unique.end, kind)
    _, begins, ends = _spread(unique, count)
    others = np.flatnonzero(begins == ends)
    ids = offset_ids(rows.buffer, rows.positions[others])
    lengths = np.asarray(pc.binary_length(ids))
    ends[others] = len(octets) + np.cumsum(lengths)
    begins[others] = ends[others] - lengths
    return gathered(np.concatenate([octets, octets_of(ids)]), begins, ends, kind)


def _tags(rows: _Rows, kind: pa.DataType) -> pa.Array:
    last = None if rows.texts_wanted else last_values(rows.buffer, *rows.part("properties"), names_of.TAGS)
    if last is not None:
        column = gathered(rows.buffer, *last, kind)
        if int(octets_of(column).max()) <= _LAST_ASCII:
            return column
    tags = rows.texts.last_of(names_of.TAGS)
    count = len(rows.positions)
    if len(tags.row) == count:
        return gathered(rows.texts.octets, tags.begin, tags.end, kind)
    present, begins, ends = _spread(tags, count)
    return with_nulls(gathered(rows.texts.octets, begins, ends, kind), present)


def _keys(rows: _Rows, kind: pa.DataType) -> pa.Array:
    offsets, words = rows.texts.words_of(names_of.KEYS)
    return pa.ListArray.from_arrays(pa.array(offsets), words, type=kind)


def _properties(rows: _Rows, kind: pa.DataType) -> pa.Array:
    offsets, names, values = rows.texts.map()
    pairs = pa.StructArray.from_arrays([names, values], fields=[kind.key_field, kind.item_field])
    return pa.Array.from_buffers(kind, len(rows.positions), [None, pa.py_buffer(offsets)], children=[pairs])


def _spread(parts: Parts, count: int) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]:
    """Whether each row has a part, and where that begins and ends; 0 and 0 where it has none."""
    present, begins, ends = np.zeros(count, bool), np.zeros(count, np.int64), np.zeros(count, np.int64)
    present[parts.row], begins[parts.row], ends[parts.row] = True, parts.begin, parts.end
    return present, begins, ends


_MADE: Final[dict[str, Callable[[_Rows, pa.DataType], pa.Array]]] = {
    "topic": _topic,
    "queue_id": _number("queue_id"),
    "queue_offset": _number("queue_offset"),
    "message_id": _message_id,
    "offset_message_id": _offset_message_id,
    "born_timestamp": _time("born_timestamp"),
    "store_timestamp": _time("store_timestamp"),
    "born_host": _host("born_host"),
    "store_host": _host("store_host"),
    "tags": _tags,
    "keys": _keys,
    "body": _body,
    "properties": _properties,
    "sys_flag": _number("sys_flag"),
    "flag": _number("flag"),
    "reconsume_times": _number("reconsume_times"),
    "prepared_transaction_offset": _number("prepared_transaction_offset"),
    "body_crc": _number("body_crc"),
    "physical_offset": _number("physical_offset"),
    "store_size": _number("store_size"),
}


@cache
def _kinds(names: tuple[str, ...]) -> tuple[pa.Schema, list[tuple[str, pa.DataType]]]:
    """The schema of some columns, and the type of each."""
    schema = arrow_schema(names)
    return schema, list(zip(names, schema.types, strict=True))
