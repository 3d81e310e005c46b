"""Copies of sends to a second cluster: which sends, how answers are compared, and that clients of the first do not
notice."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from rocketwire.server.faults.grammar import parse_rule
from rocketwire.server.faults.keys import FaultKeys
from rocketwire.server.proxy import shadow as module
from rocketwire.server.proxy.kernel import relay_kernel
from rocketwire.wire.addresses import Address
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.grpc.codes import Code
from tests.server.grpc.sdk import Sdk, code_of, message, send_request
from tests.server.harness import Server, batch_body, free_port, mock_clock, records, send_ext, serving, settle
from tests.server.monitoring.test_health import HTTP
from tests.server.proxy.proxied import Proxy, pair, proxying
from tests.server.proxy.test_monitoring import http, sample

NOTHING = {"same": 0, "different": 0, "not_compared": 0, "dropped": 0}


class Both(NamedTuple):
    """Two clusters, and a proxy before the first that copies all sends to the second."""

    first: Server
    second: Server
    proxy: Proxy

    async def outcomes(self) -> dict[str, float]:
        """The counted outcomes of the copies so far."""
        await settle()
        return await outcomes(self.proxy)

    async def wait_for_counts(self, expected: Mapping[str, float]) -> None:
        """Wait, in real time, until the kernel's thread has counted these outcomes."""
        until = time.monotonic() + 30
        while (found := await self.outcomes()) != expected:
            assert time.monotonic() < until, found
            time.sleep(0.005)  # noqa: ASYNC251 - the clock of trio is not the thread's


async def outcomes(proxy: Proxy) -> dict[str, float]:
    """The outcomes of the copies that are not 0."""
    _, body = await http(proxy, "GET", "/metrics")
    found = {name: sample(body, "shadow_sends_total", outcome=name) for name in NOTHING}
    return {name: count for name, count in found.items() if count}


@contextlib.asynccontextmanager
async def two_clusters(
    folder: Path,
    of_second: Mapping[str, Any] = MappingProxyType({}),
    of_first: Mapping[str, Any] = MappingProxyType({}),
    **keys: Any,
) -> AsyncIterator[Both]:
    """Two clusters that have the topic T with two queues; no other topic is created."""
    async with (
        serving(folder / "first", auto_create_topic_enable=False, **of_first) as first,
        serving(folder / "second", auto_create_topic_enable=False, **of_second) as second,
    ):
        for each in (first, second):
            await each.broker().create_topic("T", 2)
        shadow = (second.name_server_address,)
        async with proxying(folder / "p", first.name_server_address, shadow=shadow, http=HTTP, **keys) as proxy:
            await settle()
            yield Both(first, second, proxy)


async def bodies(server: Server, topic: str = "T") -> list[bytes]:
    """The bodies of the messages of both queues."""
    found = []
    for queue in (0, 1):
        found += records((await server.broker().pull(topic, queue_id=queue)).body)
    return [bytes(each.body) for each in found]


async def test_all_kinds_of_sends_are_copied(tmp_path: Path) -> None:
    async with two_clusters(tmp_path) as of:
        client = of.proxy.broker()
        assert (await client.send("T", b"V2", queue_id=1)).header.code == 0
        long = {"producerGroup": "P", "topic": "T", "defaultTopic": "TBW102", "defaultTopicQueueNums": "4"}
        long |= {"queueId": "0", "sysFlag": "0", "bornTimestamp": "1", "flag": "0", "properties": ""}
        assert (await client.request(RequestCode.SEND_MESSAGE, long, b"long")).header.code == 0
        batch = batch_body((b"one", b"two"))
        assert (await client.request(RequestCode.SEND_BATCH_MESSAGE, send_ext("T", batch=True), batch)).header.code == 0
        await of.wait_for_counts({"same": 3})
        await client.send_oneway(RequestCode.SEND_MESSAGE_V2, send_ext("T"), b"one-way")
        await of.wait_for_counts({"same": 3, "not_compared": 1})
        with Sdk(of.proxy.standing.listened) as sdk:
            assert code_of(await sdk.call("SendMessage", send_request(message(b"of 5.x")))) is Code.OK
        await of.wait_for_counts({"same": 4, "not_compared": 1})
        assert sorted(await bodies(of.second)) == sorted(await bodies(of.first))
        assert len(await bodies(of.second)) == 6


async def test_other_answers_are_counted_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with two_clusters(tmp_path) as of:
        client = of.proxy.broker()
        await of.first.broker().create_topic("OnlyFirst", 2)
        assert (await client.send("OnlyFirst")).header.code == 0
        await of.wait_for_counts({"different": 1})
        assert (await client.send("Nowhere")).header.code == ResponseCode.TOPIC_NOT_EXIST
        await of.wait_for_counts({"different": 1, "same": 1})
        await of.first.broker().create_topic("T", 4)
        assert (await client.send("T", queue_id=3)).header.code == 0  # the second cluster has no such queue
        await of.wait_for_counts({"different": 2, "same": 1})
    lines = [each.getMessage() for each in caplog.records if each.getMessage().startswith("shadow:")]
    assert lines[0].startswith("shadow: a send to OnlyFirst: the first cluster answers 0 with queue 0, the second 17 (")
    assert lines[1].startswith("shadow: a send to T: the first cluster answers 0 with queue 3, the second 1 (")
    assert len(lines) == 2


async def test_other_requests_and_half_messages_are_not_copied(tmp_path: Path) -> None:
    async with two_clusters(tmp_path) as of:
        client = of.proxy.broker()
        assert (
            await client.send("T", b"half", sys_flag=4, properties="TRAN_MSG\x01true\x02PGROUP\x01P\x02")
        ).header.code == 0
        assert (await client.pull("T", 0)).header.code == ResponseCode.PULL_NOT_FOUND
        assert (await client.heartbeat("c", producers=("P",))).header.code == 0
        assert await of.outcomes() == {}
        assert await bodies(of.second) == []


@pytest.mark.parametrize(
    ("keys", "percent"),
    [({"topic_quotas": "T=1000/1000"}, 99.9999), ({}, 0.0001)],  # the random number of tests is the highest
    ids=["by a session", "by the kernel"],
)
async def test_only_the_configured_share_is_copied(tmp_path: Path, keys: dict[str, Any], percent: float) -> None:
    async with two_clusters(tmp_path, shadow_sample=percent, **keys) as of:
        assert (await of.proxy.broker().send("T")).header.code == 0
        assert await of.outcomes() == {}


@pytest.mark.skipif(relay_kernel() is None, reason="there is no kernel that relays")
async def test_copies_remove_no_connection_from_the_kernel(tmp_path: Path) -> None:
    async with two_clusters(tmp_path) as of:
        client = of.proxy.broker()
        for _ in range(3):
            assert (await client.send("T")).header.code == 0
        await of.wait_for_counts({"same": 3})
        await client.send_oneway(RequestCode.SEND_MESSAGE_V2, send_ext("T"), b"one-way")
        await of.wait_for_counts({"same": 3, "not_compared": 1})
        _, body = await http(of.proxy, "GET", "/metrics")
        assert sample(body, "relayed_connections") == 1
        assert sample(body, "relayed_frames_total", by="kernel", to="broker") == 4


async def test_a_broker_that_stops_without_an_answer_is_not_compared(tmp_path: Path) -> None:
    silent = FaultKeys(rules=(parse_rule("disconnect:answer,code=310"),))
    async with two_clusters(tmp_path, of_first={"faults": silent}) as of:
        client = of.proxy.broker()
        with pytest.raises(AssertionError, match="closed the connection"):
            await client.request(RequestCode.SEND_MESSAGE_V2, send_ext("T"), b"lost")
        client.close()
        await of.wait_for_counts({"not_compared": 1})


async def test_an_unreachable_second_cluster_is_not_waited_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    unreachable = Address(host="127.0.0.1", port=free_port())
    async with pair(tmp_path, shadow=(unreachable,), http=HTTP) as (_, proxy):
        client = proxy.broker()
        for _ in range(3):
            assert (await client.send("T")).header.code == 0
        await settle()
        assert await outcomes(proxy) == {"not_compared": 3}
        _, body = await http(proxy, "GET", "/metrics")
        assert sample(body, "shadow_sampled_total") == 3
        assert sample(body, "shadow_name_servers_answer") == 0
    assert len([each for each in caplog.records if "shadow: a send to T: " in each.getMessage()]) == 1


async def test_copies_are_dropped_when_the_second_cluster_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_COPIES", 4)
    silent = FaultKeys(rules=(parse_rule("drop:answer,code=310"),))
    async with two_clusters(tmp_path, of_second={"faults": silent}) as of:
        client = of.proxy.broker()
        assert [(await client.send("T")).header.code for _ in range(6)] == [0] * 6
        await of.wait_for_counts({"dropped": 2})
        mock_clock().jump(6)
        await of.wait_for_counts({"dropped": 2, "not_compared": 4})
        assert (await client.send("T")).header.code == 0
        await of.wait_for_counts({"dropped": 2, "not_compared": 4})  # there is room again


async def test_a_slow_second_cluster_delays_no_client(tmp_path: Path) -> None:
    """A thousand copies are in flight, the rest is dropped, and all are counted."""
    silent = FaultKeys(rules=(parse_rule("drop:answer,code=310"),))
    async with two_clusters(tmp_path, of_second={"faults": silent}) as of:
        client = of.proxy.broker()
        for _ in range(15):
            await client.write(b"".join(client.frame(RequestCode.SEND_MESSAGE_V2, send_ext("T")) for _ in range(100)))
            assert [(await client.receive()).header.code for _ in range(100)] == [0] * 100
        await of.wait_for_counts({"dropped": 500})
        mock_clock().jump(6)
        await of.wait_for_counts({"dropped": 500, "not_compared": 1000})


async def test_a_copy_whose_answer_the_first_cluster_loses_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_COPIES", 1)
    silent = FaultKeys(rules=(parse_rule("drop:answer,code=310"),))
    async with two_clusters(tmp_path, of_first={"faults": silent}) as of:
        client = of.proxy.broker()
        for lost in (1, 2):
            await client.write(client.frame(RequestCode.SEND_MESSAGE_V2, send_ext("T")))
            while len(await bodies(of.second)) < lost:
                await settle()
            mock_clock().jump(12)
            await of.wait_for_counts({"not_compared": lost})


async def test_copies_that_take_too_much_memory_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 10)
    async with two_clusters(tmp_path) as of:
        client = of.proxy.broker()
        for size in (10, 11, 10):
            assert (await client.send("T", bytes(size))).header.code == 0
            await settle()
        await of.wait_for_counts({"same": 2, "dropped": 1})


async def test_copies_without_an_answer_are_not_compared(tmp_path: Path) -> None:
    async with two_clusters(tmp_path) as of:
        client = of.proxy.broker()
        assert (await client.send("T")).header.code == 0
        await client.write(client.frame(RequestCode.SEND_MESSAGE_V2, send_ext("T"), b"x"))
        client.close()
        mock_clock().jump(10)
        counted = await of.outcomes()
        assert sum(counted.values()) == 2
