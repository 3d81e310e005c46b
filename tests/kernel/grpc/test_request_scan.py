"""Requests are scanned in C as wire.grpc.request_scan scans them, and as protobuf would read them."""

from __future__ import annotations

from typing import Any, Final

from google.protobuf.message import DecodeError
from hypothesis import example, given
from hypothesis import strategies as st

from rocketwire import _kernel as kernel
from rocketwire.wire.grpc import bounds
from rocketwire.wire.grpc.methods import METHODS
from rocketwire.wire.grpc.request_scan import FIELDS, MALFORMED, WITHIN, RequestScan, make_rules
from rocketwire.wire.grpc.service_pb2 import AckMessageRequest, SendMessageRequest, TelemetryCommand

SERVICE: Final = "/apache.rocketmq.v2.MessagingService/"
MESSAGES, CALLS, NAMES = make_rules()
NATIVE = kernel.RequestScan(MESSAGES, dict(CALLS))
TWIN = RequestScan(MESSAGES, CALLS)
paths = st.sampled_from(sorted(METHODS))


def checked(path: str, payload: bytes) -> str | int:
    found = NATIVE.check(path, payload)
    assert found == TWIN.check(path, payload)
    others: list[Any] = [(2, 1, payload), (0, 1, path, {}, payload), (4, 1, 8)]
    assert NATIVE.check_calls(others) == TWIN.check_calls(others) == ([(1, found)] if found else None)
    return NAMES.get(found, found)


def varint(number: int, length: int = 0) -> bytes:
    """A number, in at least so many bytes."""
    found = bytearray()
    while number >= 0x80 or len(found) < length - 1:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


numbers = st.integers(0, 24) | st.sampled_from([31, 32, 500, (1 << 29) - 1])
values = st.integers(0, 300) | st.sampled_from([(1 << 63), (1 << 64) - 1, 1 << 64])


def field(number: int, form: int, value: int, inner: bytes, longer: int) -> bytes:
    tag = varint(number << 3 | form, longer)
    if form == 0:
        return tag + varint(value)
    if form == 2:
        return tag + varint(len(inner), longer) + inner
    return tag + inner


wild = st.recursive(
    st.binary(max_size=9),
    lambda inner: st.lists(
        st.builds(field, numbers, st.integers(0, 7), values, inner, st.integers(0, 11)), max_size=5
    ).map(b"".join),
    max_leaves=12,
)
few = st.integers(1, 40)


@given(paths, wild | st.binary(max_size=40), few)
@example(f"{SERVICE}AckMessage", b"\x1a\0", 3)
@example(f"{SERVICE}AckMessage", b"\x23", 1)
@example("/no/Method", b"\x23", 1)
def test_any_bytes_are_scanned_alike(path: str, payload: bytes, times: int) -> None:
    checked(path, payload * times)


@given(paths, wild, few)
@example(f"{SERVICE}QueryRoute", b"\xa3\x06\x0a\x01x\xa4\x06", 40)
@example(f"{SERVICE}QueryRoute", b"\x0b\x13\x08\x01\x14\x0c", 40)
def test_what_protobuf_reads_is_not_malformed(path: str, payload: bytes, times: int) -> None:
    try:
        METHODS[path].request.FromString(payload * times)
    except DecodeError:
        return
    assert checked(path, payload * times) != MALFORMED


def test_the_first_excess_is_found() -> None:
    ack, send, telemetry = (f"{SERVICE}{name}" for name in ("AckMessage", "SendMessage", "Telemetry"))
    for count, expected in ((1024, WITHIN), (1025, "apache.rocketmq.v2.AckMessageRequest.entries")):
        request = AckMessageRequest(entries=[{}] * count)
        assert checked(ack, request.SerializeToString()) == expected
    made = SendMessageRequest()
    properties = made.messages.add().user_properties
    for number in range(1024):
        properties[str(number)] = ""
    assert checked(send, made.SerializeToString()) == WITHIN
    properties["one more"] = ""
    assert checked(send, made.SerializeToString()) == "apache.rocketmq.v2.Message.user_properties"
    keys = (command := TelemetryCommand()).verify_message_command.message.system_properties.keys
    keys.extend(["k"] * (8192 - 3))
    assert checked(telemetry, command.SerializeToString()) == WITHIN
    keys.append("k")
    assert checked(telemetry, command.SerializeToString()) == FIELDS


def test_a_short_request_is_not_scanned_for_it_cannot_have_too_much() -> None:
    for path, call in CALLS.items():
        assert checked(path, b"\x24" * call.short) == WITHIN
        assert checked(path, b"\x24" * (call.short + 1)) == MALFORMED
    assert CALLS[f"{SERVICE}SendMessage"].short == CALLS[f"{SERVICE}AckMessage"].short == 2048
    assert CALLS[f"{SERVICE}ReceiveMessage"].short == 64


def test_packed_numbers_are_entries_each() -> None:
    path, name = f"{SERVICE}ReceiveMessage", "apache.rocketmq.v2.MessageQueue.accept_message_types"
    most = bounds.ENTRIES[name]
    for count, expected in ((most, WITHIN), (most + 1, name)):
        packed = b"\x2a" + varint(count) + b"\1" * count
        apart = b"\x28\1" * count
        for queue in (packed, apart):
            assert checked(path, b"\x12" + varint(len(queue)) + queue) == expected
    longest = b"\x2a" + varint(10 * most) + (b"\x81" * 9 + b"\1") * most
    assert checked(path, b"\x12" + varint(len(longest)) + longest) == WITHIN


def test_unknown_fields_count() -> None:
    path = f"{SERVICE}QueryRoute"
    assert checked(path, b"\xf8\1\0" * 1024) == WITHIN
    assert checked(path, b"\xf8\1\0" * 1025) == FIELDS
    assert checked(path, b"\x0a\x03\xf8\1\0" * 513) == FIELDS


def group(number: int, inner: bytes) -> bytes:
    return varint(number << 3 | 3) + inner + varint(number << 3 | 4)


def test_groups_are_skipped_as_by_protobuf() -> None:
    path = f"{SERVICE}AckMessage"
    long = b"\xa2\x06" + varint(3000) + bytes(3000)
    assert checked(path, long + group(100, group(3, b"\x08\1"))) == WITHIN
    assert checked(path, long + group(3, b"\x1a\0" * 1025)) == WITHIN  # nothing in it is an entry
    assert checked(path, group(100, b"") * CALLS[path].fields) == WITHIN
    assert checked(path, group(100, b"") * (CALLS[path].fields + 1)) == FIELDS
    deep = b""
    for _ in range(100):
        deep = group(100, deep)
    assert checked(path, long + deep) == WITHIN
    assert checked(path, long + group(100, deep)) == MALFORMED
    for wrong in (b"\xa3\x06", b"\xa4\x06", b"\xa3\x06\xac\x06", b"\x0a\x02\xa3\x06\xa4\x06"):
        assert checked(path, long + wrong) == MALFORMED
