"""Servers behind a proxy that send wrong answers, are silent, or do not read."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Container
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import trio

from rocketwire.wire.addresses import Address
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.route import TopicRouteData
from rocketwire.wire.connection import FrameReader
from rocketwire.wire.facts.codes import FLAG_RESPONSE, RequestCode, ResponseCode
from rocketwire.wire.frame import encode_frame
from rocketwire.wire.header import Header, decode_header
from tests.server.harness import mock_clock, send_ext, serving, settle
from tests.server.proxy.proxied import proxying

Answers = Callable[[int], tuple[int, bytes] | None]
"""The code and the body of the answer to a request code; None: there is none."""


@contextlib.asynccontextmanager
async def name_server(answers: Answers, *, deaf: Container[int] = ()) -> AsyncIterator[Address]:
    """A name server that answers so, but not on `deaf` ones of its connections, which are counted from 0."""
    numbers = count()

    async def serve(stream: trio.SocketStream) -> None:
        number = next(numbers)
        frames = FrameReader()
        async for data in stream:
            for frame in frames.receive(memoryview(data))[0]:
                header_in = decode_header(frame.header, frame.serialize_type)
                reply = None if number in deaf else answers(header_in.code)
                if reply is not None:
                    header = Header(code=reply[0], opaque=header_in.opaque, flag=FLAG_RESPONSE)
                    await stream.send_all(encode_frame(header, reply[1]))

    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(partial(trio.serve_tcp, serve, 0, host="127.0.0.1"))
        yield Address(host="127.0.0.1", port=listener.socket.getsockname()[1])
        nursery.cancel_scope.cancel()


def brokers(text: str) -> bytes:
    """The list of brokers with one at an address."""
    broker = f'"brokerAddrs":{{0:"{text}"}},"brokerName":"liar","cluster":"C"'
    return f'{{"brokerAddrTable":{{"liar":{{{broker}}}}},"clusterAddrTable":{{"C":["liar"]}}}}'.encode()


@pytest.mark.parametrize(
    "reply",
    [
        (0, b"no JSON"),
        (0, b"[1,2]"),
        (0, brokers("nowhere")),
        (0, brokers("127.0.0.1:99999")),
        (1, b""),
    ],
)
async def test_malformed_answers_name_no_broker(
    tmp_path: Path, reply: tuple[int, bytes], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    async with name_server(lambda _: reply) as address, proxying(tmp_path / "p", address) as proxy:
        assert proxy.standing.brokers == {}
        answer = await proxy.names().request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
        assert (answer.header.code, bytes(answer.body)) == reply
        assert caplog.records


async def test_requests_to_an_unreachable_broker_are_answered(tmp_path: Path) -> None:
    reply = (0, brokers("127.0.0.1:1"))
    async with name_server(lambda _: reply) as address, proxying(tmp_path / "p", address) as proxy:
        answer = await proxy.broker("liar").send("T")
        assert answer.header.code == ResponseCode.SERVICE_NOT_AVAILABLE
        await proxy.broker("liar").send_oneway(310, send_ext("T"), b"one way, without an answer")


async def test_a_name_server_may_not_name_the_proxy_as_its_broker(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    reply = [(0, brokers("127.0.0.1:1"))]
    async with name_server(lambda _: reply[0]) as address, proxying(tmp_path / "p", address) as proxy:
        own = proxy.address("liar")
        reply[0] = (0, brokers(str(own)))
        await proxy.names().request(RequestCode.GET_BROKER_CLUSTER_INFO)
        answer = await proxy.broker("liar").send("T")
        assert answer.header.code == ResponseCode.SERVICE_NOT_AVAILABLE
        assert f"{own} is the proxy itself" in (answer.header.remark or "")
        assert [each.message for each in caplog.records if each.levelno == logging.ERROR] == [
            f"{own} is this proxy itself: it cannot be behind it"
        ]


async def test_a_silent_name_server_is_skipped(tmp_path: Path) -> None:
    async with name_server(lambda _: None) as silent, serving(tmp_path / "store") as server:
        await server.broker().create_topic("T")
        async with trio.open_nursery() as nursery:

            async def advance_time() -> None:
                while True:
                    await server.pass_time(0.5, step=0.5)

            nursery.start_soon(advance_time)
            async with proxying(tmp_path / "p", silent, server.name_server_address) as proxy:
                assert list(proxy.standing.brokers)
                answer = await proxy.names().request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
                assert decode_body(TopicRouteData, answer.body).broker_datas[0].broker_addrs == {
                    0: str(proxy.address())
                }
            nursery.cancel_scope.cancel()


async def test_a_connection_without_answers_is_replaced(tmp_path: Path) -> None:
    """As after a restart of the name server's machine, which knows nothing of the connection."""
    deaf: set[int] = set()
    async with name_server(lambda _: (0, b"{}"), deaf=deaf) as address, proxying(tmp_path / "p", address) as proxy:
        names = proxy.names()
        assert (await names.request(RequestCode.GET_KV_CONFIG)).header.code == 0
        deaf.add(0)
        await names.write(names.frame(RequestCode.GET_KV_CONFIG))
        await settle()
        mock_clock().jump(4)
        assert (await names.receive()).header.code == ResponseCode.SYSTEM_ERROR
        assert (await names.request(RequestCode.GET_KV_CONFIG)).header.code == 0


async def test_a_broker_that_does_not_read_blocks_its_client_only(tmp_path: Path) -> None:
    async with serving(tmp_path / "store") as server:
        await server.broker().create_topic("T")
        with trio.socket.socket() as deaf:
            await deaf.bind(("127.0.0.1", 0))
            deaf.listen()
            reply = (0, brokers(f"127.0.0.1:{deaf.getsockname()[1]}"))
            # Python relays, which counts waiting bytes: because of the quota it sees each frame.
            keys: dict[str, Any] = {"topic_quotas": "T=100000/-", "max_in_flight_bytes_per_connection": 64 << 20}
            async with name_server(lambda _: reply) as address, proxying(tmp_path / "p", address, **keys) as proxy:
                client = proxy.broker("liar")
                written = 0
                frame = client.frame(310, send_ext("T"), bytes(256 << 10))
                with trio.CancelScope() as scope:
                    async with trio.open_nursery() as nursery:

                        async def watch() -> None:
                            await settle()
                            scope.cancel()

                        nursery.start_soon(watch)
                        while written < 256 << 20:
                            await client.write(frame)
                            written += len(frame)
                assert 1 << 20 < written < 64 << 20
                other = proxy.names()
                assert (await other.request(RequestCode.GET_BROKER_CLUSTER_INFO)).header.code == 0
