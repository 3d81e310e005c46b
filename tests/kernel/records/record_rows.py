"""Columns that the kernel makes of records, as rows of Python's values; and what these rows must be."""

from __future__ import annotations

from array import array
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from rocketwire import _kernel as kernel
from rocketwire.store.offline.read.selected import with_properties
from rocketwire.wire.hosts import decode_host
from rocketwire.wire.message import MessageRecord, decode_record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import Buffer

INTS: Final = ("queue_id", "sys_flag", "flag", "reconsume_times", "body_crc", "store_size")
LONGS: Final = ("queue_offset", "physical_offset", "prepared_transaction_offset")
TIMES: Final = ("born_timestamp", "store_timestamp")
TEXTS: Final = ("topic", "message_id", "offset_message_id", "born_host", "store_host", "body")
NAMES: Final = (*INTS, *LONGS, *TIMES, *TEXTS, "tags", "keys", "properties")
_LONG: Final = 1 << 63


def positions_of(places: Iterable[int]) -> array[int]:
    """As the kernel takes them."""
    return array("q", places)


def walked(buffer: Buffer, *, base: int | None = None) -> tuple[array[int], int]:
    """Where the records of a buffer are, and where they end."""
    size = memoryview(buffer).nbytes
    found = positions_of(bytes(8 * (size // 91 + 1)))
    count, behind = kernel.walk_records(buffer, base, 0, size, found)
    return found[:count], behind


def host_text(host: bytes) -> bytes:
    """What the kernel asks for IPv6 hosts."""
    assert len(host) == 20
    address, port = decode_host(host)
    return f"[{address}]:{port}".encode()


def rows_of(buffer: Buffer, places: Iterable[int], names: tuple[str, ...] = NAMES) -> list[dict[str, Any]]:
    """The rows that the kernel makes of the records at some places."""
    positions = positions_of(places)
    memory, parts = kernel.record_columns(buffer, positions, names, bytearray, host_text)
    count = len(positions)
    columns = [_values(name, count, memoryview(memory), *of) for name, of in zip(names, parts, strict=True)]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def _values(name: str, count: int, memory: memoryview, number: int, *bounds: int) -> list[Any]:
    parts = [memory[at : at + length] for at, length in zip(bounds[::2], bounds[1::2], strict=True)]
    if name in INTS:
        return parts[0].cast("i").tolist()
    if name in LONGS or name in TIMES:
        return parts[0].cast("q").tolist()
    if name == "keys":
        return _lists(parts[0], _texts(number, parts[1], parts[2]))
    if name == "properties":
        pairs = zip(_texts(number, *parts[1:3]), _texts(number, *parts[3:5]), strict=True)
        return _lists(parts[0], list(pairs))
    texts: list[Any] = _texts(count, parts[0], parts[1], raw=name == "body")
    if name == "tags":
        texts = [text if parts[2][at // 8] >> at % 8 & 1 else None for at, text in enumerate(texts)]
        assert texts.count(None) == number
    return texts


def _texts(count: int, offsets: memoryview, data: memoryview, *, raw: bool = False) -> list[Any]:
    bounds = offsets.cast("i").tolist()
    assert len(bounds) == count + 1
    assert (bounds[0], bounds[-1]) == (0, len(data))
    found = [bytes(data[start:end]) for start, end in pairwise(bounds)]
    return found if raw else [text.decode() for text in found]


def _lists(offsets: memoryview, values: list[Any]) -> list[Any]:
    bounds = offsets.cast("i").tolist()
    assert (bounds[0], bounds[-1]) == (0, len(values))
    return [values[start:end] for start, end in pairwise(bounds)]


def row_of(record: bytes) -> dict[str, Any]:
    """The row that a record must be, by wire.message and what `store cat` shows."""
    message = decode_record(record, check_crc=False)
    one = with_properties(message, len(record))
    assert message.body_crc is not None
    return {
        **{name: getattr(message, name) for name in (*INTS[:-1], *LONGS, "topic", "body")},
        **{name: max(-_LONG, min(getattr(message, name) * 1000, _LONG - 1)) for name in TIMES},
        "store_size": one.size,
        "message_id": one.message_id,
        "offset_message_id": one.offset_message_id,
        "born_host": _shown(message.born_host),
        "store_host": _shown(message.store_host),
        "tags": one.tags,
        "keys": one.keys,
        "properties": list(one.properties.items()),
    }


def _shown(host: tuple[str, int]) -> str:
    return f"[{host[0]}]:{host[1]}" if ":" in host[0] else f"{host[0]}:{host[1]}"


def message(**fields: Any) -> MessageRecord:
    """A message with what these fields say."""
    values: dict[str, Any] = {"topic": "T", "queue_id": 0, "body": b"body"} | fields
    return MessageRecord(**values)
