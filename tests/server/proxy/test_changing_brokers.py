"""Brokers that come and go behind a proxy: their ports, and the wait of others when there are thousands."""

from __future__ import annotations

import errno
import json
import logging
import socket
import time
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from rocketwire.server.proxy.name_server import with_addresses
from rocketwire.server.proxy.ports import UNLISTED_SECONDS
from rocketwire.server.upstream.cluster import MOST_BROKERS
from rocketwire.wire.addresses import Address
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.route import TopicRouteData
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from tests.server.harness import free_port, mock_clock, settle
from tests.server.proxy.proxied import Proxy, descriptors, proxying
from tests.server.proxy.test_bad_servers import name_server

PERIOD = 2.5


def address_of(name: str) -> str:
    """An address without a listener."""
    return f"127.0.0.2:{1 + zlib.crc32(name.encode()) % 60000}"


class Names:
    """A name server's answers: brokers by name, which are all in the route of each topic."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = list(names)

    def brokers(self) -> dict[str, object]:
        return {
            name: {"brokerAddrs": {"0": address_of(name)}, "brokerName": name, "cluster": "C"} for name in self.names
        }

    def __call__(self, code: int) -> tuple[int, bytes]:
        found = self.brokers()
        if code == RequestCode.GET_BROKER_CLUSTER_INFO:
            return 0, json.dumps({"brokerAddrTable": found, "clusterAddrTable": {"C": self.names}}).encode()
        return 0, json.dumps({"brokerDatas": list(found.values()), "queueDatas": []}).encode()


async def pass_time(seconds: float) -> None:
    await settle()
    mock_clock().jump(seconds)
    await settle()


async def ports_of_routes(proxy: Proxy) -> dict[str, int]:
    """The ports in the route of a topic, by broker."""
    answer = await proxy.names().request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
    assert answer.header.code == 0
    found = decode_body(TopicRouteData, answer.body).broker_datas
    return {each.broker_name: int(each.broker_addrs[0].rpartition(":")[2]) for each in found}


async def test_a_broker_that_comes_later_has_a_port_before_a_client_gets_its_route(tmp_path: Path) -> None:
    names = Names(["a"])
    first = free_port()
    async with name_server(names) as address, proxying(tmp_path, address, first_port=first) as proxy:
        names.names.append("b")
        await pass_time(PERIOD)
        before = descriptors()
        ports = await ports_of_routes(proxy)
        assert ports["a"] == proxy.address("a").port
        # Two ports, the tasks that wait for their connections, and both ends of the client's connection.
        assert 2 < descriptors() - before <= 6
        answer = await proxy.to(Address(host="127.0.0.1", port=ports["b"])).send("T")
        assert answer.header.code == ResponseCode.SERVICE_NOT_AVAILABLE
        assert (await ports_of_routes(proxy)) == ports


async def test_the_port_of_a_removed_broker_is_closed_and_reused(tmp_path: Path) -> None:
    names = Names(["a", "b"])
    first = free_port()
    async with name_server(names) as address, proxying(tmp_path, address, first_port=first) as proxy:
        port = proxy.address("b")
        names.names.remove("b")
        await pass_time(PERIOD)
        await pass_time(UNLISTED_SECONDS - 20)
        client = proxy.to(port)
        assert (await client.send("T")).header.code == ResponseCode.SERVICE_NOT_AVAILABLE
        client.close()
        for _ in range(3):
            await pass_time(11)
        with socket.socket() as late:
            assert late.connect_ex((port.host, port.port)) == errno.ECONNREFUSED
        names.names.append("c")
        await pass_time(PERIOD)
        assert (await ports_of_routes(proxy))["c"] == port.port


async def test_a_broker_that_returns_keeps_its_port(tmp_path: Path) -> None:
    names = Names(["a", "b"])
    async with name_server(names) as address, proxying(tmp_path, address) as proxy:
        names.names.remove("b")
        await pass_time(PERIOD)
        await pass_time(UNLISTED_SECONDS / 2)
        names.names.append("b")
        await pass_time(PERIOD)
        await pass_time(UNLISTED_SECONDS)
        assert (await ports_of_routes(proxy))["b"] == proxy.address("b").port


async def test_brokers_beyond_the_limit_have_no_port_and_known_ones_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("rocketwire.server.proxying.MOST_BROKERS", 3)
    names = Names(["x", "y"])
    async with name_server(names) as address, proxying(tmp_path, address) as proxy:
        known = {name: proxy.address(name).port for name in ("x", "y")}
        names.names[:] = ["a", "b", "c", "x", "y"]
        await pass_time(PERIOD)
        ports = await ports_of_routes(proxy)
        assert {name: ports[name] for name in known} == known
        assert address_of("b").endswith(f":{ports['b']}")  # its own: it has none here
        assert sum("limit upstreamBrokers" in each.getMessage() for each in caplog.records) == 1
        names.names[:] = ["d"]
        await pass_time(PERIOD)
        assert address_of("d").endswith(f":{(await ports_of_routes(proxy))['d']}")
        await pass_time(11)  # an unused port of a broker that was removed some seconds ago is reused
        names.names.append("e")
        await pass_time(PERIOD)
        assert not address_of("d").endswith(f":{(await ports_of_routes(proxy))['d']}")


def longest_step(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def test_nested_addresses_are_read_in_a_short_time() -> None:
    body = b'"brokerAddrs":{' * 200_000
    assert longest_step(lambda: with_addresses(body, {})) < 1


async def test_names_may_change_while_ports_are_opened(tmp_path: Path) -> None:
    names = Names(f"a{number}" for number in range(40))

    def answer_of(code: int) -> tuple[int, bytes]:
        answer = names(code)
        if code == RequestCode.GET_BROKER_CLUSTER_INFO:
            names.names[:] = [f"{each[0]}{int(each[1:]) + 40}" for each in names.names]
        return answer

    async with name_server(answer_of) as address, proxying(tmp_path, address) as proxy:
        for _ in range(3):
            await pass_time(PERIOD)
            assert await ports_of_routes(proxy)


@pytest.mark.slow
async def test_thousands_of_changing_names_block_no_client_and_leave_nothing_behind(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    names = Names(["own"])
    async with name_server(names) as address, proxying(tmp_path, address) as proxy:
        client = proxy.names()
        own = proxy.address("own")
        before = descriptors()
        for turn in range(3):
            names.names[:] = ["own", *(f"{turn}-{number}" for number in range(6000))]
            await pass_time(PERIOD)
            ports = await ports_of_routes(proxy)
            assert ports["own"] == own.port
            assert descriptors() - before <= 4 * MOST_BROKERS + 10
            assert (await client.request(RequestCode.GET_KV_CONFIG)).header.code == 0
        names.names[:] = ["own"]
        await pass_time(PERIOD)
        await pass_time(UNLISTED_SECONDS)
        await pass_time(11)
        assert descriptors() - before <= 10
        assert (await ports_of_routes(proxy)) == {"own": own.port}
