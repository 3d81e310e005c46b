"""What clients see of removed files. The answers are those of Apache's 4.9.7 broker to the same requests:
120 messages of about 450 bytes in commit log files of 16 KiB and queue files of 16 entries, after mqadmin's 329.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rocketwire.server.core.clocks.clock import hour_of_day
from rocketwire.store.disk.files import FileSystem
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.progress import QueryConsumeTimeSpanBody
from rocketwire.wire.facts.codes import PullSysFlag, RequestCode, ResponseCode
from rocketwire.wire.java import string_hash
from tests.server.harness import (
    BINARY,
    JSON,
    NOW,
    Client,
    Server,
    bodies,
    code_and_remark,
    offsets_of,
    records,
    serving,
)

MOVED, AT_ONCE, NONE = (
    ResponseCode.PULL_OFFSET_MOVED,
    ResponseCode.PULL_RETRY_IMMEDIATELY,
    ResponseCode.PULL_NOT_FOUND,
)
MESSAGES = 120


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    async with serving(
        tmp_path / "store",
        mapped_file_size_commit_log=16384,
        mapped_file_size_consume_queue=320,
        max_hash_slot_num=20,
        max_index_num=50,
        file_reserved_time=0,
        delete_when=str((hour_of_day(NOW) + 12) % 24),
    ) as running:
        yield running


@pytest.fixture
async def client(server: Server) -> Client:
    """A broker with D, whose five messages are older than T's, and T; some of E's are as old as D's."""
    made = server.broker()
    for topic in ("T", "D", "E"):
        await made.create_topic(topic, 2)
    await made.send("E", b"first", keys="first")
    for number in range(5):
        await made.send("D", b"dead%d" % number)
    for number in range(MESSAGES):
        await made.send("T", b"%08d" % number + b"x" * 300, keys=f"k{number}", tags="A")
    for number in range(3):
        await made.send("E", b"alive%d" % number)
    return made


async def remove(server: Server, client: Client) -> None:
    """Let an hour pass, after which a message may be removed, and request the removal of expired files."""
    assert code_and_remark(await client.request(RequestCode.DELETE_EXPIRED_COMMITLOG)) == (0, None)
    await server.pass_time(80, step=1)


async def offset(client: Client, code: RequestCode, topic: str, queue_id: int = 0) -> int:
    answer = await client.request(code, {"topic": topic, "queueId": str(queue_id)})
    assert answer.header.ext is not None
    return int(next(iter(answer.header.ext.values())))


async def bounds(client: Client, topic: str) -> tuple[int, int]:
    least = await offset(client, RequestCode.GET_MIN_OFFSET, topic)
    return least, await offset(client, RequestCode.GET_MAX_OFFSET, topic)


async def test_a_reader_gets_the_new_begin_of_the_queue(server: Server, client: Client) -> None:
    assert await bounds(client, "T") == (0, MESSAGES)
    await remove(server, client)
    least, most = await bounds(client, "T")
    assert 80 < least < MESSAGES
    assert most == MESSAGES
    for offset_pulled in (0, 5, least - 1, -1):
        answer = await client.pull("T", offset_pulled)
        assert code_and_remark(answer) == (MOVED, "OFFSET_TOO_SMALL")
        assert offsets_of(answer) == (least, least, most)
        assert answer.header.ext is not None
        assert answer.header.ext["suggestWhichBrokerId"] == "0"
        assert not answer.body
    for offset_pulled in (most + 1, most + 100):
        answer = await client.pull("T", offset_pulled)
        assert code_and_remark(answer) == (MOVED, "OFFSET_OVERFLOW_BADLY")
        assert offsets_of(answer) == (most, least, most)
    at_end = await client.pull("T", most)
    assert code_and_remark(at_end) == (NONE, "OFFSET_OVERFLOW_ONE")
    assert offsets_of(at_end) == (most, least, most)
    for flags in (PullSysFlag.SUBSCRIPTION, PullSysFlag.SUBSCRIPTION | PullSysFlag.SUSPEND):
        assert code_and_remark(await client.pull("T", 0, sys_flag=flags)) == (MOVED, "OFFSET_TOO_SMALL")
    assert code_and_remark(await client.pull("T", 0, subscription="B")) == (MOVED, "OFFSET_TOO_SMALL")
    found: list[bytes] = []
    at = least
    while at < most:
        answer = await client.pull("T", at)
        assert code_and_remark(answer) == (0, "FOUND")
        found += bodies(answer)
        at = offsets_of(answer)[0]
    assert [int(body[:8]) for body in found] == list(range(least, most))


async def test_queries_by_time_and_key_omit_removed_messages(server: Server, client: Client) -> None:
    await remove(server, client)
    least, _ = await bounds(client, "T")
    assert await offset(client, RequestCode.GET_EARLIEST_MSG_STORETIME, "T") == NOW
    assert await offset(client, RequestCode.GET_EARLIEST_MSG_STORETIME, "D") == -1
    search = {"topic": "T", "queueId": "0", "timestamp": "0"}
    answer = await client.request(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, search)
    assert answer.header.ext == {"offset": str(least)}
    times = {"maxNum": "8", "beginTimestamp": "0", "endTimestamp": str(NOW + 10_000_000)}
    old = await client.request(RequestCode.QUERY_MESSAGE, {"topic": "T", "key": "k1", **times})
    assert code_and_remark(old) == (
        ResponseCode.QUERY_NOT_FOUND,
        "can not find message, maybe time range not correct",
    )
    new = await client.request(RequestCode.QUERY_MESSAGE, {"topic": "T", "key": "k119", **times})
    assert new.header.code == 0


@pytest.mark.parametrize("consumed", [None, 0, 7, "least"])
async def test_a_group_without_offset_is_at_the_oldest_message(
    server: Server, client: Client, consumed: int | str | None
) -> None:
    await remove(server, client)
    least, _ = await bounds(client, "T")
    if consumed is not None:
        where = {"consumerGroup": "G", "topic": "T", "queueId": "0"}
        offset = least if consumed == "least" else consumed
        await client.request(RequestCode.UPDATE_CONSUMER_OFFSET, {**where, "commitOffset": str(offset)})
    answer = await client.request(RequestCode.QUERY_CONSUME_TIME_SPAN, {"topic": "T", "group": "G"})
    span, _ = decode_body(QueryConsumeTimeSpanBody, bytes(answer.body)).consume_time_span_set
    assert (span.min_time_stamp, span.consume_time_stamp) == (NOW, NOW)
    assert span.delay_time == server.clock.now - NOW


async def test_a_queue_without_messages_begins_at_its_end(server: Server, client: Client) -> None:
    """Apache's minimum stays 0 for such a queue, in later answers too; ours is the end."""
    await remove(server, client)
    assert await bounds(client, "D") == (5, 5)
    for offset_pulled in (0, 4):
        answer = await client.pull("D", offset_pulled)
        assert code_and_remark(answer) == (AT_ONCE, "MESSAGE_WAS_REMOVING")
        assert offsets_of(answer) == (5, 5, 5)
    assert code_and_remark(await client.pull("D", 5)) == (NONE, "OFFSET_OVERFLOW_ONE")
    beyond = await client.pull("D", 6)
    assert (code_and_remark(beyond), offsets_of(beyond)[0]) == ((MOVED, "OFFSET_OVERFLOW_BADLY"), 5)


async def test_a_queue_that_never_had_a_message_is_empty(client: Client) -> None:
    start = await client.pull("T", 0, queue_id=1)
    assert (code_and_remark(start), offsets_of(start)) == ((NONE, "NO_MESSAGE_IN_QUEUE"), (0, 0, 0))
    later = await client.pull("T", 3, queue_id=1)
    assert (code_and_remark(later), offsets_of(later)) == ((MOVED, "NO_MESSAGE_IN_QUEUE"), (0, 0, 0))


async def test_a_held_pull_survives_a_removal(server: Server, client: Client) -> None:
    waiting = server.broker()
    await remove(server, client)
    for topic, at in (("T", MESSAGES), ("D", 5)):
        await waiting.hold(topic, at, seconds=60)
    # A second removal, with files to remove.
    for number in range(80):
        await client.send("E", b"%d" % number + bytes(400))
    await remove(server, client)
    (timed_out, again) = await waiting.arrived()
    assert {code_and_remark(timed_out), code_and_remark(again)} == {(NONE, "OFFSET_OVERFLOW_ONE")}
    await waiting.hold("D", 5, seconds=60)
    await client.send("D", b"new")
    assert bodies(await waiting.receive()) == [b"new"]


async def test_a_consumer_gets_all_remaining_messages_during_a_removal(server: Server, client: Client) -> None:
    """A consumer that follows the answers as the official one does."""
    at = 0
    found: list[int] = []
    await client.request(RequestCode.DELETE_EXPIRED_COMMITLOG)
    await server.pass_time(59, step=1)
    while at < MESSAGES:
        answer = await client.pull("T", at, max_msg_nums=4)
        found += [int(body[:8]) for body in bodies(answer)]
        following = offsets_of(answer)[0]
        assert following > at
        at = following
        await server.pass_time(0.06, step=0.02)
    least, _ = await bounds(client, "T")
    assert found == sorted(set(found))
    assert set(range(least, MESSAGES)) <= set(found)
    assert len(found) < MESSAGES


async def test_each_reader_that_is_moved_is_recorded(server: Server, client: Client) -> None:
    await remove(server, client)
    least, most = await bounds(client, "T")
    for topic, queue_id, offset_pulled in (
        ("T", 0, 0),
        ("T", 0, most + 1),
        ("D", 0, 6),
        ("D", 0, 0),
        ("T", 1, 3),
        ("T", 0, most),
    ):
        await client.pull(topic, offset_pulled, queue_id=queue_id)
    answer = await client.pull("OFFSET_MOVED_EVENT")
    events = records(answer.body)
    text = (
        '{{"consumerGroup":"G","messageQueue":{{"brokerName":"broker-a","queueId":{},"topic":"{}"}},'
        '"offsetNew":{},"offsetRequest":{}}}'
    )
    assert [event.body.decode() for event in events] == [
        text.format(0, "T", least, 0),
        text.format(0, "T", most, most + 1),
        text.format(0, "D", 5, 6),
        text.format(1, "T", 0, 3),
    ]
    event = events[0]
    assert event.properties == b"KEYS\x01G\x02DELAY\x010\x02TAGS\x01G"
    assert (event.sys_flag, event.flag, event.queue_id, event.reconsume_times) == (0, 0, 0, 0)
    assert event.born_timestamp == event.store_timestamp == server.clock.now
    assert event.born_host == event.store_host
    tagged = await client.pull("OFFSET_MOVED_EVENT", subscription="G")
    assert len(records(tagged.body)) == 4
    other = await client.pull("OFFSET_MOVED_EVENT", subscription="other")
    assert code_and_remark(other) == (AT_ONCE, "NO_MATCHED_MESSAGE")
    times = {"maxNum": "8", "beginTimestamp": "0", "endTimestamp": str(NOW + 10_000_000)}
    by_key = await client.request(RequestCode.QUERY_MESSAGE, {"topic": "OFFSET_MOVED_EVENT", "key": "G", **times})
    assert by_key.header.code == 0
    assert len(records(by_key.body)) == 4


# --- requests of mqadmin ---


@pytest.mark.parametrize("way", [JSON, BINARY])
@pytest.mark.parametrize(
    "code",
    [RequestCode.DELETE_EXPIRED_COMMITLOG, RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE, RequestCode.CLEAN_UNUSED_TOPIC],
)
async def test_mqadmin_is_answered_at_once_without_a_remark(client: Client, code: RequestCode, way: int) -> None:
    answer = await client.request(code, serialize_type=way)
    assert code_and_remark(answer) == (0, None)
    assert answer.header.ext is None
    assert not answer.body
    assert await bounds(client, "T") == (0, MESSAGES)
    assert await bounds(client, "D") == (0, 5)


async def test_an_expired_queue_that_is_cleaned_begins_at_offset_0(server: Server, client: Client) -> None:
    await remove(server, client)
    await client.request(RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE)
    assert await bounds(client, "D") == (0, 0)
    start = await client.pull("D", 0)
    assert (code_and_remark(start), offsets_of(start)) == ((NONE, "NO_MESSAGE_IN_QUEUE"), (0, 0, 0))
    later = await client.pull("D", 5)
    assert (code_and_remark(later), offsets_of(later)) == ((MOVED, "NO_MESSAGE_IN_QUEUE"), (0, 0, 0))
    assert (await bounds(client, "E"))[1] == 4
    await client.send("D", b"new")
    found = await client.pull("D", 0)
    assert (bodies(found), offsets_of(found)) == ([b"new"], (1, 0, 1))
    beyond = await client.pull("D", 6)
    assert (code_and_remark(beyond), offsets_of(beyond)) == ((MOVED, "OFFSET_OVERFLOW_BADLY"), (1, 0, 1))


async def test_a_queue_that_cannot_be_removed_does_not_fail_the_request(
    server: Server, client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await remove(server, client)

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    with monkeypatch.context() as patch:
        patch.setattr(FileSystem, "remove", refuse)
        assert code_and_remark(await client.request(RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE)) == (0, None)
    assert "topic D: queue 0: [Errno 1] Operation not permitted" in caplog.text
    assert "Traceback" not in caplog.text
    assert await bounds(client, "D") == (5, 5)
    assert code_and_remark(await client.request(RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE)) == (0, None)
    assert await bounds(client, "D") == (0, 0)


async def test_cleaning_unused_topics_removes_none(server: Server, client: Client) -> None:
    await client.request(RequestCode.CLEAN_UNUSED_TOPIC)
    assert bodies(await client.pull("D", 4)) == [b"dead4"]
    assert string_hash("G") == 71  # so that the tags code above is correct


async def test_a_removed_message_cannot_be_sent_back(server: Server, client: Client) -> None:
    ext = {"offset": "0", "group": "G", "delayLevel": "0"}
    assert code_and_remark(await client.request(RequestCode.CONSUMER_SEND_MSG_BACK, ext)) == (0, None)
    await remove(server, client)
    expected = (ResponseCode.SYSTEM_ERROR, "look message by offset failed, 0")
    assert code_and_remark(await client.request(RequestCode.CONSUMER_SEND_MSG_BACK, ext)) == expected


# --- a disk that is too full ---


@pytest.mark.parametrize("way", [JSON, BINARY])
async def test_a_disk_over_the_ratio_refuses_sends_as_apache_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: int
) -> None:
    used = [0.5]
    monkeypatch.setattr(FileSystem, "usage", lambda *_: used[-1])
    async with serving(tmp_path, disk_space_warning_level_ratio=90, disk_space_clean_forcibly_ratio=85) as server:
        client = server.broker()
        await client.create_topic("T")
        assert (await client.send("T", serialize_type=way)).header.code == 0
        used.append(0.91)
        await server.pass_time(11)
        answer = await client.send("T", serialize_type=way)
        assert answer.header.code == ResponseCode.SERVICE_NOT_AVAILABLE
        assert answer.header.remark == (
            "service not available now. It may be caused by one of the following reasons: the broker's disk is full "
            "[CL:  0.91 CQ:  0.91 INDEX:  0.91], messages are put to the slave, message store has been shut down, etc."
        )
        assert len(records((await client.pull("T")).body)) == 1
        moved = await client.pull("T", 7)  # the event cannot be stored, but the request is answered
        assert code_and_remark(moved) == (MOVED, "OFFSET_OVERFLOW_BADLY")
        used.append(0.90)
        await server.pass_time(11)
        assert (await client.send("T", serialize_type=way)).header.code == 0
