import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.grpc import fast_delivery, service_pb2
from rocketwire.wire.grpc.answers import message_response
from rocketwire.wire.grpc.fast_delivery import delivered_payload
from rocketwire.wire.grpc.property_names import RESERVED
from rocketwire.wire.grpc.receiving import delivered_message
from rocketwire.wire.message import Message, decode_record
from tests.wire import golden

_HANDLE = "70 1767225600789 60000 2 0 broker-a 3 77 4711"
_names = st.sampled_from([*sorted(RESERVED), "__SHARDINGKEY", "TRACE_CONTEXT", "a", "ü"]) | st.text(max_size=5)
_values = st.text(max_size=10) | st.sampled_from(["1", "true", " a  b ", "v" * 200])
_texts = st.lists(st.tuples(_names, _values).map("\x01".join), max_size=12).map(
    lambda items: "\x02".join(items).encode("utf-8", "replace")
)
_hosts = st.tuples(st.sampled_from(["127.0.0.1", "10.1.2.3", "::1"]), st.integers(-1, 65_535))
_records = st.builds(
    Message,
    topic=st.sampled_from(["orders", "%RETRY%g_orders", "ü"]),
    queue_id=st.integers(-1, 2**31 - 1),
    body=st.binary(max_size=300) | st.just(b"x" * 2000),
    properties=_texts | st.binary(max_size=50),
    queue_offset=st.integers(-1, 2**63 - 1),
    physical_offset=st.integers(-1, 2**63 - 1),
    sys_flag=st.sampled_from([0, 0, 0, 1, 4, 8, 0x101]),
    born_timestamp=st.integers(-(2**63), 2**63 - 1) | st.integers(0, 2**41),
    born_host=_hosts,
    store_timestamp=st.integers(0, 2**41),
    store_host=_hosts,
    reconsume_times=st.integers(-2, 2**31 - 1) | st.integers(0, 20),
)


def _declared(record: Message, **arguments: Any) -> service_pb2.ReceiveMessageResponse:
    return message_response(delivered_message(record, **arguments))


@given(_records, st.sampled_from([_HANDLE, "", "ü" * 1000]), st.none() | st.integers(0, 20))
def test_fast_and_declared_are_equal(record: Message, handle: str, times: int | None) -> None:
    arguments: dict[str, Any] = {"topic": "orders", "receipt_handle": handle, "reconsume_times": times}
    payload = delivered_payload(record, **arguments)
    assert service_pb2.ReceiveMessageResponse.FromString(payload) == _declared(record, **arguments)


@pytest.mark.parametrize("case", golden.grpc_cases("deliveries"), ids=lambda case: str(case["name"]))
def test_golden_messages(case: dict[str, Any]) -> None:
    record = decode_record(bytes.fromhex(case["record"]))
    payload = delivered_payload(record, topic=case["topic"], receipt_handle=_HANDLE)
    expected = _declared(record, topic=case["topic"], receipt_handle=_HANDLE)
    assert service_pb2.ReceiveMessageResponse.FromString(payload) == expected


@pytest.mark.parametrize(
    "properties", [b"", b"UNIQ_KEY\x01id\x02TAGS\x01t\x02KEYS\x01a b\x02__SHARDINGKEY\x01g\x02x\x01y"]
)
def test_what_is_plain_needs_no_protobuf(properties: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    record = Message(topic="orders", queue_id=1, body=b"x" * 200, properties=properties, store_timestamp=2**41)
    expected = _declared(record, topic="orders", receipt_handle=_HANDLE)
    monkeypatch.delattr(fast_delivery, "_declared")
    payload = delivered_payload(record, topic="orders", receipt_handle=_HANDLE)
    assert service_pb2.ReceiveMessageResponse.FromString(payload) == expected


@pytest.mark.parametrize(
    "fields",
    [
        {"properties": b"a\x01\xff"},
        {"properties": "ü\x01ö".encode()},
        {"queue_id": -1},
        {"reconsume_times": 2**31 - 1},
        {"properties": b"a\x01" + b"v" * 2_000},
        {"body": b"x" * 20_000},
        {"store_host": ("::1", 10_911), "born_host": ("::1", 1)},
    ],
)
def test_what_is_rare(fields: dict[str, Any]) -> None:
    record = Message(**{"topic": "orders", "queue_id": 1, "body": b"x", **fields})
    payload = delivered_payload(record, topic="orders", receipt_handle=_HANDLE)
    expected = _declared(record, topic="orders", receipt_handle=_HANDLE)
    assert service_pb2.ReceiveMessageResponse.FromString(payload) == expected


@pytest.mark.slow
def test_the_fast_path_is_fast() -> None:
    record = Message(topic="orders", queue_id=1, body=b"x" * 100, properties=b"UNIQ_KEY\x01id\x02TAGS\x01t")

    def took(count: int, make: Any) -> float:
        before = time.process_time()
        for _ in range(count):
            make(record, topic="orders", receipt_handle=_HANDLE)
        return time.process_time() - before

    slow = min(took(2_000, lambda *given, **more: _declared(*given, **more).SerializeToString()) for _ in range(5))
    assert min(took(2_000, delivered_payload) for _ in range(5)) < 0.7 * slow
