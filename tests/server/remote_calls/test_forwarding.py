"""Sends that the kernel forwards to brokers: their answers when a broker refuses, is silent, or leaves."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from itertools import count
from typing import Any, NamedTuple

import pytest
import trio

from rocketwire import native
from rocketwire.remoting.core.session import ClientRequest, Response
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.grpc.kernel import SEND
from rocketwire.server.grpc.keys import GrpcKeys
from rocketwire.server.grpc.metadata import CLIENT_ID
from rocketwire.server.grpc.tables.directories import TopicShare
from rocketwire.server.remote_calls.forwarding import ForwardedCalls, plain_calls
from rocketwire.server.send.keys import SendKeys
from rocketwire.server.upstream.connection_pool import ConnectionPool
from rocketwire.wire.addresses import Address
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.connection import FrameReader
from rocketwire.wire.facts.codes import FLAG_RESPONSE, RequestCode
from rocketwire.wire.frame import encode_frame
from rocketwire.wire.grpc import service_pb2 as s
from rocketwire.wire.grpc.codes import Code
from rocketwire.wire.header import Header, decode_header
from rocketwire.wire.http2.events import CALL
from tests.server.grpc.sdk import code_of, message, send_request
from tests.server.harness import NOW, account, mock_clock, settle

pytestmark = pytest.mark.skipif(native.kernel is None, reason="there is no kernel")

STORED = {"msgId": "7F" * 16, "queueId": "1", "queueOffset": "4"}


class Topics:
    """One topic at one broker."""

    def __init__(self, address: Address) -> None:
        self.where = address
        self.config = TopicConfig(topic_name="T", write_queue_nums=2, attributes={"message.type": "MIXED"})
        self.has_timer = True
        self.failures: list[str] = []

    def shares(self, topic: str) -> tuple[TopicShare, ...]:
        return (TopicShare("a", self.config),) if topic == "T" else ()

    def address(self, _broker: str) -> Address:
        return self.where

    def is_avoided(self, _broker: str) -> bool:
        return False

    def timed(self, _topic: str) -> bool:
        return self.has_timer

    def failed(self, broker: str) -> None:
        self.failures.append(broker)

    def answered(self, _broker: str) -> None:
        pass


class Dispatch:
    """Counts the answers."""

    def __init__(self) -> None:
        self.plain = True
        self.answered: list[Any] = []

    def note_answered(self, caller: Any) -> None:
        self.answered.append(caller)


class Client:
    """A client's connection."""

    remote_text = "10.1.2.3:456"

    def __init__(self) -> None:
        self.answers: dict[int, Any] = {}

    def answer_unary_calls(self, answers: list[tuple[int, bytes]]) -> None:
        self.answers.update((stream, s.SendMessageResponse.FromString(payload)) for stream, payload in answers)


class ForwardingSetup(NamedTuple):
    """Forwarded calls, and the broker's end of the connection."""

    calls: ForwardedCalls
    topics: Topics
    dispatch: Dispatch
    metrics: Metrics
    pool: ConnectionPool
    client: Client
    far: socket.socket
    took: list[tuple[float, int]]

    def serve(self, *sent: Any) -> int:
        """Serve the calls of a read, with the streams 1, 3, ..."""
        events = [
            (CALL, 2 * at + 1, SEND, {CLIENT_ID: "client"}, send_request(each).SerializeToString())
            for at, each in enumerate(sent)
        ]
        client: Any = self.client
        return self.calls.serve(events, client)

    def received(self) -> list[Header]:
        """The headers of the requests that the broker received."""
        frames, broken = FrameReader().receive(memoryview(self.far.recv(1 << 20)))
        assert broken is None
        return [decode_header(head, kind) for kind, head, _ in frames]

    async def answer(self, opaque: int, ext: dict[str, str] | None = None, **fields: Any) -> None:
        """Answer as the broker."""
        header = Header(opaque=opaque, flag=FLAG_RESPONSE, ext=ext, **{"code": 0, **fields})
        self.far.sendall(encode_frame(header))
        await settle()

    @property
    def in_flight(self) -> int:
        return self.calls.in_flight.total


@pytest.fixture
async def setup(nursery: trio.Nursery) -> AsyncIterator[ForwardingSetup]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = Address(host="127.0.0.1", port=server.getsockname()[1])
        pool, topics, dispatch, metrics, client = ConnectionPool(), Topics(address), Dispatch(), Metrics(), Client()
        nursery.start_soon(pool.run)
        await pool.get_connection(address)
        far, _ = server.accept()
        took: list[tuple[float, int]] = []
        made = plain_calls(
            lambda: ForwardedCalls(
                topics=topics,  # type: ignore[arg-type]
                pool=pool,
                is_plain=lambda: dispatch.plain,
                note_answered=dispatch.note_answered,
                metrics=metrics,
                in_flight=account(),
                clock=lambda: NOW,
                keys=LiveGroup(GrpcKeys()),
                send_keys=LiveGroup(SendKeys()),
                turns=count(),
                took=lambda seconds, times: took.append((round(seconds, 6), times)),
            )
        )
        with far:
            yield ForwardingSetup(made[SEND], topics, dispatch, metrics, pool, client, far, took)


async def test_calls_of_a_read_are_one_write_and_are_answered_by_their_streams(setup: ForwardingSetup) -> None:
    assert setup.serve(message(b"1", "id1"), message(b"2", "id2")) == 2
    assert setup.in_flight == 2 * 513
    assert setup.metrics.requests[RequestCode.SEND_MESSAGE_V2] == 2
    first, second = setup.received()
    assert [(each.ext or {})["e"] for each in (first, second)] == ["0", "1"]
    await setup.answer(second.opaque, {**STORED, "recallHandle": "handle"})
    assert setup.client.answers[3].entries[0].recall_handle == "handle"
    await setup.answer(first.opaque, STORED)
    assert [code_of(setup.client.answers[stream]) for stream in (1, 3)] == [Code.OK, Code.OK]
    assert setup.client.answers[1].entries[0].message_id == "id1"
    assert setup.in_flight == 0
    assert setup.dispatch.answered == [setup.client, setup.client]


async def test_answered_sends_are_timed(setup: ForwardingSetup) -> None:
    assert setup.serve(message(), message()) == 2
    mock_clock().jump(0.5)
    assert setup.serve(message()) == 1
    first, second, third = (each.opaque for each in setup.received())
    mock_clock().jump(0.25)
    await setup.answer(first, STORED)
    await setup.answer(third, STORED)
    await setup.answer(second, code=2, remark="[TIMEOUT_CLEAN_QUEUE]broker busy")
    assert setup.took == [(0.75, 1), (0.25, 1), (0.75, 1)]


async def test_refusals_of_a_broker_are_answered_as_usual(setup: ForwardingSetup) -> None:
    assert setup.serve(message(), message(), message()) == 3
    first, second, third = setup.received()
    await setup.answer(first.opaque, code=2, remark="[TIMEOUT_CLEAN_QUEUE]broker busy")
    await setup.answer(second.opaque, STORED, code=10)
    await setup.answer(third.opaque)
    answers = setup.client.answers
    assert code_of(answers[1]) is Code.TOO_MANY_REQUESTS
    assert answers[1].status.message == "[TIMEOUT_CLEAN_QUEUE]broker busy"
    assert code_of(answers[3]) is Code.MASTER_PERSISTENCE_TIMEOUT
    assert answers[3].entries[0].offset == 4
    assert (code_of(answers[5]), len(answers[5].entries)) == (Code.OK, 0)
    assert setup.in_flight == 0


async def test_a_silent_brokers_call_ends(setup: ForwardingSetup) -> None:
    assert setup.serve(message()) == 1
    mock_clock().jump(1)
    assert setup.serve(message(), message()) == 2
    opaques = [each.opaque for each in setup.received()]
    mock_clock().jump(4.5)
    await settle()
    assert code_of(setup.client.answers[1]) is Code.PROXY_TIMEOUT
    assert (set(setup.client.answers), setup.took) == ({1}, [])
    assert setup.topics.failures == ["a"]
    await setup.answer(opaques[2], STORED)
    assert code_of(setup.client.answers[3]) is Code.OK
    mock_clock().jump(1)
    await settle()
    assert code_of(setup.client.answers[1]) is Code.PROXY_TIMEOUT
    assert setup.in_flight == 0
    await setup.answer(opaques[0], STORED)
    assert setup.in_flight == 0


async def test_a_broker_that_closes_leaves_no_call_unanswered(setup: ForwardingSetup) -> None:
    assert setup.serve(message(), message()) == 2
    setup.far.close()
    await settle()
    assert [code_of(each) for each in setup.client.answers.values()] == [Code.PROXY_TIMEOUT] * 2
    assert setup.in_flight == 0
    assert setup.serve(message()) == 0


async def test_other_requests_of_the_connection_are_answered_too(setup: ForwardingSetup) -> None:
    answers: list[Any] = []
    connection = setup.pool.send(setup.topics.where, ClientRequest(105), seconds=3, done=answers.append)
    assert connection is not None
    connection.flush()
    assert setup.serve(message()) == 1
    (sent,) = setup.received()[:1]
    await settle()
    await setup.answer(sent.opaque, {"a": "b"})
    assert [type(each) for each in answers] == [Response]
    assert setup.in_flight == 517
    mock_clock().jump(3.5)
    await settle()
    assert setup.in_flight == 517
    mock_clock().jump(2)
    await settle()
    assert setup.in_flight == 0


async def test_calls_that_are_not_plain_are_not_forwarded(setup: ForwardingSetup) -> None:
    assert setup.serve(message(b"")) == 0
    assert setup.serve(message(to="unknown")) == 0
    setup.dispatch.plain = False
    assert setup.serve(message()) == 0


async def test_plans_hold_for_a_quarter_of_a_second(setup: ForwardingSetup) -> None:
    timed: Any = {"delivery_timestamp": {"seconds": NOW // 1000 + 60}}
    assert setup.serve(message(**timed)) == 1
    setup.topics.has_timer = False
    assert setup.serve(message(**timed)) == 1
    mock_clock().jump(0.25)
    assert (setup.serve(message(**timed)), setup.serve(message())) == (0, 1)
    for changes in ({"attributes": {"message.type": "FIFO"}}, {"perm": 4}, {"write_queue_nums": 0}):
        setup.topics.config = TopicConfig(topic_name="T", **changes)
        mock_clock().jump(0.25)
        assert setup.serve(message()) == 0


async def test_without_a_connection_the_first_send_is_not_forwarded(setup: ForwardingSetup) -> None:
    known, setup.topics.where = setup.topics.where, Address(host="127.0.0.1", port=1)
    assert setup.serve(message()) == 0
    setup.topics.where = known
    assert setup.serve(message()) == 0
    mock_clock().jump(0.02)
    assert setup.serve(message()) == 1


def test_without_a_kernel_no_call_is_forwarded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "kernel", None)
    nothing: Any = None
    assert plain_calls(nothing) == {}
