"""What 5.x clients write: sends, filters, receipt handles, signatures, timeouts; and stored messages that they get.

The first byte chooses which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from google.protobuf.message import DecodeError

from rocketwire.wire.batch import decode_batch
from rocketwire.wire.errors import WireError
from rocketwire.wire.grpc import definition_pb2, service_pb2
from rocketwire.wire.grpc.authorization import authorization, parse_authorization
from rocketwire.wire.grpc.checks import CallLimits
from rocketwire.wire.grpc.codes import CallInvalid, Code
from rocketwire.wire.grpc.filters import read_filter
from rocketwire.wire.grpc.message_id import ClientMessageId
from rocketwire.wire.grpc.queue_choice import queue_of_group
from rocketwire.wire.grpc.receipt import parse_receipt_handle
from rocketwire.wire.grpc.receiving import delivered_message
from rocketwire.wire.grpc.sending import read_send
from rocketwire.wire.grpc.times import timeout_ms
from rocketwire.wire.message import decode_record
from rocketwire.wire.properties import decode_properties
from rocketwire.wire.signature import SecretKey
from tests.fuzz.part import Part, always
from tests.wire import golden

_LIMITS = CallLimits()
_SECRET = SecretKey("secret")
_QUEUES = 8


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def _send(data: bytes) -> None:
    request = service_pb2.SendMessageRequest.FromString(data)
    send = read_send(request, _LIMITS, remote="127.0.0.1:1", now=1_767_225_600_000)
    texts = [item.properties.decode() for item in decode_batch(send.body)] if send.batch else [send.properties]
    ids = tuple(decode_properties(text)["UNIQ_KEY"] for text in texts)
    assert ids == send.message_ids == tuple(message.system_properties.message_id for message in request.messages)
    assert send.fields(0).topic == send.topic
    assert 0 <= queue_of_group(send.message_group, _QUEUES) < _QUEUES


def _delivery(data: bytes) -> None:
    record = decode_record(data, check_crc=False)
    message = delivered_message(record, topic="T", receipt_handle="handle")
    assert definition_pb2.Message.FromString(message.SerializeToString()) == message


def _filter(data: bytes) -> None:
    assert read_filter(definition_pb2.FilterExpression.FromString(data)).text


def _handle(data: bytes) -> None:
    handle = parse_receipt_handle(_text(data))
    assert parse_receipt_handle(str(handle)) == handle


def _authorization(data: bytes) -> None:
    found = parse_authorization(_text(data))
    assert not found.signed(_SECRET, "20260102T030405Z")


def _message_id(data: bytes) -> None:
    found = ClientMessageId.parse(_text(data))
    assert str(found) == _text(data).upper()


_KINDS: list[Callable[[bytes], object]] = [
    _send,
    _delivery,
    _filter,
    _handle,
    _authorization,
    _message_id,
    lambda data: timeout_ms(_text(data)),
]


def check(data: bytes) -> None:
    """A value, or an error with a code and a text; a value that is written is read as it was."""
    try:
        _KINDS[(data[0] if data else 0) % len(_KINDS)](data[1:])
    except CallInvalid as error:
        assert error.code >= Code.BAD_REQUEST
        assert str(error)
    except (WireError, DecodeError) as error:
        assert str(error)


def seeds() -> Iterator[bytes]:
    """One or several of each kind."""
    for case in golden.grpc_cases("sends"):
        yield b"\0" + bytes.fromhex(case["request"])
    for case in golden.grpc_cases("deliveries"):
        yield b"\1" + bytes.fromhex(case["record"])
    for kind in (definition_pb2.TAG, definition_pb2.SQL):
        yield b"\2" + definition_pb2.FilterExpression(type=kind, expression="a || b").SerializeToString()
    for text, _, _ in golden.grpc_cases("handles"):
        yield b"\3" + text.encode()
    yield b"\4" + authorization("AK/region/service", SecretKey("other"), "20260102T030405Z").encode()
    yield b"\x05010A5B6C7D8E9F04D206A1B2C300000005"
    yield b"\x063000m"


PART = Part(
    opened=always(check),
    seeds=seeds,
    words=["MQv2-HMAC-SHA1", "Credential=", "Signature=", "||", "TIMER_DELIVER_MS", "UNIQ_KEY", b"\x01", b"\x02"],
)
