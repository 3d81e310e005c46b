from __future__ import annotations

import json
from pathlib import Path

import pytest

from rocketwire.store.read.fetch import FetchResult
from rocketwire.store.store import MessageStore
from rocketwire.wire.facts.codes import PullSysFlag, RequestCode, ResponseCode
from rocketwire.wire.frame import Frame
from tests.server.harness import BINARY, NOW, Client, Server, code_and_remark, pull_ext, serving
from tests.wire import golden

MISSING = "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first"


def queue(topic: str = "T", queue_id: int = 0, **more: str) -> dict[str, str]:
    return {"topic": topic, "queueId": str(queue_id), "bname": "broker-a", **more}


def group(topic: str = "T", queue_id: int = 0, **more: str) -> dict[str, str]:
    return queue(topic, queue_id, consumerGroup="G", **more)


def number(answer: Frame, field: str = "offset") -> int:
    assert answer.header.code == 0, answer.header.remark
    assert answer.header.ext is not None
    return int(answer.header.ext[field])


@pytest.mark.parametrize("serialize_type", [0, BINARY])
async def test_a_committed_offset_is_found(broker: Client, serialize_type: int) -> None:
    ext = group(commitOffset="7")
    answer = await broker.request(RequestCode.UPDATE_CONSUMER_OFFSET, ext, serialize_type=serialize_type)
    assert answer.header.code == 0
    assert answer.serialize_type == serialize_type
    answer = await broker.request(RequestCode.QUERY_CONSUMER_OFFSET, group(), serialize_type=serialize_type)
    assert number(answer) == 7
    assert answer.serialize_type == serialize_type


async def test_clients_commit_one_way(broker: Client) -> None:
    await broker.send_oneway(RequestCode.UPDATE_CONSUMER_OFFSET, group(commitOffset="7"))
    assert await broker.arrived() == []
    assert number(await broker.request(RequestCode.QUERY_CONSUMER_OFFSET, group())) == 7


async def test_an_offset_may_be_set_back(broker: Client) -> None:
    for offset in ("7", "3"):
        await broker.request(RequestCode.UPDATE_CONSUMER_OFFSET, group(commitOffset=offset))
    assert number(await broker.request(RequestCode.QUERY_CONSUMER_OFFSET, group())) == 3


BELOW_ZERO = ["-1", "-2", str(-(2**63))]
BEYOND = ["2", str(2**63 - 1)]
COMMIT = PullSysFlag.COMMIT_OFFSET | PullSysFlag.SUBSCRIPTION
WAYS = [RequestCode.UPDATE_CONSUMER_OFFSET, RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE]


async def commits(client: Client, way: int, offset: str) -> Frame:
    """Commit with a separate request, or along with a pull; neither answer mentions the commit."""
    if way == RequestCode.UPDATE_CONSUMER_OFFSET:
        return await client.request(way, group(commitOffset=offset))
    return await client.request(way, {**pull_ext("T", sys_flag=COMMIT), "commitOffset": offset})


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("offset", BELOW_ZERO)
async def test_a_negative_offset_counts_as_missing(
    broker: Client, monkeypatch: pytest.MonkeyPatch, way: int, offset: str
) -> None:
    await broker.send("T")
    assert (await commits(broker, WAYS[0], "1")).header.code == 0
    assert (await commits(broker, way, offset)).header.code == 0
    assert number(await broker.request(RequestCode.QUERY_CONSUMER_OFFSET, group())) == 0
    answer = await broker.request(RequestCode.QUERY_CONSUMER_OFFSET, group(setZeroIfNotFound="false"))
    assert code_and_remark(answer) == (ResponseCode.QUERY_NOT_FOUND, MISSING)
    monkeypatch.setattr(MessageStore, "min_offset", lambda *_: 1)
    answer = await broker.request(RequestCode.QUERY_CONSUMER_OFFSET, group())
    assert code_and_remark(answer) == (ResponseCode.QUERY_NOT_FOUND, MISSING)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("offset", BEYOND)
async def test_an_offset_behind_the_end_is_kept_and_a_pull_there_is_moved_to_the_end(
    broker: Client, way: int, offset: str
) -> None:
    await broker.send("T")
    assert (await commits(broker, way, offset)).header.code == 0
    assert number(await broker.request(RequestCode.QUERY_CONSUMER_OFFSET, group())) == int(offset)
    answer = await broker.request(RequestCode.PULL_MESSAGE, {**pull_ext("T"), "queueOffset": offset})
    assert answer.header.code == ResponseCode.PULL_OFFSET_MOVED
    assert answer.header.ext is not None
    assert answer.header.ext["nextBeginOffset"] == "1"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("offset", ["", "x", "1.5", " 5", str(2**63), str(-(2**63) - 1)])
async def test_a_malformed_offset_is_refused_and_not_stored(broker: Client, way: int, offset: str) -> None:
    await broker.send("T")
    assert (await commits(broker, way, offset)).header.code == 1
    answer = await broker.request(RequestCode.QUERY_CONSUMER_OFFSET, group(setZeroIfNotFound="false"))
    assert answer.header.code == ResponseCode.QUERY_NOT_FOUND


async def test_negative_offsets_of_a_store_are_repaired(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    text = '{"offsetTable":{"T@G":{0:-1,1:-9223372036854775808,2:7}}}'
    (tmp_path / "config" / "consumerOffset.json").write_text(text)
    async with serving(tmp_path) as server:
        client = server.broker()
        await client.send("T")
        for queue_id, offset in enumerate((0, 0, 7)):
            ext = group(queue_id=queue_id)
            assert number(await client.request(RequestCode.QUERY_CONSUMER_OFFSET, ext)) == offset


async def test_a_new_group_begins_at_0_while_the_queue_is_young(broker: Client) -> None:
    await broker.send("T")
    assert number(await broker.request(RequestCode.QUERY_CONSUMER_OFFSET, group())) == 0
    assert number(await broker.request(RequestCode.QUERY_CONSUMER_OFFSET, group(queue_id=1))) == 0
    assert number(await broker.request(RequestCode.QUERY_CONSUMER_OFFSET, group("Unknown"))) == 0


async def test_a_5x_client_may_request_not_found(broker: Client) -> None:
    answer = await broker.request(RequestCode.QUERY_CONSUMER_OFFSET, group(setZeroIfNotFound="false"))
    assert code_and_remark(answer) == (ResponseCode.QUERY_NOT_FOUND, MISSING)
    assert number(await broker.request(RequestCode.QUERY_CONSUMER_OFFSET, group(setZeroIfNotFound="true"))) == 0


async def test_a_new_group_on_an_old_queue_begins_by_its_rule(broker: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    await broker.send("T")
    real = MessageStore.get

    def far(*args: object, **options: object) -> FetchResult:
        fetched = real(*args, **options)  # type: ignore[arg-type]  # passed on as they come
        fetched.is_far_behind = True
        return fetched

    monkeypatch.setattr(MessageStore, "get", far)
    answer = await broker.request(RequestCode.QUERY_CONSUMER_OFFSET, group())
    assert code_and_remark(answer) == (ResponseCode.QUERY_NOT_FOUND, MISSING)
    monkeypatch.setattr(MessageStore, "get", real)
    monkeypatch.setattr(MessageStore, "min_offset", lambda *_: 1)
    answer = await broker.request(RequestCode.QUERY_CONSUMER_OFFSET, group())
    assert answer.header.code == ResponseCode.QUERY_NOT_FOUND


async def test_the_ends_of_a_queue_are_found(broker: Client) -> None:
    for _ in range(3):
        await broker.send("T")
    assert number(await broker.request(RequestCode.GET_MAX_OFFSET, queue())) == 3
    assert number(await broker.request(RequestCode.GET_MIN_OFFSET, queue())) == 0


@pytest.mark.parametrize("code", [RequestCode.GET_MAX_OFFSET, RequestCode.GET_MIN_OFFSET])
async def test_ends_of_a_queue_without_messages_are_0(broker: Client, code: int) -> None:
    assert number(await broker.request(code, queue())) == 0
    assert number(await broker.request(code, queue("Unknown"))) == 0


async def test_offsets_are_found_by_time(server: Server, broker: Client) -> None:
    of_apache = golden.answers()["offsetsByTime"]
    for _ in range(of_apache["messages"]):
        await broker.send("T")
        server.clock.now += of_apache["millisecondsApart"]

    async def at(timestamp: int) -> int:
        answer = await broker.request(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, queue(timestamp=str(timestamp)))
        return number(answer)

    for each in of_apache["asked"]:
        assert await at(NOW + each["milliseconds"]) == each["offset"]
    assert [await at(NOW + time) for time in (0, 1, 1000, 1001)] == [0, 1, 1, 2]
    answer = await broker.request(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, queue("Unknown", timestamp="1"))
    assert number(answer) == 0


async def test_the_oldest_messages_time_is_found(broker: Client) -> None:
    await broker.send("T")
    assert number(await broker.request(RequestCode.GET_EARLIEST_MSG_STORETIME, queue()), "timestamp") == NOW
    answer = await broker.request(RequestCode.GET_EARLIEST_MSG_STORETIME, queue(queue_id=1))
    assert number(answer, "timestamp") == -1


@pytest.mark.parametrize(
    "code",
    [
        RequestCode.QUERY_CONSUMER_OFFSET,
        RequestCode.UPDATE_CONSUMER_OFFSET,
        RequestCode.SEARCH_OFFSET_BY_TIMESTAMP,
        RequestCode.GET_MAX_OFFSET,
        RequestCode.GET_MIN_OFFSET,
        RequestCode.GET_EARLIEST_MSG_STORETIME,
    ],
)
async def test_a_request_that_lacks_a_field_is_answered(broker: Client, code: int) -> None:
    answer = await broker.request(code, {"topic": "T"})
    assert answer.header.code == ResponseCode.SYSTEM_ERROR
    assert answer.header.remark


async def test_offsets_are_saved_every_5_s_and_survive_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "config" / "consumerOffset.json"
    async with serving(tmp_path) as server:
        client = server.broker()
        await client.request(RequestCode.UPDATE_CONSUMER_OFFSET, group(commitOffset="7"))
        assert not file.exists()
        await server.pass_time(5.1)
        assert "T@G" in file.read_text()
        written = file.read_text()
        await client.request(RequestCode.UPDATE_CONSUMER_OFFSET, group(commitOffset="8"))
        assert file.read_text() == written
    assert '"T@G":{0:8' in "".join(file.read_text().split())
    async with serving(tmp_path) as server:
        assert number(await server.broker().request(RequestCode.QUERY_CONSUMER_OFFSET, group())) == 8


async def test_unchanged_offsets_are_not_saved_again(tmp_path: Path) -> None:
    file = tmp_path / "config" / "consumerOffset.json"
    async with serving(tmp_path) as server:
        await server.broker().request(RequestCode.UPDATE_CONSUMER_OFFSET, group(commitOffset="7"))
        await server.pass_time(5.1)
        file.write_text(json.dumps({}))
        await server.pass_time(10)
        assert file.read_text() == "{}"
