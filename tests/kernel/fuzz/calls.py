"""What the kernel makes of calls of 5.x clients, and of records for them, held against protobuf and the Python twins.

The kernel leaves to Python what is not plain; what it takes it must read, or write, as Python does.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from google.protobuf.message import DecodeError

from rocketwire import _kernel as kernel
from rocketwire.server.grpc.consuming.deliveries import property_kinds
from rocketwire.wire.bodies.pop import MAX_ACK_BITS
from rocketwire.wire.grpc import service_pb2
from rocketwire.wire.grpc.answers import make_status, message_response
from rocketwire.wire.grpc.checks import CallLimits
from rocketwire.wire.grpc.codes import CallInvalid, Code
from rocketwire.wire.grpc.methods import METHODS
from rocketwire.wire.grpc.receipt import parse_receipt_handle
from rocketwire.wire.grpc.receiving import delivered_message
from rocketwire.wire.grpc.request_scan import RequestScan, make_rules
from rocketwire.wire.grpc.sending import Send, read_send
from rocketwire.wire.message import MessageRecord, decode_record, encode_record

REMOTE: Final = "10.1.2.3:456"
NOW: Final = 1_767_225_600_000
QUEUES: Final = 7
LIMITS: Final = CallLimits(delay_ms=24 * 60 * 60 * 1000)
_PATHS: Final = sorted(METHODS)
_ACK: Final = "/apache.rocketmq.v2.MessagingService/AckMessage"
_MOST_ACKS: Final = 128
_LEAST_ACKS: Final = 1
_MARK: Final = " R"

STARTS: Final = {0: 5, 3: 7}
MOST_ATTEMPTS: Final = 16
_SIZE: Final = 4


def _tight(data: bytes) -> Any:
    """The data without a byte behind it that may be read."""
    return (ctypes.c_ubyte * len(data)).from_buffer_copy(data)


# --- sends


def send_twin(payload: bytes, limits: CallLimits = LIMITS) -> Send | None:
    """What Python makes of it; None: nothing."""
    try:
        return read_send(service_pb2.SendMessageRequest.FromString(payload), limits, remote=REMOTE, now=NOW)
    except (DecodeError, CallInvalid):
        return None


# --- acknowledgements


def acks_twin(payload: bytes) -> Any:
    """What the kernel has to make of an AckMessage call; None: nothing."""
    try:
        requested = service_pb2.AckMessageRequest.FromString(payload)
        handles = [parse_receipt_handle(entry.receipt_handle.removesuffix(_MARK)) for entry in requested.entries]
    except (DecodeError, CallInvalid):
        return None
    brokers = {handle.broker for handle in handles}
    if not _LEAST_ACKS <= len(handles) <= _MOST_ACKS or len(brokers) > 1:
        return None
    if any(not 0 <= handle.offset - handle.start < MAX_ACK_BITS for handle in handles):
        return None
    points: dict[Any, list[int]] = {}
    response = service_pb2.AckMessageResponse(status=make_status(Code.OK))
    for handle, entry in zip(handles, requested.entries, strict=True):
        point = handle.kind, handle.start, handle.pop_time, handle.invisible_ms, handle.revive_queue, handle.queue
        points.setdefault(point, []).append(handle.offset)
        reported = entry.message_id, entry.receipt_handle
        response.entries.add(message_id=reported[0], receipt_handle=reported[1], status=make_status(Code.OK))
    until = min(handle.visible_at for handle in handles)
    found = [(*point, offsets) for point, offsets in points.items()]
    renewed = [entry.receipt_handle for entry in requested.entries if entry.receipt_handle.endswith(_MARK)]
    return requested.topic.name, requested.group.name, *brokers, until, found, renewed, response.SerializeToString()


def call_acks(data: bytes) -> None:
    """An AckMessage call."""
    found = kernel.read_acks(_tight(data))
    if found is not None:
        assert found == acks_twin(data)


@cache
def scans() -> tuple[Any, RequestScan]:
    """The kernel's scan of requests, and its twin."""
    messages, calls, _ = make_rules()
    return kernel.RequestScan(messages, dict(calls)), RequestScan(messages, calls)


def request_scan(data: bytes) -> None:
    """The request of any method; the first byte chooses which."""
    path = _PATHS[data[0] % len(_PATHS)] if data else _PATHS[0]
    native, twin = scans()
    assert native.check(path, _tight(data[1:])) == twin.check(path, data[1:])


# --- deliveries


@cache
def writer() -> Any:
    """The kernel's writer of deliveries."""
    return kernel.CallDeliveries(names=property_kinds())


def write(data: bytes, *, tags: tuple[bytes, ...] | None = None, mark: bytes = b"", topic: bytes = b"orders") -> Any:
    """What the kernel makes of records; None: it leaves them to Python."""
    return writer().write(_tight(data), topic, STARTS, NOW, 60_000, 2, b"broker-a", mark, MOST_ATTEMPTS, tags)


def handle_of(record: MessageRecord, mark: str = "") -> str:
    """The receipt handle of a delivery."""
    place = f"{record.queue_id} {record.queue_offset} {record.physical_offset}"
    return f"{STARTS[record.queue_id]} {NOW} 60000 2 0 broker-a {place}{mark}"


def assert_delivered(payload: bytes, record: MessageRecord, mark: str = "") -> None:
    """Check what the kernel wrote for a record."""
    expected = message_response(delivered_message(record, topic="orders", receipt_handle=handle_of(record, mark)))
    assert service_pb2.ReceiveMessageResponse.FromString(payload) == expected


def call_deliveries(data: bytes) -> None:
    """Records, one after the other, as the answer of a pop has them."""
    found = write(data)
    if found is None:
        return
    at = 0
    for payload in found:
        assert_delivered(payload, decode_record(data, at))
        at += int.from_bytes(data[at : at + _SIZE])
    assert at == len(data)


# --- what the fuzzer begins with


def seeds() -> Iterator[tuple[str, bytes]]:
    """Inputs of the oracles above, each with the name of its oracle."""
    for handles in (
        [f"7 {NOW} 60000 2 0 broker-a 3 {offset}" for offset in (7, 8, 12)],
        [f"7 {NOW} 60000 {queue} {queue} broker-a {queue} 9 {place}" for queue, place in ((0, 5), (1, 10**18))],
        [f"0 1 2 3 0 b 4 {offset}" for offset in (MAX_ACK_BITS - 1, MAX_ACK_BITS)],
        [f"0 1 2 3 0 b 4 5{mark}" for mark in ("", " R")],
    ):
        request = service_pb2.AckMessageRequest()
        request.topic.name, request.group.name = "orders", "g"
        for number, text in enumerate(handles):
            request.entries.add(message_id=f"01{number}", receipt_handle=text)
        yield "call_acks", request.SerializeToString()
        yield "request_scan", bytes([_PATHS.index(_ACK)]) + request.SerializeToString()
    properties = (
        b"TAGS\x01a\x02KEYS\x01k1 k2\x02UNIQ_KEY\x0101AB\x02colour\x01red\x02__SHARDINGKEY\x01g\x02WAIT\x01true"
    )
    records = [
        MessageRecord(topic="orders", queue_id=queue, queue_offset=9, physical_offset=77, properties=text, body=body)
        for queue in STARTS
        for text in (b"", b"a\x01b\x02", properties)
        for body in (b"", b"body", bytes(range(120)))
    ]
    for record in records:
        yield "call_deliveries", encode_record(record)
    yield "call_deliveries", b"".join(map(encode_record, records[:4]))
