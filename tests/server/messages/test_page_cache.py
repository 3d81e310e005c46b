"""Sends that waited behind a slow append, through a whole server, by the kernel's path and by the general one."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from rocketwire.server.config.live import LiveGroup
from rocketwire.server.messages.keys import PageCacheKeys
from rocketwire.server.messages.page_cache import AppendTimes, PageCacheGuard
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.frame import Frame
from tests.server.harness import (
    BINARY,
    JSON,
    Client,
    Server,
    SlowDisk,
    code_and_remark,
    send_ext,
    serving,
)

WAYS = {"short way": JSON, "general way": BINARY}
BUSY = "[PCBUSY_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: {}ms, size of queue: {}"
BUSY_AFTER_1500 = (ResponseCode.SYSTEM_BUSY, BUSY.format(1500, 1))


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> SlowDisk:
    return SlowDisk(monkeypatch)


@pytest.fixture
async def clients(server: Server, disk: SlowDisk) -> list[Client]:
    """Connections to a server that has reserved nothing yet: the first append requests pages from the disk."""
    assert not disk.seconds
    made = [server.broker() for _ in range(4)]
    await made[0].create_topic("T", 2)
    for client in made:
        assert (await client.request(RequestCode.GET_BROKER_CONFIG)).header.code == 0
    return made


def send(client: Client, way: int, count: int = 1) -> bytes:
    return b"".join(
        client.frame(RequestCode.SEND_MESSAGE_V2, send_ext("T"), b"body", serialize_type=way) for _ in range(count)
    )


async def all_at_once(clients: list[Client], way: int, count: int = 1) -> list[list[Frame]]:
    """The answers to sends that all wait in their sockets before the server reads one of them."""
    for client in clients:
        client.sock.sendall(send(client, way, count))
    return [await client.arrived() for client in clients]


def codes(answers: list[list[Frame]]) -> list[int]:
    return sorted(frame.header.code for each in answers for frame in each)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
async def test_sends_that_waited_are_refused_and_later_ones_are_not(
    server: Server, clients: list[Client], disk: SlowDisk, way: int
) -> None:
    disk.seconds = 1.5
    answers = await all_at_once(clients, way)
    # One send began the slow append, and was stored.
    assert codes(answers) == [0, 2, 2, 2]
    assert {code_and_remark(frame) for each in answers for frame in each} == {(0, None), BUSY_AFTER_1500}
    again = await all_at_once(clients, way)
    assert codes(again) == [0, 0, 0, 0]
    found = await clients[0].request(RequestCode.GET_MAX_OFFSET, {"topic": "T", "queueId": "0"})
    assert found.header.ext is not None
    assert found.header.ext["offset"] == "5"


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
async def test_requests_behind_it_in_the_same_read_count_as_waiting(
    clients: list[Client], disk: SlowDisk, way: int
) -> None:
    """Another request between them makes two groups of sends."""
    client = clients[0]
    disk.seconds = 1.5
    other = client.frame(RequestCode.GET_MAX_OFFSET, {"topic": "T", "queueId": "0"})
    client.sock.sendall(send(client, way) + other + send(client, way, 2))
    answers = await client.arrived()
    refused = (ResponseCode.SYSTEM_BUSY, BUSY.format(1500, 2))
    assert [code_and_remark(frame) for frame in answers] == [(0, None), (0, None), refused, refused]


async def test_requests_of_the_next_read_count_as_waiting(clients: list[Client], disk: SlowDisk) -> None:
    """More than one read takes: the second is handled in the pass after the slow one, the third after that."""
    client = clients[0]
    disk.seconds = 1.5
    body = bytes(100_000)
    frames = [client.frame(RequestCode.SEND_MESSAGE_V2, send_ext("T"), body) for _ in range(12)]
    await client.write(b"".join(frames))
    answers = await client.arrived()
    found = [frame.header.code for frame in answers]
    first = found.index(2)
    last = len(found) - found[::-1].index(2)
    assert found == [0] * first + [2] * (last - first) + [0] * (len(found) - last)
    assert 0 < first < last < len(found)


async def test_a_similar_append_that_is_not_slow_refuses_none(clients: list[Client], disk: SlowDisk) -> None:
    disk.seconds = 0.999
    assert codes(await all_at_once(clients, JSON)) == [0, 0, 0, 0]


@pytest.mark.parametrize("key", ["osPageCacheBusyTimeOutMills", "brokerFastFailureEnable"])
async def test_the_protection_can_be_set(clients: list[Client], disk: SlowDisk, key: str) -> None:
    value = {"osPageCacheBusyTimeOutMills": "2000", "brokerFastFailureEnable": "false"}[key]
    assert (await clients[0].set_config(**{key: value})).header.code == 0
    disk.seconds = 1.5
    assert codes(await all_at_once(clients, JSON)) == [0, 0, 0, 0]


async def test_pulls_and_other_requests_are_never_refused(clients: list[Client], disk: SlowDisk) -> None:
    disk.seconds = 1.5
    clients[0].sock.sendall(send(clients[0], JSON))
    for client in clients[1:]:
        client.sock.sendall(client.frame(RequestCode.GET_MAX_OFFSET, {"topic": "T", "queueId": "0"}))
    assert [(await client.arrived())[0].header.code for client in clients] == [0, 0, 0, 0]


async def test_sync_flush_behaves_equally(tmp_path: Path, disk: SlowDisk) -> None:
    async with serving(tmp_path / "sync", flush_disk_type="SYNC_FLUSH") as server:
        clients = [server.broker() for _ in range(3)]
        await clients[0].create_topic("T", 2)
        for client in clients:
            assert (await client.request(RequestCode.GET_BROKER_CONFIG)).header.code == 0
        disk.seconds = 3.0
        assert codes(await all_at_once(clients, JSON)) == [0, 2, 2]
        assert codes(await all_at_once(clients, JSON)) == [0, 0, 0]


async def test_it_costs_nothing_after_the_slow_append() -> None:
    times = [5.0]
    guard = PageCacheGuard(LiveGroup(PageCacheKeys()), now=lambda: times[-1])
    guard.note_append(0.0)
    found = [guard.is_busy]
    assert str(guard.refusal(7)) == BUSY.format(5000, 7)
    for _ in range(4):
        await trio.lowlevel.checkpoint()
    found.append(guard.is_busy)
    assert found == [True, False]
    with pytest.raises(KeyError):  # trio has removed the instrument
        trio.lowlevel.remove_instrument(guard)


def test_without_appends_the_table_is_empty() -> None:
    times = AppendTimes()
    assert times.text().startswith("[<=0ms]:0 [0~10ms]:0 [10~50ms]:0 ")
    assert times.text().endswith("[5~10s]:0 [10s~]:0 ")
    assert (times.percentile(0.99), times.longest_ms) == (0.0, 0)


def test_the_classes_of_the_last_minute_are_counted() -> None:
    times = AppendTimes()
    for took in (1.5, 9.9, 10, 700, 10_000):
        times.note(took)
    assert sum(times.counts()) == 0
    times.end_minute(100)
    assert times.counts() == [95, 2, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1]
    assert times.longest_ms == 10_000
    times.end_minute(130)
    assert times.counts() == [30] + 12 * [0]


def test_the_percentile_is_a_time_that_most_did_not_exceed() -> None:
    times = AppendTimes()
    for took in (3, 30, 60):
        times.note(took)
    times.end_minute(1000)
    assert [times.percentile(part) for part in (0.99, 0.998, 0.999, 1.0)] == [0.0, 10.0, 50.0, 60.0]
