"""A proxy's metrics and health over HTTP, and faults that begin while connections are relayed."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any, cast

import pytest
import trio
from prometheus_client.parser import text_string_to_metric_families

from rocketwire.server.proxy.edge.usage import MOST_PAIRS, UsageMeter
from rocketwire.server.proxy.kernel import relay_kernel
from rocketwire.wire.addresses import Address
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.grpc.codes import Code
from rocketwire.wire.header import Header
from tests.server.grpc.sdk import Sdk, code_of, send_request
from tests.server.grpc.test_access import signed
from tests.server.harness import Server, send_ext, serving, settle
from tests.server.monitoring.test_health import HTTP
from tests.server.proxy.proxied import Proxy, pair, proxying
from tests.server.proxy.test_signing import accounts, sent

DOCS = Path(__file__).parents[3] / "docs" / "monitoring.md"


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
    """Wait until the kernel, in its thread, relays no more than a connection within a frame."""
    for _ in range(1000):
        await server.pass_time(0.2)
        body = (await http(proxy, "GET", "/metrics"))[1].decode()
        found = [line.split()[1] for line in body.splitlines() if line.startswith("rocketwire_relayed_connections ")]
        if not found or float(found[0]) <= 1:
            return
        time.sleep(0.005)  # noqa: ASYNC251 - the thread needs real time
    raise AssertionError


async def test_metrics_and_health_are_answered(tmp_path: Path) -> None:
    async with pair(tmp_path, http=HTTP) as (_, proxy):
        assert (await proxy.broker().send("T")).header.code == 0
        await proxy.names().request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
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


def sample(body: bytes, name: str, /, **labels: str) -> float:
    """One sample of a scrape; `rocketwire_` is added to its name."""
    for family in text_string_to_metric_families(body.decode()):
        for each in family.samples:
            if each.name == f"rocketwire_{name}" and each.labels == labels:
                return each.value
    raise KeyError(name, labels)


@pytest.mark.parametrize("looks_at_frames", [False, True])
async def test_relayed_requests_are_counted_by_broker(tmp_path: Path, looks_at_frames: bool) -> None:
    keys: dict[str, Any] = {"topic_quotas": "T=1000/1000"} if looks_at_frames else {}
    by = "session" if looks_at_frames or relay_kernel() is None else "kernel"
    async with pair(tmp_path, http=HTTP, **keys) as (_, proxy):
        client = proxy.broker()
        for _ in range(3):
            assert (await client.send("T", bytes(1000))).header.code == 0
        await proxy.broker().pull("T", 0)
        _, body = await http(proxy, "GET", "/metrics")
        assert sample(body, "upstream_connections", broker="broker-a", id="0") == 2
        assert sample(body, "shared_connections") == 1  # to the name server
        assert sample(body, "relayed_frames_total", by=by, to="broker") == 4
        assert sample(body, "relayed_frames_total", by=by, to="client") == 4
        assert 6000 > sample(body, "relayed_bytes_total", by=by, to="broker") > 3000
        assert 6000 > sample(body, "relayed_bytes_total", by=by, to="client") > 3000
        if looks_at_frames:
            used = {"account": "", "topic": "T"}
            assert sample(body, "usage_requests_total", **used, kind="send") == 3
            assert sample(body, "usage_bytes_total", **used, kind="send") == 3000
            assert sample(body, "usage_requests_total", **used, kind="pull") == 1
            quota = {"kind": "topic", "name": "T"}
            assert sample(body, "quota_used_messages_total", direction="send", **quota) == 3
        client.close()
        await settle()


@pytest.mark.parametrize("looks_at_frames", [False, True])
async def test_requests_are_timed_until_their_answers(tmp_path: Path, looks_at_frames: bool) -> None:
    keys: dict[str, Any] = {"topic_quotas": "T=1/1000"} if looks_at_frames else {}
    codes = ("SEND_MESSAGE_V2", "PULL_MESSAGE", "GET_ROUTEINFO_BY_TOPIC")
    async with serving(tmp_path / "store") as server:
        for topic in ("T", "Empty"):
            await server.broker().create_topic(topic)
        async with proxying(tmp_path / "p", server.name_server_address, http=HTTP, **keys) as proxy:
            client, waiting = proxy.broker(), proxy.broker()
            for _ in range(3):
                await client.send("T")
            await client.send_oneway(RequestCode.SEND_MESSAGE_V2, send_ext("T"), b"one-way")
            await waiting.hold("Empty", 0)  # it is not answered yet
            await client.pull("T", 0)
            await proxy.names().request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
            with Sdk(proxy.standing.listened) as sdk:
                await sdk.call("SendMessage", send_request())
            await settle()
            _, body = await http(proxy, "GET", "/metrics")
            counts = {code: sample(body, "requests_total", code=code) for code in codes}
            durations = {code: sample(body, "request_duration_seconds_count", code=code) for code in codes}
            upstream = {code: sample(body, "upstream_duration_seconds_count", code=code) for code in codes}
            refused = 2 if looks_at_frames else 0
            assert counts == {"SEND_MESSAGE_V2": 5, "PULL_MESSAGE": 2, "GET_ROUTEINFO_BY_TOPIC": 2}
            assert durations == {"SEND_MESSAGE_V2": 4 + looks_at_frames, "PULL_MESSAGE": 1, "GET_ROUTEINFO_BY_TOPIC": 2}
            assert upstream["SEND_MESSAGE_V2"] == 4 - refused - looks_at_frames
            assert upstream["PULL_MESSAGE"] == 1
            assert upstream["GET_ROUTEINFO_BY_TOPIC"] >= 2


async def test_requests_are_not_timed_unless_configured(tmp_path: Path) -> None:
    async with pair(tmp_path, http=HTTP, request_times=False) as (_, proxy):
        assert (await proxy.broker().send("T")).header.code == 0
        _, body = await http(proxy, "GET", "/metrics")
        assert b"duration_seconds" not in body


async def test_a_time_includes_the_wait_of_a_long_poll(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"topic_quotas": "T=1000/1000"}
    async with pair(tmp_path, http=HTTP, **keys) as (server, proxy):
        waiting = proxy.broker()
        await waiting.hold("T", 0)
        await server.pass_time(2.0)
        assert (await proxy.broker().send("T")).header.code == 0
        assert (await waiting.receive()).header.code == 0
        _, body = await http(proxy, "GET", "/metrics")
        assert 2.5 > sample(body, "request_duration_seconds_sum", code="PULL_MESSAGE") >= 2
        assert 2.5 > sample(body, "upstream_duration_seconds_sum", code="PULL_MESSAGE") >= 2


async def test_uses_are_counted_by_account(tmp_path: Path) -> None:
    keys = accounts(tmp_path, "proxy", "first-account:secret-key:T=PUB", "second-account:secret-key:T=PUB")
    async with pair(tmp_path, http=HTTP, **keys) as (_, proxy):
        for account, times in (("first-account", 2), ("second-account", 1)):
            for _ in range(times):
                assert await sent(proxy.broker(), "T", (account, "secret-key")) == (0, "")
        assert await sent(proxy.broker(), "T", ("second-account", "wrong")) != (0, "")
        _, body = await http(proxy, "GET", "/metrics")
        assert sample(body, "usage_requests_total", account="first-account", topic="T", kind="send") == 2
        assert sample(body, "usage_requests_total", account="second-account", topic="T", kind="send") == 1
        with Sdk(proxy.standing.listened) as sdk:
            assert (
                code_of(await sdk.call("SendMessage", send_request(), signed("first-account", "secret-key"))) is Code.OK
            )
        _, body = await http(proxy, "GET", "/metrics")
        assert sample(body, "usage_requests_total", account="first-account", topic="T", kind="send") == 3


def test_invented_names_share_a_count() -> None:
    usage = UsageMeter(lambda: True, accounts=False)
    for number in range(MOST_PAIRS + 5):
        header = Header(code=RequestCode.SEND_MESSAGE_V2, opaque=1, ext={"b": f"T{number}"})
        usage.admit(cast("Any", None), header, memoryview(b"12"))
    usage.admit(cast("Any", None), Header(code=RequestCode.HEART_BEAT, opaque=1), memoryview(b"12"))
    used = list(usage.used())
    assert len(used) == MOST_PAIRS + 1
    assert used[-1] == ("(others)", "(others)", "send", 5, 10)


async def test_each_metric_is_documented(tmp_path: Path) -> None:
    async with (
        serving(tmp_path / "store") as server,
        proxying(tmp_path / "p", server.name_server_address, http=HTTP, shadow=(server.name_server_address,)) as proxy,
    ):
        _, body = await http(proxy, "GET", "/metrics")
    _, _, own = DOCS.read_text("utf-8").partition("## Of a proxy")
    documented = set(re.findall(r"`(\w+)`", own))
    for family in text_string_to_metric_families(body.decode()):
        name = family.name + ("_total" if family.type == "counter" else "")
        assert name in documented or name.startswith(("process_", "python_")), name


async def test_a_proxy_without_a_broker_is_not_ready(tmp_path: Path) -> None:
    unreachable = Address(host="127.0.0.1", port=1)
    async with proxying(tmp_path / "p", unreachable, http=HTTP) as proxy:
        status, body = await http(proxy, "GET", "/readyz")
        assert status == 503
        assert "no broker is known" in json.loads(body)["checks"]["name servers"]
        assert "rocketwire_name_servers_answer 0.0" in (await http(proxy, "GET", "/metrics"))[1].decode()


async def test_faults_apply_to_existing_connections(tmp_path: Path) -> None:
    """They pass from the kernel to sessions, and nothing is lost or doubled on the way."""
    keys: dict[str, Any] = {"http": HTTP, "fault_injection_enable": True}
    async with pair(tmp_path, **keys) as (server, proxy):
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
        assert (await clients[2].receive()).header.code in {0, 215}  # its first part may have been relayed before
        assert (await http(proxy, "DELETE", "/faults"))[0] < 300
        await settle()
        assert [(await each.send("T")).header.code for each in clients] == [0, 0, 0]
        assert (await waiting.receive()).header.code == 0
        stored = await server.broker().request(30, {"topic": "T", "queueId": "0"})
        assert stored.header.ext is not None
        assert int(stored.header.ext["offset"]) in {6, 7}
