"""Requests and answers between clients and brokers through a proxy."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rocketwire.server.proxy.settings import PORT_STEP
from rocketwire.wire.addresses import Address
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.route import ClusterInfo, TopicRouteData
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.hosts import decode_host
from rocketwire.wire.message_id import parse_offset_message_id
from tests.server.harness import (
    BINARY,
    JSON,
    Server,
    consumer,
    free_port,
    offsets_of,
    pull_ext,
    records,
    send_ext,
    serving,
    settle,
    subscription,
)
from tests.server.proxy.proxied import pair, proxying


@contextlib.asynccontextmanager
async def names_apart(tmp_path: Path) -> AsyncIterator[tuple[Server, dict[str, Any]]]:
    """A name server in a separate server, and the settings of a broker that registers there."""
    async with serving(tmp_path / "names", broker_name="other") as names:
        yield names, {"name_server": None, "name_servers": (names.name_server_address,), "broker_name": "broker-a"}


@pytest.mark.parametrize("serialize_type", [JSON, BINARY])
async def test_a_message_is_relayed_and_its_id_names_the_proxy(tmp_path: Path, serialize_type: int) -> None:
    async with pair(tmp_path) as (server, proxy):
        client = proxy.broker()
        sent = await client.request(310, send_ext("T", queue_id=1), b"hello", serialize_type=serialize_type)
        assert sent.header.code == ResponseCode.SUCCESS
        assert sent.header.ext is not None
        stored_at, _ = parse_offset_message_id(sent.header.ext["msgId"])
        assert decode_host(stored_at) == ("127.0.0.1", proxy.address().port)
        (direct,) = records((await server.broker().pull("T", queue_id=1)).body)
        (through,) = records((await proxy.broker().pull("T", queue_id=1)).body)
        assert direct == through
        assert through.body == b"hello"


async def test_routes_and_brokers_have_addresses_of_the_proxy(tmp_path: Path) -> None:
    async with pair(tmp_path) as (server, proxy):
        names = proxy.names()
        wanted = {0: str(proxy.address())}
        for ext in ({}, {"acceptStandardJsonOnly": "true"}):
            response = await names.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T", **ext})
            route = decode_body(TopicRouteData, response.body)
            assert [each.broker_addrs for each in route.broker_datas] == [wanted]
            assert [each.write_queue_nums for each in route.queue_datas] == [2]
        info = decode_body(ClusterInfo, (await names.request(RequestCode.GET_BROKER_CLUSTER_INFO)).body)
        assert info.broker_addr_table["broker-a"].broker_addrs == wanted
        missing = await names.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "Nowhere"})
        direct = await server.name_server().request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "Nowhere"})
        assert (missing.header.code, missing.header.remark) == (direct.header.code, direct.header.remark)


async def test_values_of_a_name_server_are_relayed_and_registrations_are_not(tmp_path: Path) -> None:
    async with pair(tmp_path) as (server, proxy):
        names = proxy.names()
        value = {"namespace": "N", "key": "k", "value": "v"}
        assert (await names.request(RequestCode.PUT_KV_CONFIG, value)).header.code == 0
        response = await server.name_server().request(RequestCode.GET_KV_CONFIG, value)
        assert response.header.ext is not None
        assert response.header.ext["value"] == "v"
        refused = await names.request(RequestCode.REGISTER_BROKER, {"brokerName": "x"})
        assert refused.header.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED


async def test_requests_of_the_broker_to_its_clients_are_relayed(tmp_path: Path) -> None:
    """Both members of a group learn of each other by the broker's requests."""
    async with pair(tmp_path) as (server, proxy):
        one, two = proxy.broker(), proxy.broker()
        await one.heartbeat("one", consumer("G", subscription("T")))
        await two.heartbeat("two", consumer("G", subscription("T")))
        await settle()
        assert await members(server, 2) == ["one", "two"]
        await one.arrived()
        assert {each.header.code for each in one.pushes} == {RequestCode.NOTIFY_CONSUMER_IDS_CHANGED}
        two.close()
        assert await members(server, 1) == ["one"]


async def members(server: Server, count: int) -> list[str]:
    """The members of the group, once there are so many: the kernel's thread needs some time to relay."""
    found: list[str] = []
    for _ in range(1000):
        await settle()
        answer = await server.broker().request(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "G"})
        found = sorted(json.loads(bytes(answer.body))["consumerIdList"])
        if len(found) == count:
            break
        time.sleep(0.005)  # noqa: ASYNC251 - see above
    return found


async def test_a_held_pull_is_woken_and_ends_with_its_client(tmp_path: Path) -> None:
    async with pair(tmp_path) as (_, proxy):
        waiting, leaving = proxy.broker(), proxy.broker()
        await waiting.hold("T", queue_id=0)
        await leaving.hold("T", queue_id=0)
        await settle()
        leaving.close()
        await settle()
        await proxy.broker().send("T", queue_id=0)
        woken = await waiting.receive()
        assert offsets_of(woken)[0] == 1
        assert len(records(woken.body)) == 1


async def test_requests_to_a_stopped_broker_are_answered_until_it_is_back(tmp_path: Path) -> None:
    async with names_apart(tmp_path) as (names, where):
        port = free_port()
        async with serving(tmp_path / "a", listen_port=port, **where) as server:
            await server.broker().create_topic("T")
            await settle()
            async with proxying(tmp_path / "proxy", names.name_server_address) as proxy:
                client = proxy.broker()
                assert (await client.send("T")).header.code == 0
                server._scope.cancel()
                await settle()
                assert await client.ended()
                refused = await proxy.broker().send("T")
                assert refused.header.code == ResponseCode.SERVICE_NOT_AVAILABLE
                assert "cannot be reached" in (refused.header.remark or "")
                again = proxy.broker()
                async with serving(tmp_path / "a", listen_port=port, **where):
                    await settle()
                    assert (await again.send("T")).header.code == 0


async def test_a_broker_that_moves_is_followed_and_later_ones_are_offered(tmp_path: Path) -> None:
    async with (
        names_apart(tmp_path) as (names, where),
        proxying(tmp_path / "proxy", names.name_server_address) as proxy,
    ):
        for _ in range(2):
            async with serving(tmp_path / "a", **where) as server:
                await server.broker().create_topic("T")
                await settle()
                await names.pass_time(3, step=1)
                response = await proxy.names().request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
                (broker,) = decode_body(TopicRouteData, response.body).broker_datas
                host, _, number = broker.broker_addrs[0].rpartition(":")
                address = Address(host=host, port=int(number))
                assert address != server.broker_address
                sent = await proxy.to(address).send("T")
                assert sent.header.code == 0
            await settle()


async def test_the_last_routes_serve_while_no_name_server_answers(tmp_path: Path) -> None:
    async with names_apart(tmp_path) as (names, where), serving(tmp_path / "a", **where) as server:
        await server.broker().create_topic("T", 3)
        await settle()
        async with proxying(tmp_path / "proxy", names.name_server_address) as proxy:
            client = proxy.names()
            query = {"topic": "T"}
            before = await client.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, query)
            names._scope.cancel()
            await settle()
            after = await client.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, query)
            assert bytes(after.body) == bytes(before.body)
            assert str(proxy.address()).encode() in bytes(after.body)
            unknown = await client.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "Other"})
            assert unknown.header.code == ResponseCode.SYSTEM_ERROR
            assert (await proxy.broker().send("T")).header.code == 0


async def test_large_answers_wait_for_a_client_that_reads_slowly(tmp_path: Path) -> None:
    async with pair(tmp_path, max_in_flight_bytes_per_connection=64 << 20) as (_, proxy):
        sender = proxy.broker()
        body = bytes(range(256)) * 1024
        for _ in range(24):
            assert (await sender.send("T", body, queue_id=0)).header.code == 0
        slow = proxy.broker(receive_buffer=4096)
        for offset in range(24):
            await slow.write(slow.frame(11, pull_ext("T", offset, queue_id=0, max_msg_nums=1)))
        for offset in range(24):
            found = await slow.receive()
            assert records(found.body)[0].body == body
            assert records(found.body)[0].queue_offset == offset


async def test_requests_behind_a_long_one_keep_their_order(tmp_path: Path) -> None:
    async with pair(tmp_path) as (_, proxy):
        client = proxy.broker()
        frames = [client.frame(310, send_ext("T", queue_id=0), b"%d" % number * 50_000) for number in range(40)]
        await client.write(b"".join(frames))
        for number in range(40):
            answer = await client.receive()
            assert answer.header.ext is not None
            assert answer.header.ext["queueOffset"] == str(number)


async def test_an_unreadable_frame_ends_the_connection(tmp_path: Path) -> None:
    async with pair(tmp_path) as (_, proxy):
        client = proxy.broker()
        await client.write(b"\x00\x00\x00\x08\x00\x00\x00\x04junk")
        assert await client.ended()
        assert (await proxy.broker().send("T")).header.code == 0


async def test_the_ports_of_a_restarted_proxy_are_the_same(tmp_path: Path) -> None:
    async with serving(tmp_path / "store", broker_name="broker-a") as server:
        first = free_port()
        found = []
        for _ in range(2):
            async with proxying(tmp_path / "proxy", server.name_server_address, first_port=first) as proxy:
                found.append(proxy.address().port)
            await settle()
        assert found == [first, first]


async def test_a_port_in_use_is_skipped(tmp_path: Path) -> None:
    async with serving(tmp_path / "store", broker_name="broker-a") as server:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            first = taken.getsockname()[1]
            async with proxying(tmp_path / "proxy", server.name_server_address, first_port=first) as proxy:
                passed_over = proxy.address().port - first
                assert passed_over > 0
                assert passed_over % PORT_STEP == 0


async def test_clients_of_the_vip_channel_find_the_broker_two_ports_below(tmp_path: Path) -> None:
    async with pair(tmp_path) as (_, proxy):
        own = proxy.address()
        vip = proxy.to(Address(host=own.host, port=own.port - 2))
        assert (await vip.send("T")).header.code == 0
