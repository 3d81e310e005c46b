"""Deletion of topics, over sockets: Apache 4.9.7's answers, and that a kill leaves a topic whole or deleted."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import AsyncIterator, Generator
from itertools import count
from pathlib import Path

import pytest

from rocketwire.server.admin.topic_removal import pop_retries
from rocketwire.store.disk.files import FileSystem
from rocketwire.store.errors import StoreNotWritable
from rocketwire.store.tables.deleted_topics import DeletedTopics
from rocketwire.store.tables.offsets import OffsetTable
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.frame import Frame
from tests.server.harness import (
    BINARY,
    JSON,
    Client,
    HangingDisk,
    Server,
    bodies,
    code_and_remark,
    offsets_of,
    serving,
    settle,
)

FAQ = " \nSee http://rocketmq.apache.org/docs/faq/ for further details."


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    async with serving(tmp_path / "store") as running:
        yield running


@pytest.fixture
async def client(server: Server) -> Client:
    """A broker with T, of which a group has read two of five messages, and U."""
    made = server.broker()
    await filled(made)
    return made


async def filled(client: Client) -> None:
    for topic in ("T", "U"):
        await client.create_topic(topic, 2)
        for number in range(5):
            await client.send(topic, b"%d" % number, keys=f"k{number}")
        await client.commit(2, topic)


async def end_of(client: Client, topic: str) -> str:
    answer = await client.request(RequestCode.GET_MAX_OFFSET, {"topic": topic, "queueId": "0"})
    return (answer.header.ext or {})["offset"]


async def delete(client: Client, topic: str, way: int = JSON) -> Frame:
    return await client.request(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": topic}, serialize_type=way)


def missing(topic: str) -> tuple[int, str]:
    return ResponseCode.TOPIC_NOT_EXIST, f"topic[{topic}] not exist, apply first please!{FAQ}"


@pytest.mark.parametrize("way", [JSON, BINARY])
async def test_a_deleted_topic_leaves_nothing_behind(server: Server, client: Client, tmp_path: Path, way: int) -> None:
    answer = await delete(client, "T", way)
    assert code_and_remark(answer) == (0, None)
    assert answer.header.ext is None
    assert not answer.body
    assert code_and_remark(await client.pull("T")) == missing("T")
    assert await end_of(client, "T") == "0"
    assert await client.committed() is None
    store = tmp_path / "store"
    assert not (store / "consumequeue" / "T").exists()
    assert "T" not in json.loads((store / "config" / "topics.json").read_text())["topicConfigTable"]
    assert OffsetTable.open(store / "config" / "consumerOffset.json").keys() == ["U@G"]
    # The other topic is unchanged.
    assert len(bodies(await client.pull("U"))) == 5
    assert await client.committed("U") == 2
    # The name server keeps the route until a registration omits it.
    name_server = server.name_server()
    assert (await name_server.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})).header.code == 0
    await name_server.request(RequestCode.DELETE_TOPIC_IN_NAMESRV, {"topic": "T"})
    route = await name_server.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
    assert route.header.code == ResponseCode.TOPIC_NOT_EXIST


async def test_a_topic_that_is_created_again_begins_at_offset_0(client: Client) -> None:
    await delete(client, "T")
    await client.create_topic("T", 2)
    answer = await client.send("T", b"new")
    assert (answer.header.ext or {})["queueOffset"] == "0"
    found = await client.pull("T")
    assert (bodies(found), offsets_of(found)) == ([b"new"], (1, 0, 1))
    assert await client.committed() is None


async def test_a_send_creates_it_again(client: Client) -> None:
    await delete(client, "T")
    await client.send("T", b"new")
    assert bodies(await client.pull("T")) == [b"new"]


@pytest.mark.parametrize(
    ("topic", "remark"),
    [
        ("", "The specified topic is blank."),
        ("a b", "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"),
        ("x" * 128, "The specified topic is longer than topic max length."),
        *(
            (topic, f"The topic[{topic}] is conflict with system topic.")
            for topic in ("TBW102", "SCHEDULE_TOPIC_XXXX", "C", "broker-a", "RMQ_SYS_TRANS_HALF_TOPIC", "rmq_sys_x")
        ),
    ],
)
async def test_system_topics_and_bad_names_are_refused(client: Client, topic: str, remark: str) -> None:
    assert code_and_remark(await delete(client, topic)) == (ResponseCode.SYSTEM_ERROR, remark)


async def test_deleting_an_unknown_topic_succeeds(client: Client, tmp_path: Path) -> None:
    await client.commit(7, "nowhere")
    assert code_and_remark(await delete(client, "nowhere")) == (0, None)
    assert await client.committed("nowhere") is None
    assert code_and_remark(await delete(client, "%RETRY%unknown")) == (0, None)
    assert not (tmp_path / "store" / "config" / "deletedTopics.json").exists()


async def test_a_held_pull_is_answered_at_once(server: Server, client: Client) -> None:
    waiting, elsewhere = server.broker(), server.broker()
    await waiting.hold("T", 5, seconds=60)
    await waiting.hold("T", 0, seconds=60, queue_id=1)
    await elsewhere.hold("U", 5, seconds=60)
    await delete(client, "T")
    assert [code_and_remark(frame) for frame in await waiting.arrived()] == [missing("T")] * 2
    await client.send("U", b"later")
    assert bodies(await elsewhere.receive()) == [b"later"]
    # A new topic of the name does not concern the held pulls.
    await client.create_topic("T", 2)
    await client.send("T", b"new")
    assert bodies(await client.pull("T")) == [b"new"]


async def test_a_delayed_message_of_a_deleted_topic_does_no_harm(server: Server, client: Client) -> None:
    """It is delivered into a topic that does not exist, as by Apache's broker, and delays no others."""
    await client.send("T", b"late", properties="DELAY\x011\x02")
    await client.send("U", b"too", properties="DELAY\x011\x02")
    await delete(client, "T")
    await server.pass_time(5, step=0.1)
    assert bodies(await client.pull("U", 5)) == [b"too"]
    assert code_and_remark(await client.pull("T")) == missing("T")
    await client.create_topic("T", 2)
    assert bodies(await client.pull("T")) == [b"late"]


async def test_the_outcome_of_a_transaction_in_a_deleted_topic_does_no_harm(client: Client) -> None:
    half = await client.send("T", b"half", properties="TRAN_MSG\x01true\x02PGROUP\x01P\x02", sys_flag=4)
    await delete(client, "T")
    assert half.header.ext is not None
    ext = {
        "producerGroup": "P",
        "tranStateTableOffset": half.header.ext["queueOffset"],
        "commitLogOffset": str(int(half.header.ext["msgId"][16:], 16)),
        "commitOrRollback": "8",
        "fromTransactionCheck": "false",
        "msgId": "x",
    }
    assert (await client.request(RequestCode.END_TRANSACTION, ext)).header.code == 0
    assert code_and_remark(await client.pull("T")) == missing("T")
    assert len(bodies(await client.pull("U"))) == 5


async def test_no_request_creates_it_again_meanwhile(tmp_path: Path) -> None:
    disk = HangingDisk()
    async with serving(tmp_path / "store", run_sync=disk) as server:
        client, other = server.broker(), server.broker()
        await filled(client)
        disk.hangs = True
        await client.write(client.frame(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": "T"}))
        await settle()
        refused = await other.send("T")
        assert code_and_remark(refused) == (ResponseCode.SERVICE_NOT_AVAILABLE, "topic[T] is being deleted")
        disk.move()
        assert code_and_remark(await client.receive()) == (0, None)
        assert (await other.send("T")).header.code == 0
        assert await end_of(other, "T") == "1"


# --- kills ---


@pytest.mark.parametrize("again", [0, 2])
async def test_it_stays_deleted_after_a_kill(tmp_path: Path, again: int) -> None:
    store = tmp_path / "store"
    async with serving(store) as server:
        client = server.broker()
        await filled(client)
        await delete(client, "T")
        for number in range(again):
            await client.send("T", b"new %d" % number)
        snapshot = copied(store, tmp_path / "killed")
    async with serving(snapshot) as server:
        client = server.broker()
        assert await end_of(client, "T") == str(again)
        assert await end_of(client, "U") == "5"
        assert await client.committed() is None
        assert await client.committed("U") == 2
        if again:
            assert bodies(await client.pull("T")) == [b"new 0", b"new 1"]
        else:
            assert code_and_remark(await client.pull("T")) == missing("T")
        answer = await client.send("T", b"next")
        assert (answer.header.ext or {})["queueOffset"] == str(again)


async def test_a_kill_in_the_middle_leaves_it_whole_or_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A start on each copy of the store that was made before a change of a file while a topic is deleted."""
    store = tmp_path / "store"
    taken: list[Path] = []

    def watched(patch: pytest.MonkeyPatch, name: str) -> None:
        real = getattr(FileSystem, name)

        def act(self: FileSystem, path: str, *args: object, **options: object) -> object:
            if "config/" in path or "consumequeue/T" in path:
                taken.append(copied(store, tmp_path / f"at{len(taken)}"))
            return real(self, path, *args, **options)

        patch.setattr(FileSystem, name, act)

    async with serving(store) as server:
        client = server.broker()
        await filled(client)
        await server.pass_time(6, step=1)  # the offsets are saved
        with monkeypatch.context() as patch:
            for name in ("rename", "remove", "remove_directory", "replace"):
                watched(patch, name)
            await delete(client, "T")
    assert len(taken) > 5
    outcomes = []
    for number, each in enumerate(taken):
        async with serving(each) as server:
            client = server.broker()
            exists = (await client.pull("T")).header.code != ResponseCode.TOPIC_NOT_EXIST
            assert await end_of(client, "T") == ("5" if exists else "0"), number
            assert await client.committed() == (2 if exists else None), number
            assert await end_of(client, "U") == "5"
            outcomes.append(exists)
    assert outcomes == sorted(outcomes, reverse=True)
    assert not outcomes[-1]


def copied(store: Path, to: Path) -> Path:
    """A copy of an open store, as after a kill."""
    shutil.copytree(store, to, ignore=shutil.ignore_patterns("lock"))
    return to


async def test_a_full_disk_keeps_the_topic(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(_files: FileSystem, path: str, *_args: object, **_options: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    with monkeypatch.context() as patch:
        patch.setattr(FileSystem, "write", full)
        assert (await delete(client, "T")).header.code == ResponseCode.SYSTEM_ERROR
    assert "topic T: " in caplog.text
    assert len(bodies(await client.pull("T"))) == 5
    assert code_and_remark(await delete(client, "T")) == (0, None)
    assert code_and_remark(await client.pull("T")) == missing("T")


async def test_no_request_creates_it_again_before_its_deletion_is_saved(
    server: Server, client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Else a restart would delete the new topic."""
    real, calls = DeletedTopics.save, count()

    def second_fails(self: DeletedTopics) -> None:
        if next(calls) == 1:
            raise StoreNotWritable("deletedTopics.json", "full")
        real(self)

    monkeypatch.setattr(DeletedTopics, "save", second_fails)
    await client.write(client.frame(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": "T"}))
    await settle()
    assert (await server.broker().send("T")).header.code == ResponseCode.SERVICE_NOT_AVAILABLE
    await server.pass_time(6, step=1)
    assert code_and_remark(await client.receive()) == (0, None)
    assert not DeletedTopics.open(tmp_path / "store" / "config" / "deletedTopics.json").unfinished
    assert (await client.send("T")).header.code == 0


async def test_a_failing_save_is_logged(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The topic is deleted nevertheless; but a restart might restore the offsets."""

    def refuse(*_: object) -> None:
        raise StoreNotWritable("consumerOffset.json", "full")

    with monkeypatch.context() as patch:
        patch.setattr(OffsetTable, "write", refuse)
        assert (await delete(client, "T")).header.code == ResponseCode.SYSTEM_ERROR
    assert code_and_remark(await client.pull("T")) == missing("T")
    assert code_and_remark(await delete(client, "T")) == (0, None)


def test_the_retry_topics_of_many_groups_are_searched_in_short_steps() -> None:
    existing = {"%RETRY%g7_T", "%RETRY%g9+T", "%RETRY%g9_U"}
    found: list[str] = []

    def looked_for() -> Generator[None, None, None]:
        found.extend((yield from pop_retries([f"g{n}" for n in range(1000)], "T", existing.__contains__)))

    assert len(list(looked_for())) >= 1000 / 64
    assert found == ["%RETRY%g7_T", "%RETRY%g9+T"]
