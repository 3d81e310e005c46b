"""Proxies behind each other: in a row they relay requests, in a loop they refuse them, with few descriptors."""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trio

from rocketwire.server.upstream.proxy_loops import CODE, MOST_PROXIES
from rocketwire.wire.addresses import Address
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from tests.server.harness import free_port, mock_clock, serving, settle
from tests.server.proxy.proxied import Proxy, descriptors, proxying
from tests.server.proxy.test_bad_servers import brokers, name_server

WITH_PYTHON: dict[str, Any] = {"topic_quotas": "T=100000/-"}
"""Because of the quota Python relays frames, not the kernel."""
UNREACHABLE = "127.0.0.1:1"


@contextlib.asynccontextmanager
async def ring(folder: Path, count: int, **keys: Any) -> AsyncIterator[list[Proxy]]:
    """Proxies, each of which has the next one's port as its broker."""
    replies = [(0, brokers(UNREACHABLE)) for _ in range(count)]
    async with contextlib.AsyncExitStack() as stack:
        proxies = []
        for number in range(count):

            def answers(_code: int, number: int = number) -> tuple[int, bytes]:
                return replies[number]

            address = await stack.enter_async_context(name_server(answers))
            proxies.append(await stack.enter_async_context(proxying(folder / str(number), address, **keys)))
        for number in range(count):
            replies[number] = (0, brokers(str(proxies[(number + 1) % count].address("liar"))))
        await settle()
        mock_clock().jump(3)
        await settle()
        yield proxies


@pytest.mark.parametrize("keys", [{}, WITH_PYTHON], ids=["kernel", "python"])
@pytest.mark.parametrize("count", [1, 2, 3])
async def test_a_loop_is_refused(tmp_path: Path, count: int, keys: dict[str, Any]) -> None:
    async with ring(tmp_path, count, **keys) as proxies:
        before = descriptors()
        for _ in range(3):
            for proxy in proxies:
                answer = await proxy.broker("liar").send("T")
                assert answer.header.code == ResponseCode.SERVICE_NOT_AVAILABLE
                assert "this proxy" in (answer.header.remark or "") or "is the proxy itself" in (
                    answer.header.remark or ""
                )
        assert descriptors() - before < 60


async def test_a_former_loop_is_connected_again(tmp_path: Path) -> None:
    async with serving(tmp_path / "store") as server:
        await server.broker().create_topic("T")
        replies = [(0, brokers(UNREACHABLE)), (0, brokers(UNREACHABLE))]
        async with (
            name_server(lambda _: replies[0]) as first,
            name_server(lambda _: replies[1]) as second,
            proxying(tmp_path / "1", first) as one,
            proxying(tmp_path / "2", second) as two,
        ):
            replies[:] = [(0, brokers(str(two.address("liar")))), (0, brokers(str(one.address("liar"))))]
            await server.pass_time(3)
            assert (await one.broker("liar").send("T")).header.code == ResponseCode.SERVICE_NOT_AVAILABLE
            replies[1] = (0, brokers(str(server.broker_address)))
            await server.pass_time(6)
            assert (await one.broker("liar").send("T")).header.code == 0


@pytest.mark.parametrize("keys", [{}, WITH_PYTHON], ids=["kernel", "python"])
async def test_a_row_of_proxies_relays_requests(tmp_path: Path, keys: dict[str, Any]) -> None:
    async with serving(tmp_path / "store") as server, contextlib.AsyncExitStack() as stack:
        await server.broker().create_topic("T")
        names = server.name_server_address
        for number in range(3):
            proxy = await stack.enter_async_context(proxying(tmp_path / str(number), names, **keys))
            names = proxy.standing.listened
        assert (await proxy.names().request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})).header.code == 0
        assert (await proxy.broker(next(iter(proxy.standing.brokers)).name).send("T")).header.code == 0


async def test_a_row_that_is_too_long_counts_as_a_loop(tmp_path: Path) -> None:
    async with serving(tmp_path / "store") as server, contextlib.AsyncExitStack() as stack:
        names = server.name_server_address
        for number in range(MOST_PROXIES + 1):
            proxy = await stack.enter_async_context(proxying(tmp_path / str(number), names))
            names = proxy.standing.listened
        assert not proxy.standing.brokers


async def test_name_servers_in_a_loop_are_refused(tmp_path: Path) -> None:
    """Each proxy has the other one as its name server: a request would circulate until its time is over."""

    async def advance_time() -> None:
        while True:
            await settle()
            mock_clock().jump(0.1)

    port = free_port()
    async with proxying(tmp_path / "1", Address(host="127.0.0.1", port=port)) as one, trio.open_nursery() as nursery:
        nursery.start_soon(advance_time)  # the second one gets a request before it is ready
        async with proxying(tmp_path / "2", one.standing.listened, port=port) as two:
            for proxy in (one, two):
                answer = await proxy.names().request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
                # Refused, or timed out: a proxy serves the requests of a connection one after the other.
                assert answer.header.code == ResponseCode.SYSTEM_ERROR
                assert re.search(r"this proxy|does not answer", answer.header.remark or "")
        nursery.cancel_scope.cancel()


async def test_loop_probes_of_others_are_answered(tmp_path: Path) -> None:
    replies = (0, brokers(UNREACHABLE))
    async with name_server(lambda _: replies) as address, proxying(tmp_path / "p", address) as proxy:
        client = proxy.broker("liar")
        for ids in ("", "x", "a" * 1000, ",,,", "0,1", "\x00"):
            answer = await client.request(CODE, {"proxies": ids})
            assert answer.header.code == 0
            assert "ring" not in (answer.header.ext or {})
        answer = await client.request(CODE, {"proxies": ",".join("0" * MOST_PROXIES)})
        assert (answer.header.ext or {})["ring"] == "true"
