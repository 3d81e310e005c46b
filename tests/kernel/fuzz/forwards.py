"""What the kernel makes of a proxy's calls and of brokers' answers, held against Python.

The kernel leaves to Python what is not plain; what it takes it must write as Python does.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from itertools import count
from typing import Any, Final

from rocketwire import _kernel as kernel
from rocketwire.remoting.core.session import LANGUAGE, Response
from rocketwire.server.grpc.kernel import PYTHON_PROPERTIES, SEND
from rocketwire.server.grpc.metadata import CLIENT_ID
from rocketwire.server.grpc.sending import send_response
from rocketwire.server.remote_calls.answers import reply_of
from rocketwire.server.remote_calls.forwarding import send_texts
from rocketwire.server.upstream.broker_connection import FORWARDED
from rocketwire.wire.connection import FrameReader
from rocketwire.wire.facts.codes import FLAG_RESPONSE, VERSION_4_9_7, RequestCode, ResponseCode
from rocketwire.wire.frame import encode_frame
from rocketwire.wire.grpc import definition_pb2, service_pb2
from rocketwire.wire.grpc.checks import check_topic
from rocketwire.wire.grpc.codes import CallInvalid
from rocketwire.wire.grpc.queue_choice import queue_of_group
from rocketwire.wire.header import Header, decode_header
from rocketwire.wire.headers import encode_ext
from rocketwire.wire.http2.events import CALL
from tests.kernel.fuzz.calls import LIMITS, NOW, QUEUES, REMOTE, send_twin
from tests.wire import golden

ALL_TYPES: Final = 7
HEADERS: Final = {CLIENT_ID: "client"}
_TOPIC: Final = "orders"
_WAITING: Final = 3


def forwards(*shares: tuple[Any, int, bool], types: int = ALL_TYPES, plan: Any = None) -> Any:
    """The kernel's way of calls to brokers, with the limits that there are without a configuration."""

    def made(topic: str) -> Any:
        try:
            check_topic(topic)
        except CallInvalid:
            return None
        return (types, send_texts(topic), shares)

    calls = kernel.CallForwards(
        plan=plan or made, turns=count(), path=SEND, client_id=CLIENT_ID, reserved=PYTHON_PROPERTIES
    )
    calls.user_properties = LIMITS.user_properties
    calls.property_bytes = LIMITS.property_bytes
    calls.message_group_bytes = LIMITS.message_group_bytes
    calls.delay_ms = LIMITS.delay_ms
    return calls


def serve(calls: Any, *payloads: bytes, deadline: float = 5.0) -> tuple[int, int, list[tuple[Any, bytes]]]:
    """Forward calls of the connection "here", with the streams 1, 3, ..."""
    events = [(CALL, 2 * at + 1, SEND, HEADERS, payload) for at, payload in enumerate(payloads)]
    found: tuple[int, int, list[tuple[Any, bytes]]] = calls.serve(events, "here", REMOTE, NOW, deadline)
    return found


def call_forwards(data: bytes) -> bool:
    """A SendMessage call; whether the kernel takes it."""
    served, size, written = serve(forwards((kernel.ConnectionSends(owner="broker"), QUEUES, False)), data)
    send = send_twin(data)
    if not served:
        return False
    assert send is not None
    queue = queue_of_group(send.message_group, QUEUES) if send.message_group else 0
    header = Header(
        code=RequestCode.SEND_MESSAGE_V2,
        opaque=FORWARDED,
        ext=encode_ext(send.fields(queue), short=True),
        language=LANGUAGE,
        version=VERSION_4_9_7,
    )
    assert written == [("broker", encode_frame(header, send.body))]
    assert size == len(send.body) + 512
    return True


def broker_answers(data: bytes) -> None:
    """A read of a broker for which some sends wait."""
    line = kernel.ConnectionSends(owner=None)
    calls = []
    for number in range(_WAITING):
        message = definition_pb2.Message(body=b"body")
        message.topic.name = _TOPIC
        message.system_properties.message_id = f"id{number}"
        calls.append(service_pb2.SendMessageRequest(messages=[message]).SerializeToString())
    assert serve(forwards((line, 1, False)), *calls)[0] == _WAITING
    tight = (ctypes.c_ubyte * len(data)).from_buffer_copy(data)  # without a byte behind it that may be read
    answers, left, size, taken = line.take(tight)
    waiting = {FORWARDED + number: (2 * number + 1, f"id{number}") for number in range(_WAITING)}
    expected = []
    for serialize_type, head, _ in FrameReader().receive(memoryview(_without(data, left)))[0]:
        header = decode_header(head, serialize_type)
        stream, message_id = waiting.pop(header.opaque)
        assert header.code == ResponseCode.SUCCESS
        assert header.is_response
        reply = reply_of(RequestCode.SEND_MESSAGE_V2, Response(header.code, header.remark, header.ext or {}, b""))
        expected.append((stream, send_response((message_id,), reply).SerializeToString()))
    assert answers == ({"here": expected} if expected else {})
    assert (sum(times for _, times in taken), size) == (len(expected), len(expected) * 516)
    assert [each[2] for each in line.close()] == [message_id for _, message_id in waiting.values()]


def _without(data: bytes, ranges: list[tuple[int, int]]) -> bytes:
    kept, at = b"", 0
    for start, end in ranges:
        assert at <= start < end <= len(data)
        kept += data[at:start]
        at = end
    return kept + data[at:]


# --- what the fuzzer begins with


def answered(number: int, code: int = 0, **said: Any) -> bytes:
    """A broker's answer to one of the sends; its fields are the answer of a stored message unless some are given."""
    fields = {"msgId": "7F" * 16, "queueId": "1", "queueOffset": "4", "recallHandle": "handle"}
    return encode_frame(Header(code=code, opaque=FORWARDED + number, flag=FLAG_RESPONSE, **{"ext": fields, **said}))


def seeds() -> Iterator[tuple[str, bytes]]:
    """Inputs of the oracles above, each with the name of its oracle."""
    for case in golden.grpc_cases("sends"):
        yield "call_forwards", bytes.fromhex(case["request"])
    yield "broker_answers", b"".join(map(answered, range(_WAITING)))
    yield "broker_answers", answered(1) + answered(0, 2, remark="busy") + answered(2, ext={"msgId": "7F"})
    yield "broker_answers", answered(-1) + answered(0) + answered(0) + answered(2)[:-1]
