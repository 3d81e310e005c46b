"""What a proxy tells over HTTP, and faults that come while connections are relayed."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import trio

from rocketwire.wire.addresses import Address
from rocketwire.wire.codes import RequestCode
from tests.server.harness import Server, send_ext, serving, settle
from tests.server.operations.monitoring.test_health import HTTP
from tests.server.proxy.proxied import Proxy, proxying


async def http(proxy: Proxy, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
    """The status and the body of an answer."""
    where = proxy.standing.http
    assert where is not None
    async with await trio.open_tcp_stream(where.host, where.port) as stream:
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
        await stream.send_all(head.encode() + body)
        data = b"".join([part async for part in stream])
    answer, _, found = data.partition(b"\r\n\r\n")
    return int(answer.split()[1]), found


async def taken_over(server: Server, proxy: Proxy) -> None:
    """Wait until the kernel, which has a thread of its own, relays no more than a connection within a frame."""
    for _ in range(1000):
        await server.pass_time(0.2)
        body = (await http(proxy, "GET", "/metrics"))[1].decode()
        found = [line.split()[1] for line in body.splitlines() if line.startswith("rocketwire_relayed_connections ")]
        if not found or float(found[0]) <= 1:
            return
        time.sleep(0.005)  # noqa: ASYNC251 - the thread needs real time
    raise AssertionError


async def test_metrics_and_health(tmp_path: Path) -> None:
    async with serving(tmp_path / "store") as server:
        await server.broker().create_topic("T")
        async with proxying(tmp_path / "p", server.name_server_address, http=HTTP) as proxy:
            assert (await proxy.broker().send("T")).header.code == 0
            await proxy.names().ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
            status, body = await http(proxy, "GET", "/metrics")
            assert status == 200
            lines = body.decode().splitlines()
            assert 'rocketwire_requests_total{code="GET_ROUTEINFO_BY_TOPIC"} 1.0' in lines
            assert "rocketwire_proxied_brokers 1.0" in lines
            assert "rocketwire_name_servers_answer 1.0" in lines
            assert 'rocketwire_connections{listener="broker"} 1.0' in lines
            assert await http(proxy, "GET", "/healthz") == (200, b"ok\n")
            status, body = await http(proxy, "GET", "/readyz")
            assert (status, json.loads(body)["ready"]) == (200, True)


async def test_a_proxy_that_knows_no_broker_is_not_ready(tmp_path: Path) -> None:
    nobody = Address(host="127.0.0.1", port=1)
    async with proxying(tmp_path / "p", nobody, http=HTTP) as proxy:
        status, body = await http(proxy, "GET", "/readyz")
        assert status == 503
        assert "no broker is known" in json.loads(body)["checks"]["name servers"]
        assert "rocketwire_name_servers_answer 0.0" in (await http(proxy, "GET", "/metrics"))[1].decode()


async def test_faults_apply_to_connections_that_there_are(tmp_path: Path) -> None:
    """They go over from the kernel to sessions, and nothing is lost or doubled on the way."""
    async with serving(tmp_path / "store") as server:
        await server.broker().create_topic("T")
        keys: dict[str, Any] = {"http": HTTP, "fault_injection_enable": True}
        async with proxying(tmp_path / "p", server.name_server_address, **keys) as proxy:
            clients = [proxy.broker() for _ in range(3)]
            for each in clients:
                assert (await each.send("T")).header.code == 0
            waiting = proxy.broker()
            await waiting.hold("T", 3)
            half = clients[2].frame(310, send_ext("T"), b"in two parts")
            await clients[2].write(half[:50])
            assert (await http(proxy, "POST", "/faults", b"answer:215,code=310,topic=T"))[0] < 300
            await taken_over(server, proxy)
            assert [(await each.send("T")).header.code for each in clients[:2]] == [215, 215]
            await clients[2].write(half[50:])
            assert (await clients[2].receive()).header.code in {0, 215}  # its first part may have gone through before
            assert (await http(proxy, "DELETE", "/faults"))[0] < 300
            await settle()
            assert [(await each.send("T")).header.code for each in clients] == [0, 0, 0]
            assert (await waiting.receive()).header.code == 0
            stored = await server.broker().ask(30, {"topic": "T", "queueId": "0"})
            assert stored.header.ext is not None
            assert int(stored.header.ext["offset"]) in {6, 7}
