import hashlib
import zlib
from typing import Any

import lz4.frame
import pytest

from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.grpc import definition_pb2, receiving
from rocketwire.wire.grpc.receiving import delivered_message
from rocketwire.wire.message import MessageRecord, decode_record
from rocketwire.wire.properties import encode_properties
from tests.wire import golden

#: IPv6 in the short form, and in brackets before a port.
_OTHER_HOSTS = {"2001:db8:0:0:0:0:0:1": "2001:db8::1", "2001:db8:0:0:0:0:0:2:2": "[2001:db8::2]:2"}


def _record(properties: dict[str, str] | None = None, **fields: Any) -> MessageRecord:
    text = encode_properties(properties or {}).encode()
    return MessageRecord(**{"topic": "orders", "queue_id": 3, "body": b"hello", "properties": text, **fields})


@pytest.mark.parametrize("case", golden.grpc_cases("deliveries"), ids=lambda case: str(case["name"]))
def test_messages_are_what_apaches_proxy_makes_of_them(case: dict[str, Any]) -> None:
    record = decode_record(bytes.fromhex(case["record"]))
    expected = definition_pb2.Message.FromString(bytes.fromhex(case["message"]))
    system = expected.system_properties
    system.born_host = _OTHER_HOSTS.get(system.born_host, system.born_host)
    system.store_host = _OTHER_HOSTS.get(system.store_host, system.store_host)
    assert delivered_message(record, topic=case["topic"], receipt_handle=case.get("handle", "")) == expected


@pytest.mark.parametrize(
    ("properties", "ms"),
    [
        ({"TIMER_DELAY_SEC": "5", "TIMER_OUT_MS": "1767225700456"}, 1_767_225_700_456),
        ({"TIMER_DELAY_SEC": "5"}, None),
        ({"TIMER_DELIVER_MS": "soon"}, None),
        ({"TIMER_DELIVER_MS": "9223372036854775807"}, 253_402_300_799_999),
    ],
)
def test_when_a_message_was_due(properties: dict[str, str], ms: int | None) -> None:
    # Apache's proxy adds a delay to the time of the delivery, and fails at what is no time.
    system = delivered_message(_record(properties), topic="orders").system_properties
    assert system.message_type == definition_pb2.DELAY
    assert (system.delivery_timestamp.ToMilliseconds() if system.HasField("delivery_timestamp") else None) == ms


def test_in_order_mode_the_broker_counts_deliveries() -> None:
    record = _record(reconsume_times=7)
    assert delivered_message(record, topic="orders", reconsume_times=2).system_properties.delivery_attempt == 3
    assert delivered_message(record, topic="orders").system_properties.delivery_attempt == 8


def test_a_message_without_properties() -> None:
    # At Apache's proxy it has at least a receipt handle.
    system = delivered_message(_record(physical_offset=17), topic="orders").system_properties
    assert system.message_id == "0000000000000000" + f"{17:016X}"
    assert not system.HasField("receipt_handle")
    assert not system.HasField("tag")


def test_a_priority_that_is_no_number() -> None:
    assert not delivered_message(_record({"_SYS_MSG_PRIORITY_": "x"}), topic="o").system_properties.HasField("priority")


@pytest.mark.parametrize("kind", [0, SysFlag.COMPRESSION_ZLIB])
def test_a_zlib_body_is_for_the_client(kind: int) -> None:
    body = zlib.compress(b"hello" * 100)
    message = delivered_message(_record(body=body, sys_flag=SysFlag.COMPRESSED | kind), topic="orders")
    assert message.body == body
    assert message.system_properties.body_encoding == definition_pb2.GZIP


def test_another_compression_is_undone_for_the_client() -> None:
    body = lz4.frame.compress(b"hello" * 100)
    record = _record(body=body, sys_flag=SysFlag.COMPRESSED | SysFlag.COMPRESSION_LZ4)
    message = delivered_message(record, topic="orders")
    assert message.body == b"hello" * 100
    assert message.system_properties.body_encoding == definition_pb2.IDENTITY
    assert message.system_properties.body_digest.checksum == hashlib.md5(message.body).hexdigest().upper()


@pytest.mark.parametrize("sys_flag", [SysFlag.COMPRESSION_LZ4, 0x400])
def test_a_body_that_cannot_be_decompressed_stays_as_it_is(sys_flag: int) -> None:
    message = delivered_message(_record(body=b"no", sys_flag=SysFlag.COMPRESSED | sys_flag), topic="orders")
    assert message.body == b"no"
    assert message.system_properties.body_encoding == definition_pb2.GZIP


def test_a_body_that_would_become_too_large_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiving, "MOST_INFLATED", 499)
    body = lz4.frame.compress(b"hello" * 100)
    record = _record(body=body, sys_flag=SysFlag.COMPRESSED | SysFlag.COMPRESSION_LZ4)
    assert delivered_message(record, topic="orders").body == body
