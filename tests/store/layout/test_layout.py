"""The file layouts: their sizes, and the fast codecs against the declarations."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.store.layout import checkpoint, consume_queue, index
from rocketwire.store.layout.derive import dtype_fields, fixed_struct
from rocketwire.store.layout.record import head_dtype, properties_of, store_timestamp, topic_of
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.facts.layout import positions
from rocketwire.wire.facts.record import MAGIC_V1, MAGIC_V2, RECORD, RECORD_HEADS, SMALLEST_RECORD
from rocketwire.wire.message import MessageRecord, encode_record

INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
KINDS = {"l": INT32, "q": INT64}


def test_sizes_are_apaches() -> None:
    assert consume_queue.ENTRY_SIZE == 20
    assert index.HEADER_SIZE == 40
    assert index.ENTRY_SIZE == 20
    assert index.SLOT_SIZE == 4
    assert index.file_size(5_000_000, 20_000_000) == 420_000_040
    assert checkpoint.CHECKPOINT_STRUCT.size == 24
    assert index.HEADER_OFFSETS["entry_count"] == 36
    assert struct.unpack(">qiq", consume_queue.PRE_BLANK) == (0, 0x7FFFFFFF, 0)
    assert struct.unpack(">qiq", consume_queue.AHEAD) == (0x7FFFFFFFFFFFFFFF, 0, 0)


@given(data=st.data())
def test_fast_codecs_are_the_declarations(data: st.DataObject) -> None:
    for declaration in (consume_queue.ENTRY, index.HEADER, index.ENTRY, checkpoint.CHECKPOINT):
        fast = fixed_struct(declaration)
        names = list(positions(declaration))
        values = [data.draw(KINDS[code]) for code in fast.format.lstrip(">")]
        packed = fast.pack(*values)
        assert packed == declaration.build(dict(zip(names, values, strict=True)))
        array = np.frombuffer(packed, np.dtype(dtype_fields(declaration)))
        assert [int(array[0][name]) for name in names] == values
        offsets = positions(declaration)
        fields: Mapping[str, Any] = np.dtype(dtype_fields(declaration)).fields or {}
        assert [fields[name][1] for name in names] == list(offsets.values())


@pytest.mark.parametrize("bits", RECORD_HEADS)
def test_heads_are_the_declaration(bits: int) -> None:
    record = encode_record(
        MessageRecord(
            topic="T",
            queue_id=-1,
            body=b"abc",
            flag=2,
            queue_offset=3,
            physical_offset=4,
            born_timestamp=5,
            born_host=("::1" if bits & SysFlag.BORN_HOST_V6 else "127.0.0.1", 6),
            store_timestamp=7,
            store_host=("::2" if bits & SysFlag.STORE_HOST_V6 else "127.0.0.2", 8),
            reconsume_times=9,
            prepared_transaction_offset=10,
        )
    )
    parsed = RECORD.parse(record)
    expected = {name: value for name, value in parsed.items() if name not in {"_io", "body", "topic", "properties"}}
    assert parsed.magic == MAGIC_V1
    expected["body_length"] = 3
    assert store_timestamp(memoryview(record)) == 7
    head = np.dtype(head_dtype(bits))
    assert head.itemsize == RECORD_HEADS[bits].size
    assert list(expected.values()) == list(RECORD_HEADS[bits].unpack_from(record))
    row = np.frombuffer(record, head, 1)[0]
    found = {name: row[name] for name in head.names or ()}
    assert {name: v.tobytes() if name.endswith("_host") else int(v) for name, v in found.items()} == expected


def test_the_smallest_record_is_one() -> None:
    assert len(encode_record(MessageRecord(topic="", queue_id=0, body=b""))) == SMALLEST_RECORD


@pytest.mark.parametrize("bits", RECORD_HEADS)
@pytest.mark.parametrize("magic", [MAGIC_V1, MAGIC_V2])
@pytest.mark.parametrize("properties", [b"", b"a\x011", b"p" * 32767])
def test_topic_and_properties_of_any_record_are_found(bits: int, magic: int, properties: bytes) -> None:
    message = MessageRecord(
        topic="Topic",
        queue_id=0,
        body=b"abc",
        born_host=("::1" if bits & SysFlag.BORN_HOST_V6 else "127.0.0.1", 6),
        store_host=("::2" if bits & SysFlag.STORE_HOST_V6 else "127.0.0.2", 8),
        properties=properties,
        magic=magic,
    )
    record = memoryview(encode_record(message))
    assert properties_of(record) == properties
    assert topic_of(record) == b"Topic"


def test_a_damaged_record_has_no_topic_and_no_properties() -> None:
    record = bytearray(encode_record(MessageRecord(topic="Topic", queue_id=0, body=b"abc", properties=b"a\x011")))
    assert properties_of(memoryview(record)[:40]) == topic_of(memoryview(record)[:40]) == b""
    record[4] ^= 1  # of the magic number
    assert properties_of(memoryview(record)) == topic_of(memoryview(record)) == b""
