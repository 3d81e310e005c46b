"""What the name servers of a cluster report about it."""

from __future__ import annotations

import socket
from functools import partial
from pathlib import Path

import pytest
import trio

from rocketwire.remoting.core.session import ClientRequest, Response
from rocketwire.server.upstream.cluster import BrokerKey, UpstreamCluster, brokers_in
from rocketwire.server.upstream.connecting import UpstreamConnectionError
from rocketwire.server.upstream.connection_pool import ConnectionPool
from rocketwire.wire.addresses import Address
from rocketwire.wire.bodies.route import BrokerData
from rocketwire.wire.connection import FrameReader
from rocketwire.wire.facts.codes import FLAG_RESPONSE, RequestCode
from rocketwire.wire.frame import encode_frame
from rocketwire.wire.header import Header, decode_header
from tests.server.harness import free_port, mock_clock, serving, settle

QUERIES = [ClientRequest(RequestCode.GET_BROKER_CLUSTER_INFO, {})] * 2


async def test_simultaneous_queries_share_the_answer_of_the_remaining_name_server(tmp_path: Path) -> None:
    unreachable = Address(host="127.0.0.1", port=free_port())
    async with serving(tmp_path / "store") as server, trio.open_nursery() as nursery:
        pool = ConnectionPool()
        nursery.start_soon(pool.run)
        cluster = UpstreamCluster([unreachable, server.name_server_address], pool)
        answers: list[Response | UpstreamConnectionError] = []

        async def query() -> None:
            answers.extend(await cluster.send_requests(QUERIES))

        async with trio.open_nursery() as queries:
            for _ in range(4):
                queries.start_soon(query)
        assert [each.code for each in answers if isinstance(each, Response)] == [0] * 8
        nursery.cancel_scope.cancel()


async def test_without_a_name_server_each_query_has_the_first_reason() -> None:
    first, second = (Address(host="127.0.0.1", port=free_port()) for _ in range(2))
    async with trio.open_nursery() as nursery:
        pool = ConnectionPool()
        nursery.start_soon(pool.run)
        cluster = UpstreamCluster([first, second], pool)
        reasons = await cluster.send_requests([ClientRequest(RequestCode.GET_BROKER_CLUSTER_INFO, {})] * 3)
        assert len(reasons) == 3
        assert all(str(each).startswith(f"{first} cannot be reached") for each in reasons)
        assert not await cluster.refresh()
        nursery.cancel_scope.cancel()


async def test_without_a_task_the_last_name_server_that_answered_is_queried_and_then_another(tmp_path: Path) -> None:
    answers_of_calls: list[list[Response] | None] = []
    with socket.create_server(("127.0.0.1", 0)) as silent:
        first = Address(host="127.0.0.1", port=silent.getsockname()[1])
        async with serving(tmp_path / "store") as server, trio.open_nursery() as nursery:
            pool = ConnectionPool()
            nursery.start_soon(pool.run)
            cluster = UpstreamCluster([first, server.name_server_address], pool)
            assert not cluster.start_requests(QUERIES, answers_of_calls.append)  # there is no connection yet
            connection = await pool.get_connection(first)
            await pool.get_connection(server.name_server_address)
            assert cluster.start_requests(QUERIES, answers_of_calls.append)
            mock_clock().jump(4)
            await settle()
            assert answers_of_calls == [None]
            assert connection.closed.is_set()
            assert cluster.start_requests(QUERIES, answers_of_calls.append)
            await settle()
            assert [each.code for each in answers_of_calls[1] or ()] == [0, 0]
            nursery.cancel_scope.cancel()


def names(*brokers: str) -> list[BrokerData]:
    return [BrokerData(broker_name=each, broker_addrs={0: "127.0.0.1:1"}) for each in brokers]


def test_known_brokers_stay_when_there_are_too_many() -> None:
    cluster = UpstreamCluster([], ConnectionPool(), most=3)
    changes: list[list[str]] = []
    cluster.changed.subscribe(lambda: changes.append(sorted(each.name for each in cluster.brokers)))
    cluster.take_brokers(names("x", "y"))
    cluster.take_brokers(names("a", "b", "c"))
    cluster.take_brokers(names("b", "c", "d"))
    assert changes == [["x", "y"], ["a", "x", "y"]]


async def test_brokers_without_a_usable_address_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    async def name_server(stream: trio.SocketStream) -> None:
        frames = FrameReader()
        async for data in stream:
            for frame in frames.receive(memoryview(data))[0]:
                opaque = decode_header(frame.header, frame.serialize_type).opaque
                body = b'{"brokerAddrTable":{"a":{"brokerName":"a","brokerAddrs":{0:"x:0",1:"\\u0000:1",2:"h:1"}}}}'
                await stream.send_all(encode_frame(Header(code=0, opaque=opaque, flag=FLAG_RESPONSE), body))

    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(partial(trio.serve_tcp, name_server, 0, host="127.0.0.1"))
        pool = ConnectionPool()
        nursery.start_soon(pool.run)
        cluster = UpstreamCluster([Address(host="127.0.0.1", port=listener.socket.getsockname()[1])], pool)
        for _ in range(3):
            assert await cluster.refresh()
            mock_clock().jump(100)
        assert cluster.brokers == {BrokerKey("a", 2): Address(host="h", port=1)}
        nursery.cancel_scope.cancel()
    (line,) = [each.getMessage() for each in caplog.records]
    assert line == "2 brokers have no usable address; broker a: \x00:1"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"brokerAddrTable":{"a":{"brokerAddrs":{0:"h:1"},"brokerName":"a","cluster":"C"}}}', {("a", 0)}),
        (
            '{"brokerDatas":[{"brokerAddrs":{"0":"h:1","5":"h:2"},"brokerName":"a"}],"queueDatas":[]}',
            {("a", 0), ("a", 5)},
        ),
        ('{"brokerDatas":[{"brokerAddrs":{-1:"h:1"},"brokerName":"x,5:y"}]}', None),
        ("{}", set()),
        ("[]", None),
        ("", None),
    ],
)
def test_brokers_are_parsed(text: str, found: set[tuple[str, int]] | None) -> None:
    answers_of_calls = brokers_in(text.encode())
    assert (None if answers_of_calls is None else answers_of_calls.addresses.keys()) == found
