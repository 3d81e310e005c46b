"""What else clients write as bytes or text: records, batches, compressed bodies, traces, ids, recall handles.

The first byte chooses which.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator

from rocketwire.wire.batch import decode_batch, encode_batch
from rocketwire.wire.compression import decompress
from rocketwire.wire.errors import WireError
from rocketwire.wire.message import MessageRecord, decode_record, encode_record
from rocketwire.wire.message_id import UniqueKey, parse_offset_message_id
from rocketwire.wire.recall_handle import decode_recall_handle, encode_recall_handle
from rocketwire.wire.trace import decode_traces
from tests.fuzz.part import Part, always
from tests.kernel.fuzz import seeds as of_kernel
from tests.wire import golden

_MOST = 1 << 16
_ZLIB, _LZ4, _ZSTD = 3 << 8 | 1, 1 << 8 | 1, 2 << 8 | 1


def _record(data: bytes) -> None:
    message = decode_record(data, check_crc=False)
    assert decode_record(encode_record(message), check_crc=False) == message


def _batch(data: bytes) -> None:
    items = decode_batch(data)
    assert decode_batch(encode_batch(items)) == items


def _body(data: bytes) -> None:
    for sys_flag in (_ZLIB, _LZ4, _ZSTD, data[0] << 8 | 1 if data else 1):
        try:
            assert len(decompress(data, sys_flag, max_size=_MOST)) <= _MOST
        except WireError as error:
            assert str(error)


def _unique_key(data: bytes) -> None:
    key = UniqueKey.parse(data.decode(errors="replace"))
    assert UniqueKey.parse(str(key)) == key


def _recall_handle(data: bytes) -> None:
    found = decode_recall_handle(data.decode(errors="replace"))
    assert decode_recall_handle(encode_recall_handle(*found).decode()) == found


_KINDS: list[Callable[[bytes], object]] = [
    _record,
    _batch,
    _body,
    decode_traces,
    _unique_key,
    lambda data: parse_offset_message_id(data.decode(errors="replace")),
    _recall_handle,
]


def check(data: bytes) -> None:
    """A value or a WireError, which has a text; a value that is written is read as it was."""
    try:
        _KINDS[(data[0] if data else 0) % len(_KINDS)](data[1:])
    except WireError as error:
        assert str(error)


def seeds() -> Iterator[bytes]:
    """One or several of each kind."""
    message = MessageRecord(
        topic="T", queue_id=1, body=b"body", properties=b"KEYS\x01k", born_host=("127.0.0.1", 1), store_host=("::1", 2)
    )
    yield b"\0" + encode_record(message)
    for data in of_kernel.of("batch"):
        yield b"\1" + data
    yield b"\2" + zlib.compress(b"body" * 100)
    yield b"\2\x04\x22\x4d\x18" + bytes(12)
    yield b"\2\x28\xb5\x2f\xfd" + bytes(12)
    for capture in golden.captures():
        for frame in golden.frames(capture):
            at = frame.data.find(b"\x01", len(frame.data) // 3)
            if frame.data.find(b"Pub\x01") >= 0 and at > 0:
                yield b"\3" + frame.data[frame.data.find(b"Pub\x01") :][: PART.longest]
    yield b"\4C000020201C14E0E2F2A68F2FE7800DC"
    yield b"\5" + (b"\x7f\0\0\1\0\0\x2a\x9f" + struct.pack(">q", 1)).hex().encode()
    yield b"\6" + encode_recall_handle("T", "b", 1_700_000_000_000, "C000020201C14E0E2F2A68F2FE7800DC")


PART = Part(
    opened=always(check),
    seeds=seeds,
    words=[
        *of_kernel.NUMBERS,
        *of_kernel.BAD_UTF_8,
        "Pub",
        "SubBefore",
        "SubAfter",
        "EndTransaction",
        "Recall",
        b"\x01",
        b"\x02",
    ],
)
