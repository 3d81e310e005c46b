"""ReceiveMessage answers in C as wire.grpc.receiving makes them."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketwire import _kernel as kernel
from rocketwire.server.grpc.consuming.deliveries import RARE_NAMES
from rocketwire.wire.facts import properties as names
from rocketwire.wire.facts.properties import BORN_HOST, RESERVED_NAMES
from rocketwire.wire.grpc import service_pb2
from rocketwire.wire.message import MessageRecord, decode_record, encode_record
from tests.kernel.fuzz.calls import MOST_ATTEMPTS, assert_delivered, write

texts = st.text(max_size=12)
values = st.text(st.characters(exclude_characters="\x00\x01\x02", exclude_categories=["Cs"]), max_size=20)
well_known = st.sampled_from(
    [
        names.TAGS,
        names.KEYS,
        names.UNIQ_KEY,
        names.SHARDING_KEY,
        BORN_HOST,
        *sorted(RESERVED_NAMES | RARE_NAMES),
        names.POP_CK,
    ]
)
items = st.dictionaries(well_known | values, values | st.just("a b  c "), max_size=12)
property_texts = items.map(lambda found: "".join(f"{name}\x01{value}\x02" for name, value in found.items()).encode())
plain_names = st.sampled_from([names.TAGS, names.KEYS, names.UNIQ_KEY, names.SHARDING_KEY, BORN_HOST])
plain_items = st.dictionaries(
    plain_names | st.integers(0, 99).map("name{}".format), values.filter(bool), max_size=12
).map(lambda found: "".join(f"{name}\x01{value}\x02" for name, value in found.items()).encode())
int64s = st.integers(0, 2**63 - 1) | st.integers(-(2**63), -1) | st.integers(0, 2**42)
hosts = st.tuples(st.sampled_from(["127.0.0.1", "255.255.255.255", "10.0.0.9"]), st.integers(0, 65_535))
records = st.builds(
    MessageRecord,
    topic=st.sampled_from(["orders", "orders", "%RETRY%g_orders"]),
    queue_id=st.sampled_from([0, 3, 4, -1]),
    queue_offset=st.integers(0, 2**40),
    physical_offset=st.integers(0, 2**50),
    sys_flag=st.sampled_from([0, 0, 0, 1, 8]),
    born_timestamp=int64s,
    store_timestamp=int64s,
    born_host=hosts | st.just(("::1", 9)),
    store_host=hosts,
    reconsume_times=st.integers(0, 20),
    body=st.binary(max_size=200) | st.just(b""),
    properties=property_texts | st.binary(max_size=30),
)


@given(records)
@example(MessageRecord(topic="orders", queue_id=0, body=b"b", properties=b"TAGS\x01a\x02TAGS\x01b"))
@example(MessageRecord(topic="orders", queue_id=0, body=b"b", properties=b"KEYS\x01   \x02a\x01b"))
@example(MessageRecord(topic="orders", queue_id=0, body=b"b", properties=b"a\x01b\x02a\x01c"))
@example(MessageRecord(topic="orders", queue_id=0, body=b"b", properties=b"a\x01\xff"))
def test_a_message_is_as_its_twin_writes_it(record: MessageRecord) -> None:
    data = encode_record(record)
    found = write(data)
    if found is not None:
        (payload,) = found
        assert_delivered(payload, decode_record(data))
        assert record.topic == "orders"
        assert record.reconsume_times < MOST_ATTEMPTS


@given(st.lists(st.tuples(plain_items, st.binary(min_size=1, max_size=150)), min_size=1, max_size=5))
def test_plain_messages_are_written(reported: list[tuple[bytes, bytes]]) -> None:
    made = [
        MessageRecord(
            topic="orders", queue_id=3, queue_offset=7 + place, physical_offset=place, properties=text, body=body
        )
        for place, (text, body) in enumerate(reported)
    ]
    found = write(b"".join(map(encode_record, made)), mark=b" R")
    assert found is not None
    assert len(found) == len(made)
    for payload, record in zip(found, made, strict=True):
        assert_delivered(payload, record, " R")


@given(records, st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=4), st.integers(0, 400))
def test_whatever_the_bytes_are(record: MessageRecord, changes: list[tuple[int, int]], cut: int) -> None:
    data = bytearray(encode_record(record))
    for place, value in changes:
        data[place % len(data)] = value
    found = write(bytes(data))
    if found is not None and len(found) == 1:
        changed = decode_record(bytes(data))
        assert_delivered(found[0], changed)
    write(bytes(data[:cut]))


PLAIN = MessageRecord(topic="orders", queue_id=3, properties=b"TAGS\x01a", body=b"b")


@pytest.mark.parametrize(
    ("record", "tags"),
    [
        (PLAIN, (b"b", b"aa")),
        (replace(PLAIN, properties=b""), (b"a",)),
        (replace(PLAIN, queue_id=4), None),
        (replace(PLAIN, topic="order"), None),
        (replace(PLAIN, reconsume_times=MOST_ATTEMPTS), None),
        (replace(PLAIN, properties=b"POP_CK\x01a"), None),
        (replace(PLAIN, properties=b"".join(b"n%d\x01v\x02" % number for number in range(65))), None),
        (replace(PLAIN, body=b"b", sys_flag=1), None),
    ],
)
def test_what_is_not_plain_is_pythons(record: MessageRecord, tags: tuple[bytes, ...] | None) -> None:
    plain = encode_record(PLAIN)
    assert write(plain, tags=(b"b", b"a")) is not None
    assert write(encode_record(record), tags=tags) is None
    assert write(plain + encode_record(record), tags=tags) is None


def test_a_damaged_body_is_pythons() -> None:
    data = bytearray(encode_record(PLAIN))
    data[data.index(b"b\x06orders")] ^= 1
    assert write(bytes(data)) is None


@given(st.binary(max_size=300))
@example(b"x" * 55)
@example(b"x" * 56)
@example(b"x" * 63)
@example(b"x" * 64)
@example(b"x" * 20_000)
def test_the_checksum(body: bytes) -> None:
    (payload,) = write(encode_record(replace(PLAIN, body=body)))
    system = service_pb2.ReceiveMessageResponse.FromString(payload).message.system_properties
    assert system.body_digest.checksum == hashlib.md5(body, usedforsecurity=False).hexdigest().upper()


def test_wrong_arguments() -> None:
    with pytest.raises(TypeError, match="a name has a kind"):
        kernel.CallDeliveries(names=(b"a",))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the same hash"):
        kernel.CallDeliveries(names=((b"Aa", 6), (b"BB", 6)))
    with pytest.raises(TypeError, match="tags are a tuple"):
        write(encode_record(PLAIN), tags=[b"a"])  # type: ignore[arg-type]
