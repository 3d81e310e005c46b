"""Connections to other servers: time limits, and requests of the other server."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import NamedTuple

import pytest
import trio

from rocketwire.remoting.core.session import ClientRequest, RequestReceived, Response
from rocketwire.server.upstream.broker_connection import BrokerConnection, connect
from rocketwire.server.upstream.connecting import RequestNotSent, UpstreamConnectionError
from rocketwire.server.upstream.connection_pool import ConnectionPool
from rocketwire.server.upstream.requests import send_request
from rocketwire.wire.addresses import Address
from rocketwire.wire.connection import FrameReader
from rocketwire.wire.facts.codes import FLAG_RESPONSE
from rocketwire.wire.frame import encode_frame
from rocketwire.wire.header import Header, decode_header
from tests.server.harness import free_port, mock_clock, settle

CODE = 105


class Pair(NamedTuple):
    """A connection, and its other end."""

    connection: BrokerConnection
    far: socket.socket
    requests: list[tuple[int, bytes]]

    def received(self) -> list[Header]:
        """The headers of the frames that the other end received."""
        frames, broken = FrameReader().receive(memoryview(self.far.recv(1 << 20)))
        assert broken is None
        return [decode_header(head, kind) for kind, head, _ in frames]

    def send(self, header: Header, body: bytes = b"") -> None:
        """Send a frame from the other end."""
        self.far.sendall(encode_frame(header, body))


@pytest.fixture
async def pair(nursery: trio.Nursery) -> AsyncIterator[Pair]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        requests: list[tuple[int, bytes]] = []

        def answer_request(connection: BrokerConnection, request: RequestReceived) -> None:
            requests.append((request.code, request.body))
            connection.answer(request, 0, None, b"answered")

        connection = await connect(
            Address(host="127.0.0.1", port=server.getsockname()[1]), nursery, on_request=answer_request
        )
        far, _ = server.accept()
        yield Pair(connection, far, requests)
        connection.close()
        far.close()


async def test_a_request_that_is_cancelled_leaves_the_connection_to_others(pair: Pair) -> None:
    found: list[Response] = []
    async with trio.open_nursery() as nursery:

        async def send_one() -> None:
            found.append(await send_request(pair.connection, ClientRequest(CODE, {"topic": "T"})))

        with trio.move_on_after(1):
            nursery.start_soon(send_one)
            await settle()
            mock_clock().autojump_threshold = 0
            await send_request(pair.connection, ClientRequest(CODE, {"topic": "timed out"}), seconds=60)
        mock_clock().autojump_threshold = float("inf")
        first, second = pair.received()
        for each in (second, first):
            pair.send(Header(code=0, opaque=each.opaque, flag=FLAG_RESPONSE), b"for %d" % each.opaque)
    assert [each.body for each in found] == [b"for %d" % first.opaque]


async def test_requests_of_the_other_server_are_answered(pair: Pair) -> None:
    pair.send(Header(code=307, opaque=9), b"request")
    await settle()
    assert pair.requests == [(307, b"request")]
    (answer,) = pair.received()
    assert (answer.opaque, answer.is_response) == (9, True)


async def test_all_waiting_requests_end_with_the_connection(pair: Pair) -> None:
    found: list[Response | UpstreamConnectionError] = []
    for _ in range(2):
        pair.connection.send(ClientRequest(CODE), seconds=5, done=found.append)
    pair.connection.flush()
    pair.far.close()
    await pair.connection.closed.wait()
    assert [type(each) for each in found] == [UpstreamConnectionError] * 2
    pair.connection.send(ClientRequest(CODE), seconds=5, done=found.append)
    assert isinstance(found[-1], RequestNotSent)


async def test_an_answer_is_not_waited_for_longer_than_requested(pair: Pair) -> None:
    found: list[tuple[str, Response | UpstreamConnectionError]] = []
    pair.connection.send(ClientRequest(CODE), seconds=5, done=lambda each: found.append(("five", each)))
    pair.connection.send(ClientRequest(CODE), seconds=2, done=lambda each: found.append(("two", each)))
    await settle()
    mock_clock().jump(3)
    await settle()
    assert [name for name, _ in found] == ["two"]
    mock_clock().jump(3)
    await settle()
    assert [name for name, _ in found] == ["two", "five"]


async def test_more_than_the_socket_accepts_is_sent_later(pair: Pair) -> None:
    pair.connection.send(ClientRequest(CODE, None, bytes(8 << 20)), seconds=5, done=lambda _: None)
    pair.connection.flush()
    pair.far.setblocking(False)
    got = 0
    while got < 8 << 20:
        await trio.lowlevel.wait_readable(pair.far)
        got += len(pair.far.recv(1 << 20))
    assert not pair.connection.closed.is_set()


async def test_a_request_to_an_unreachable_server_is_not_sent(nursery: trio.Nursery) -> None:
    pool, found = ConnectionPool(), list[Response | UpstreamConnectionError]()
    nursery.start_soon(pool.run)
    await settle()
    pool.send(Address(host="127.0.0.1", port=free_port()), ClientRequest(CODE), seconds=5, done=found.append)
    await settle()
    assert [type(each) for each in found] == [RequestNotSent]


@pytest.mark.parametrize("end", ["closed", "late"])
async def test_thousands_of_waiting_requests_end_in_steps(pair: Pair, end: str) -> None:
    found: list[object] = []
    for _ in range(1000):
        pair.connection.send(ClientRequest(CODE), seconds=3, done=found.append)
    pair.connection.flush()
    await settle()
    steps = [0]

    async def count_steps() -> None:
        while len(found) < 1000:
            steps.append(len(found))
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(count_steps)
        await trio.lowlevel.checkpoint()
        if end == "closed":
            pair.connection.close()
        else:
            mock_clock().jump(3)
    assert len(found) == 1000
    assert all(isinstance(each, UpstreamConnectionError) for each in found)
    assert max(after - before for before, after in pairwise([*steps, 1000])) <= 200


async def test_thousands_of_short_answers_are_handled_in_steps(pair: Pair) -> None:
    """Handling an answer for a 5.x client's poll takes some 0.1 ms."""
    taken, most = [0], 0

    def done(_: Response | UpstreamConnectionError) -> None:
        taken[0] += 1

    opaques = [pair.connection.send(ClientRequest(CODE), seconds=60, done=done) for _ in range(2000)]
    answers = b"".join(encode_frame(Header(code=0, opaque=opaque, flag=FLAG_RESPONSE), b"") for opaque in opaques)
    pair.far.setblocking(False)
    left = memoryview(answers)
    while taken[0] < len(opaques):
        with contextlib.suppress(BlockingIOError):
            left = left[pair.far.send(left) :] if left else left
        before = taken[0]
        await trio.lowlevel.checkpoint()
        most = max(most, taken[0] - before)
    assert most <= 400


async def test_all_requests_end_with_the_program() -> None:
    found: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        async with trio.open_nursery() as nursery:
            connection = await connect(Address(host="127.0.0.1", port=server.getsockname()[1]), nursery)
            for _ in range(1000):
                connection.send(ClientRequest(CODE), seconds=3, done=found.append)
            nursery.cancel_scope.cancel()
    assert len(found) == 1000
