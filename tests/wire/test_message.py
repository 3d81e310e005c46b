import ipaddress
import struct
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.errors import (
    HostInvalid,
    PropertiesInvalid,
    RecordBlank,
    RecordCrcMismatch,
    RecordInvalid,
    RecordMagicUnknown,
    RecordTruncated,
    RecordUnwritten,
)
from rocketwire.wire.facts.record import BLANK_MAGIC, END_OF_FILE_BLANK, MAGIC_V1, MAGIC_V2, RECORD
from rocketwire.wire.hosts import decode_host, encode_host
from rocketwire.wire.message import MessageRecord, body_crc, decode_record, encode_record

INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
hosts = st.tuples(st.ip_addresses().map(str), INT32)

messages = st.builds(
    MessageRecord,
    topic=st.text(max_size=30).filter(lambda text: len(text.encode()) <= 127),
    queue_id=INT32,
    body=st.binary(max_size=50),
    properties=st.binary(max_size=50),
    flag=INT32,
    queue_offset=INT64,
    physical_offset=INT64,
    sys_flag=INT32,
    born_timestamp=INT64,
    born_host=hosts,
    store_timestamp=INT64,
    store_host=hosts,
    reconsume_times=INT32,
    prepared_transaction_offset=INT64,
    magic=st.sampled_from([MAGIC_V1, MAGIC_V2]),
)
SIMPLE = MessageRecord(topic="T", queue_id=1, body=b"body", properties=b"k\x01v")


@given(messages, st.binary(max_size=5), st.binary(max_size=5))
def test_round_trip_and_equal_to_the_declaration(message: MessageRecord, before: bytes, after: bytes) -> None:
    data = encode_record(message)
    found = decode_record(before + data + after, len(before))
    bits = (0x10 if ":" in message.born_host[0] else 0) | (0x20 if ":" in message.store_host[0] else 0)
    sys_flag = message.sys_flag & ~0x30 | bits
    assert found == replace(message, sys_flag=sys_flag, body_crc=body_crc(message.body))
    assert encode_record(found) == data
    declared = RECORD.parse(data)
    assert declared.total_size == len(data)
    assert (declared.queue_id, declared.queue_offset) == (message.queue_id, message.queue_offset)
    assert (declared.born_host, declared.store_host) == (
        encode_host(*message.born_host),
        encode_host(*message.store_host),
    )
    assert (declared.topic.decode(), declared.body, declared.properties) == (
        message.topic,
        message.body,
        message.properties,
    )
    assert RECORD.build(declared) == data


@given(messages, st.data())
def test_a_cut_record_is_truncated(message: MessageRecord, data: st.DataObject) -> None:
    raw = encode_record(message)
    for size in (1, data.draw(st.integers(0, len(raw) - 1))):
        with pytest.raises(RecordTruncated) as caught:
            decode_record(raw[:size])
        assert caught.value.available == size
        assert caught.value.size in {8, len(raw)}


def test_a_damaged_body_is_an_error() -> None:
    raw = encode_record(SIMPLE).replace(b"body", b"bodY")
    with pytest.raises(RecordCrcMismatch, match="message body is damaged") as caught:
        decode_record(raw)
    assert caught.value.stored == body_crc(b"body")
    assert caught.value.computed == body_crc(b"bodY")
    assert decode_record(raw, check_crc=False).body == b"bodY"
    assert encode_record(decode_record(raw, check_crc=False)) == raw


def test_the_blank_at_the_end_of_a_file() -> None:
    with pytest.raises(RecordBlank, match="blank of 77 bytes") as caught:
        decode_record(END_OF_FILE_BLANK.build({"size": 77}))
    assert caught.value.size == 77
    assert BLANK_MAGIC == -875286124


def test_space_that_was_never_written() -> None:
    with pytest.raises(RecordUnwritten, match="never written"):
        decode_record(bytes(100))


def test_an_unknown_magic_number() -> None:
    raw = encode_record(SIMPLE)
    with pytest.raises(RecordMagicUnknown, match="0x0BADCAFE") as caught:
        decode_record(raw[:4] + bytes.fromhex("0BADCAFE") + raw[8:])
    assert caught.value.magic == 0x0BADCAFE
    with pytest.raises(RecordMagicUnknown):
        encode_record(replace(SIMPLE, magic=5))


@pytest.mark.parametrize(
    ("at", "value", "message"),
    [
        (0, -1, "impossible size -1"),
        (0, 87, "impossible size 87"),
        (84, -1, "item of -1 bytes"),
        (84, 1000, "item of 1000 bytes"),
        (84, 11, "damaged"),
    ],
)
def test_lengths_that_do_not_fit(at: int, value: int, message: str) -> None:
    raw = bytearray(encode_record(SIMPLE))
    struct.pack_into(">i", raw, at, value)
    with pytest.raises(RecordInvalid, match=message):
        decode_record(raw)


def test_a_size_larger_than_what_is_inside() -> None:
    raw = bytearray(encode_record(SIMPLE) + b"x")
    struct.pack_into(">i", raw, 0, len(raw))
    with pytest.raises(RecordInvalid, match="holds only"):
        decode_record(raw)


def test_a_topic_that_is_no_text() -> None:
    with pytest.raises(RecordInvalid, match="damaged"):
        decode_record(encode_record(SIMPLE).replace(b"\x01T", b"\x01\xff"))


def test_a_topic_of_128_bytes_needs_version_2() -> None:
    message = replace(SIMPLE, topic="t" * 128)
    with pytest.raises(RecordInvalid, match="cannot be written"):
        encode_record(message)
    raw = encode_record(replace(message, magic=MAGIC_V2))
    assert decode_record(raw).topic == "t" * 128


@pytest.mark.parametrize(
    "fields", [{"topic": "\ud83d"}, {"queue_id": 1 << 31}, {"store_timestamp": 1 << 63}, {"body_crc": 1 << 31}]
)
def test_values_that_do_not_fit(fields: dict[str, Any]) -> None:
    with pytest.raises(RecordInvalid, match="cannot be written"):
        encode_record(replace(SIMPLE, **fields))


def test_properties_over_32767_bytes() -> None:
    assert len(decode_record(encode_record(replace(SIMPLE, properties=bytes(32767)))).properties) == 32767
    with pytest.raises(PropertiesInvalid, match="32768 bytes are longer than 32767"):
        encode_record(replace(SIMPLE, properties=bytes(32768)))


def test_the_crc_has_31_bits_and_is_0_without_a_body() -> None:
    assert body_crc(b"") == 0
    assert body_crc(memoryview(b"hello")) == 0x3610A686
    assert body_crc(b"x") == 0x0CDC1683


@given(hosts)
def test_hosts(host: tuple[str, int]) -> None:
    data = encode_host(*host)
    assert len(data) == (8 if ipaddress.ip_address(host[0]).version == 4 else 20)
    assert decode_host(data) == (str(ipaddress.ip_address(host[0])), host[1])
    assert decode_host(memoryview(data)) == decode_host(data)


def test_the_scope_of_an_ipv6_address_is_not_stored() -> None:
    assert encode_host("fe80::1%eth0", 1) == encode_host("fe80::1", 1)


@pytest.mark.parametrize(("ip", "port"), [("localhost", 1), ("", 1), ("1.2.3.4", 1 << 31), ("1.2.3", 1)])
def test_what_is_no_host(ip: str, port: int) -> None:
    with pytest.raises(HostInvalid, match="is no address"):
        encode_host(ip, port)


@pytest.mark.parametrize("size", [0, 7, 9, 19, 21])
def test_bytes_that_are_no_host(size: int) -> None:
    with pytest.raises(HostInvalid, match="8 or 20 bytes"):
        decode_host(bytes(size))
