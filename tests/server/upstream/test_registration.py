"""A broker registers at name servers of other processes, and continues when either of them restarts."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import trio

from rocketwire.server.serving import serve_name_server
from rocketwire.wire.addresses import Address
from rocketwire.wire.bodies import decode_body, encode_body
from rocketwire.wire.bodies.route import ClusterInfo, TopicRouteData
from rocketwire.wire.bodies.topic import CreateTopicListRequestBody, TopicConfig
from rocketwire.wire.facts.codes import Permission, RequestCode, ResponseCode
from tests.server.harness import Client, Clock, free_port, run_inline, serving, settle, small_config


async def brokers(client: Client) -> set[str]:
    await settle()
    answer = await client.request(RequestCode.GET_BROKER_CLUSTER_INFO)
    return set(decode_body(ClusterInfo, answer.body).broker_addr_table)


async def route(client: Client, topic: str) -> TopicRouteData | None:
    await settle()  # until brokers have registered their changes
    answer = await client.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic})
    return None if answer.header.code == ResponseCode.TOPIC_NOT_EXIST else decode_body(TopicRouteData, answer.body)


class NameServer:
    """A separate name server, which may be stopped and started again."""

    def __init__(self, folder: Path) -> None:
        self.address = Address(host="127.0.0.1", port=free_port())
        self._config = replace(small_config(folder), name_server=self.address, has_broker=False)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Client]:
        """Run it, with a connection to it."""
        ready = trio.Event()

        async def run() -> None:
            await serve_name_server(self._config, clock=Clock(), run_sync=run_inline, ready=lambda *_: ready.set())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
            await ready.wait()
            client = Client(self.address)
            try:
                yield client
            finally:
                client.close()
                nursery.cancel_scope.cancel()


async def test_a_broker_without_a_name_server_is_in_the_routes_of_others(tmp_path: Path) -> None:
    first, second = (NameServer(tmp_path / name) for name in ("first", "second"))
    async with first.running() as one, second.running() as two:
        both = (first.address, second.address)
        async with serving(tmp_path / "a", name_server=None, name_servers=both, broker_name="a") as server:
            await settle()
            broker = server.broker()
            assert await brokers(one) == await brokers(two) == {"a"}
            await broker.create_topic("T", 3)
            for each in (one, two):
                found = await route(each, "T")
                assert found is not None
                assert found.queue_datas[0].write_queue_nums == 3
                assert found.broker_datas[0].broker_addrs == {0: str(server.broker_address)}
            async with serving(tmp_path / "b", name_server=None, name_servers=both, broker_name="b") as another:
                await another.broker().create_topic("T", 2)
                found = await route(two, "T")
                assert found is not None
                assert {(each.broker_name, each.write_queue_nums) for each in found.queue_datas} == {("a", 3), ("b", 2)}
            assert await brokers(one) == await brokers(two) == {"a"}
            config = await broker.request(RequestCode.GET_BROKER_CONFIG)
            assert f"namesrvAddr={first.address};{second.address}" in bytes(config.body).decode()
        assert await brokers(one) == set()


async def test_a_broker_may_have_its_own_name_server_besides(tmp_path: Path) -> None:
    elsewhere = NameServer(tmp_path / "elsewhere")
    async with (
        elsewhere.running() as other_server,
        serving(tmp_path / "store", name_servers=(elsewhere.address,), broker_name="a") as server,
    ):
        await settle()
        await server.broker().create_topic("T", 1)
        assert await route(other_server, "T") == await route(server.name_server(), "T") is not None


async def test_a_restarted_name_server_knows_the_broker_within_seconds(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    elsewhere = NameServer(tmp_path / "elsewhere")
    async with serving(tmp_path / "store", name_server=None, name_servers=(elsewhere.address,)) as server:
        await server.pass_time(5, step=1)
        for _ in range(2):
            async with elsewhere.running() as client:
                await server.pass_time(2, step=1)
                assert len(await brokers(client)) == 1
            await server.pass_time(5, step=1)
    warnings = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert len(warnings) == 3  # once each time that it is away, not each second


async def test_it_stays_registered(tmp_path: Path) -> None:
    elsewhere = NameServer(tmp_path / "elsewhere")
    async with (
        elsewhere.running(),
        serving(tmp_path / "store", name_server=None, name_servers=(elsewhere.address,)) as server,
    ):
        await server.pass_time(600)
        with contextlib.closing(Client(elsewhere.address)) as client:  # the other one was idle for too long
            assert len(await brokers(client)) == 1


async def test_the_brokers_permission_is_registered(tmp_path: Path) -> None:
    elsewhere = NameServer(tmp_path / "elsewhere")
    async with (
        elsewhere.running() as other_server,
        serving(tmp_path / "store", name_server=None, name_servers=(elsewhere.address,)) as server,
    ):
        broker = server.broker()
        await broker.create_topic("T", 1)
        await broker.request(RequestCode.UPDATE_BROKER_CONFIG, body=b"brokerPermission=4")
        await server.pass_time(31)
        found = await route(other_server, "T")
        assert found is not None
        assert found.queue_datas[0].perm == Permission.READ


async def test_a_name_server_without_a_broker_keeps_values_in_a_folder_that_it_creates(tmp_path: Path) -> None:
    alone = NameServer(tmp_path / "not" / "there")
    value = {"namespace": "N", "key": "k", "value": "v"}
    async with alone.running() as names:
        answer = await names.request(RequestCode.PUT_KV_CONFIG, value)
        assert answer.header.code == ResponseCode.SUCCESS, answer.header.remark
    async with alone.running() as names:
        answer = await names.request(RequestCode.GET_KV_CONFIG, value)
        assert answer.header.ext == {"value": "v"}


async def test_a_topic_is_answered_when_the_name_servers_know_it(tmp_path: Path) -> None:
    first, second, away = (NameServer(tmp_path / name) for name in ("first", "second", "away"))
    async with first.running() as one, second.running() as two:
        all_three = (first.address, second.address, away.address)
        async with serving(tmp_path / "a", name_server=None, name_servers=all_three, broker_name="a") as server:
            await settle()
            broker = server.broker()
            for number in range(5):
                topic = f"T{number}"
                await broker.create_topic(topic, 1)
                for client in (one, two):
                    answer = await client.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic})
                    assert answer.header.code == ResponseCode.SUCCESS
            body = encode_body(CreateTopicListRequestBody(topic_config_list=(TopicConfig(topic_name="L"),)))
            assert (await broker.request(RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, body=body)).header.code == 0
            answer = await two.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "L"})
            assert answer.header.code == ResponseCode.SUCCESS


async def test_a_name_server_that_stops_delays_no_topic(tmp_path: Path) -> None:
    elsewhere = NameServer(tmp_path / "elsewhere")
    async with serving(tmp_path / "a", name_server=None, name_servers=(elsewhere.address,)) as server:
        await server.broker().create_topic("Before", 1)
        async with elsewhere.running():
            await server.pass_time(2, step=1)
            await server.broker().create_topic("While", 1)
        await server.broker().create_topic("After", 1)
