"""The raw load generator for the protocol of 5.x counts right answers and stops at the first wrong one."""

import os
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from queue import Queue

import pytest
from google.protobuf.message import Message

from bench.tools import build_grpc_load
from rocketwire.wire.grpc.definition_pb2 import ClientType, Code, MessageType, Status
from rocketwire.wire.grpc.service_pb2 import (
    AckMessageRequest,
    AckMessageResponse,
    AckMessageResultEntry,
    ReceiveMessageRequest,
    ReceiveMessageResponse,
    SendMessageRequest,
    SendMessageResponse,
    SendResultEntry,
    TelemetryCommand,
)
from tests.bench.fake_front import Answer, FakeFront
from tests.bench.fake_server import run

OK = Status(code=Code.OK, message="OK")
REFUSED = Status(code=Code.TOPIC_NOT_FOUND, message="no such topic")


@pytest.fixture(scope="session")
def grpc_load() -> Path:
    return build_grpc_load()


def stored(request: Message) -> Answer:
    assert isinstance(request, SendMessageRequest)
    return [SendMessageResponse(status=OK, entries=[SendResultEntry(status=OK, message_id="X", offset=3)])]


def delivery(message_id: str, handle: str) -> ReceiveMessageResponse:
    response = ReceiveMessageResponse()
    response.message.body = b"x" * 100
    response.message.system_properties.message_id = message_id
    response.message.system_properties.receipt_handle = handle
    return response


def deliveries(*messages: ReceiveMessageResponse) -> Sequence[Message]:
    end = ReceiveMessageResponse()
    end.delivery_timestamp.seconds = 1
    return [ReceiveMessageResponse(status=OK), *messages, end]


def endless() -> Callable[[Message], Answer]:
    """A topic without end: each receive brings the requested number of messages."""
    numbers = count()

    def answer(request: Message) -> Answer:
        if isinstance(request, ReceiveMessageRequest):
            return deliveries(*(delivery(f"id-{next(numbers)}", "h" * 70) for _ in range(request.batch_size)))
        assert isinstance(request, AckMessageRequest)
        return [AckMessageResponse(status=OK, entries=[AckMessageResultEntry(status=OK) for _ in request.entries])]

    return answer


def test_sends_are_counted_and_timed(grpc_load: Path) -> None:
    with FakeFront(stored) as front:
        code, result = run(
            grpc_load, front, "send", "--connections", "2", "--window", "4", "--server-pid", str(os.getpid())
        )
    assert (code, result["errors"]) == (0, 0)
    assert 0 < result["messages"] <= len(front.requests)
    assert 0 < result["p50_us"] <= result["p99_us"]
    assert result["server_cpu_seconds"] >= 0


def test_a_send_is_one_of_the_official_clients(grpc_load: Path) -> None:
    with FakeFront(stored) as front:
        run(grpc_load, front, "send", "--topic", "T", "--size", "5000", "--window", "2")
    ids = set()
    for request in front.requests:
        assert isinstance(request, SendMessageRequest)
        (message,) = request.messages
        ids.add(message.system_properties.message_id)
        assert (message.topic.name, message.body) == ("T", b"x" * 5000)
        assert message.system_properties.message_type == MessageType.NORMAL
        assert len(message.system_properties.message_id) == 34
    assert len(ids) == len(front.requests)
    first, last = front.headers[0], front.headers[-1]
    assert first["x-mq-request-id"] != last["x-mq-request-id"]
    assert {name: first[name] for name in first if name != "x-mq-request-id"} == {
        name: last[name] for name in last if name != "x-mq-request-id"
    }
    assert (first["x-mq-client-version"], first["te"], first["grpc-timeout"]) == ("5.2.0", "trailers", "20S")


@pytest.mark.parametrize(
    "answer",
    [
        SendMessageResponse(status=REFUSED),
        SendMessageResponse(status=OK, entries=[SendResultEntry(status=REFUSED)]),
        SendMessageResponse(),
    ],
)
def test_a_refused_send_is_fatal(grpc_load: Path, answer: SendMessageResponse) -> None:
    with FakeFront(lambda _request: [answer]) as front:
        code, result = run(grpc_load, front, "send", "--seconds", "60")  # it ends before
    assert code == 1
    assert result["error"].startswith("send: ")


def test_a_grpc_error_is_fatal(grpc_load: Path) -> None:
    with FakeFront(lambda _request: None) as front:
        code, result = run(grpc_load, front, "send", "--seconds", "60")  # it ends before
    assert (code, result["error"]) == (1, "a call ended without an answer: a gRPC error")


def test_what_is_received_is_acknowledged_in_one_call(grpc_load: Path) -> None:
    with FakeFront(endless()) as front:
        code, result = run(grpc_load, front, "receive", "--group", "G", "--window", "2", "--batch", "8")
    assert (code, result["errors"]) == (0, 0)
    assert result["messages"] == result["requests"] * 8 > 0
    settings = front.requests[0]
    assert isinstance(settings, TelemetryCommand)
    assert settings.settings.client_type == ClientType.SIMPLE_CONSUMER
    assert settings.settings.subscription.group.name == "G"
    receives = [each for each in front.requests if isinstance(each, ReceiveMessageRequest)]
    assert (receives[0].message_queue.id, receives[0].filter_expression.expression) == (-1, "*")
    acks = [each for each in front.requests if isinstance(each, AckMessageRequest)]
    found = [entry.message_id for ack in acks for entry in ack.entries]
    assert sorted(found) == sorted(set(found))
    assert {len(ack.entries) for ack in acks} == {8}


def test_a_topic_that_is_empty_ends_the_run(grpc_load: Path) -> None:
    with FakeFront(endless()) as front:
        code, result = run(grpc_load, front, "receive", "--window", "1", "--seconds", "60", "--count", "320")
    assert (code, result["messages"]) == (0, 320)


def test_a_refused_acknowledgement_is_fatal(grpc_load: Path) -> None:
    def answer(request: Message) -> Answer:
        if isinstance(request, ReceiveMessageRequest):
            return deliveries(delivery("id", "handle"))
        return [AckMessageResponse(status=OK, entries=[AckMessageResultEntry(message_id="id", status=REFUSED)])]

    with FakeFront(answer) as front:
        code, result = run(grpc_load, front, "receive", "--seconds", "60")  # it ends before
    assert (code, result["error"]) == (1, "acknowledge: 1 entries were refused")


def test_a_receiver_that_waits_is_timed_from_the_send(grpc_load: Path) -> None:
    sent: Queue[str] = Queue()

    def answer(request: Message) -> Answer:
        if isinstance(request, SendMessageRequest):
            sent.put(request.messages[0].system_properties.message_id)
            return stored(request)
        if isinstance(request, ReceiveMessageRequest):
            return deliveries(delivery(sent.get(timeout=60), "handle"))
        return [AckMessageResponse(status=OK)]

    with FakeFront(answer) as front:
        code, result = run(grpc_load, front, "wake")
    assert (code, result["errors"]) == (0, 0)
    assert result["messages"] > 0
    assert result["p50_us"] > 0
