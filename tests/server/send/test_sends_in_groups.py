"""Sends of one read are one group: their answers, waiting for the disk, and a full disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rocketwire.server.core.errors import NotPermitted
from rocketwire.server.dispatch.dispatcher import FrameDispatcher
from rocketwire.server.send.drafts import SendPreparer
from rocketwire.store.store import MessageStore
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.header import Header
from tests.server.harness import (
    BINARY,
    Client,
    FullDisk,
    HangingDisk,
    batch_body,
    code_and_remark,
    one_by_one,
    pull_ext,
    records,
    send_ext,
    serving,
    serving_topic,
)

V2 = RequestCode.SEND_MESSAGE_V2
BATCH = RequestCode.SEND_BATCH_MESSAGE
MIB = 1 << 20


@pytest.fixture
def groups(monkeypatch: pytest.MonkeyPatch, sends_by_python: None) -> list[int]:
    """Sizes of the groups that the store receives; to be requested before `server`."""
    sizes: list[int] = []
    real = MessageStore.append

    def noting(self: MessageStore, drafts: Any) -> Any:
        sizes.append(len(drafts))
        return real(self, drafts)

    monkeypatch.setattr(MessageStore, "append", noting)
    return sizes


async def test_the_sends_of_one_read_are_one_group(groups: list[int], broker: Client) -> None:
    one = broker.frame(V2, send_ext("T"), b"x")
    batch = broker.frame(BATCH, send_ext("T", batch=True), batch_body([b"a", b"b"]))
    await broker.write(one * 10 + batch + one)
    answers = await broker.arrived()
    assert len(answers) == 12
    assert groups == [13]
    offsets = [int(answer.header.ext["queueOffset"]) for answer in answers if answer.header.ext]
    assert offsets == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12]


async def test_another_request_ends_the_group(groups: list[int], broker: Client) -> None:
    one = broker.frame(V2, send_ext("T"), b"x")
    other = broker.frame(RequestCode.PULL_MESSAGE, pull_ext("T"))
    await broker.write(one * 3 + other + one * 2)
    await broker.arrived()
    assert groups == [3, 2]


@pytest.mark.parametrize(
    "way",
    [
        {"code": RequestCode.SEND_MESSAGE, "short": False},
        {"code": V2, "serialize_type": BINARY},
    ],
)
async def test_sends_of_all_forms_are_grouped(groups: list[int], broker: Client, way: dict[str, Any]) -> None:
    ext = send_ext("T", short=way.get("short", True))
    one = broker.frame(way["code"], ext, b"x", serialize_type=way.get("serialize_type", 0))
    await broker.write(one * 3)
    assert len(await broker.arrived()) == 3
    assert groups == [3]


@pytest.mark.parametrize("by", ["kernel", "python"])
async def test_a_producer_that_does_not_wait_for_the_disk_is_answered_at_once(
    tmp_path: Path, request: pytest.FixtureRequest, by: str
) -> None:
    if by == "python":
        request.getfixturevalue("sends_by_python")
    disk = HangingDisk()
    async with serving_topic(tmp_path, run_sync=disk, flush_disk_type="SYNC_FLUSH", sync_flush_timeout=50) as (
        server,
        client,
    ):
        await client.send("T")
        disk.hangs = True
        hurried = client.frame(V2, send_ext("T", properties="WAIT\x01false"), b"x", opaque=1)
        patient = client.frame(V2, send_ext("T"), b"x", opaque=2)
        await client.write(hurried + patient + hurried)
        assert [(answer.header.opaque, answer.header.code) for answer in await client.arrived()] == [(1, 0), (1, 0)]
        await server.pass_time(0.1)
        late = [(answer.header.opaque, answer.header.code) for answer in await client.arrived()]
        assert late == [(2, ResponseCode.FLUSH_DISK_TIMEOUT)]
        disk.move()


async def test_a_connection_may_close_while_its_group_waits(tmp_path: Path) -> None:
    disk = HangingDisk()
    async with serving_topic(tmp_path, run_sync=disk, flush_disk_type="SYNC_FLUSH") as (server, client):
        disk.hangs = True
        leaving = server.broker()
        await leaving.write(leaving.frame(V2, send_ext("T"), b"left behind"))
        await leaving.arrived()
        leaving.close()
        await server.pass_time(0.1)
        disk.move()
        answer = await client.pull("T")
        assert [message.body for message in records(answer.body)] == [b"left behind"]


async def test_of_a_group_on_a_full_disk_the_first_are_stored_and_the_rest_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FullDisk(monkeypatch)
    async with serving_topic(tmp_path, mapped_file_size_commit_log=MIB) as (_, client):
        await client.send("T", b"before")
        disk.full = True
        ext = send_ext("T")
        data = b"".join(client.frame(V2, ext, b"%03d" % each + bytes(20_000), opaque=each) for each in range(100))
        await client.write(data)
        answers = await client.arrived()
        codes = [answer.header.code for answer in answers]
        assert len(codes) == 100
        assert [answer.header.opaque for answer in answers] == list(range(100))
        stored = codes.count(0)
        assert codes == [0] * stored + [ResponseCode.SERVICE_NOT_AVAILABLE] * (100 - stored)
        assert 0 < stored < 100
        disk.full = False
        found: list[bytes] = []
        while pulled := records((await client.pull("T", 1 + len(found))).body):
            found += [message.body[:3] for message in pulled]
        assert found == [b"%03d" % each for each in range(stored)]


@pytest.mark.parametrize("flush", ["ASYNC_FLUSH", "SYNC_FLUSH"])
@pytest.mark.parametrize("path", ["grouped", "one by one"])
async def test_a_message_larger_than_a_file_is_illegal_and_the_others_are_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flush: str, path: str
) -> None:
    if path == "one by one":
        one_by_one(monkeypatch)
    async with serving_topic(tmp_path, mapped_file_size_commit_log=MIB, flush_disk_type=flush) as (_, client):
        large = client.frame(BATCH, send_ext("T", batch=True), batch_body([b"part", bytes(MIB)]), opaque=2)
        frames = [client.frame(V2, send_ext("T"), body, opaque=at) for at, body in enumerate((b"0", bytes(MIB)))]
        await client.write(b"".join([*frames, large, client.frame(V2, send_ext("T"), b"3", opaque=3)]))
        answers = sorted(await client.arrived(), key=lambda answer: answer.header.opaque)
        illegal = ResponseCode.MESSAGE_ILLEGAL
        assert [answer.header.code for answer in answers] == [0, illegal, illegal, 0]
        assert "does not fit into a commit log file" in (answers[1].header.remark or "")
        assert [message.body for message in records((await client.pull("T")).body)] == [b"0", b"3"]


@pytest.mark.usefixtures("sends_by_python")
async def test_the_reason_of_a_refused_group_is_kept_though_others_were_stored_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = FullDisk(monkeypatch)
    disk = HangingDisk()
    async with serving(
        tmp_path, run_sync=disk, flush_disk_type="SYNC_FLUSH", mapped_file_size_commit_log=MIB
    ) as server:
        client, other = server.broker(), server.broker()
        await client.create_topic("T")
        await client.send("T", bytes(1_030_000))
        disk.hangs = full.full = True
        await client.write(client.frame(V2, send_ext("T"), bytes(5000)) * 6)
        assert await client.arrived() == []
        full.full = False
        await other.write(other.frame(V2, send_ext("T"), b"since"))
        await other.arrived()
        disk.move()
        answers = await client.arrived()
        assert [answer.header.code for answer in answers] == [0] * 3 + [ResponseCode.SERVICE_NOT_AVAILABLE] * 3
        assert all("no room on the disk" in (answer.header.remark or "") for answer in answers[3:])


class Gate:
    """Refuses one topic, by every path."""

    active = True

    def admit(self, peer: Any, header: Header, body: memoryview, _proof: Any = None) -> None:
        if header.code in {RequestCode.SEND_MESSAGE, V2, BATCH} and (header.ext or {})["b"] == "Closed":
            raise NotPermitted(f"closed to {len(body)} bytes from {peer.remote_text}")


async def test_guards_are_called_before_the_group(
    groups: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = FrameDispatcher.__init__

    def guarded(self: FrameDispatcher, *args: Any, **options: Any) -> None:
        real(self, *args, **{**options, "guards": [Gate()]})

    monkeypatch.setattr(FrameDispatcher, "__init__", guarded)
    async with serving_topic(tmp_path) as (_, client):
        one, closed = (client.frame(V2, send_ext(topic), b"12345") for topic in ("T", "Closed"))
        general = client.frame(V2, send_ext("Closed"), b"12345", serialize_type=BINARY)
        batch = client.frame(BATCH, send_ext("Closed", batch=True), batch_body([b"12345"]))
        await client.write(one * 3 + closed + general + batch + one * 2)
        answers = await client.arrived()
        refused = ResponseCode.NO_PERMISSION
        # A refusal is answered at once, before the admitted sends are stored.
        assert [answer.header.code for answer in answers] == [refused, refused, refused, 0, 0, 0, 0, 0]
        assert answers[0].header.remark == answers[1].header.remark == f"closed to 5 bytes from {client.local}"
        assert groups == [5]  # the admitted sends are stored in one group
        assert (await client.pull("Closed")).header.code == ResponseCode.TOPIC_NOT_EXIST


async def test_a_bug_in_one_send_keeps_the_others_in_the_group(
    groups: list[int], broker: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real = SendPreparer.prepare

    def failing(self: SendPreparer, fields: Any, body: memoryview, *args: Any) -> Any:
        if bytes(body) == b"bang":
            raise ZeroDivisionError("a bug")
        return real(self, fields, body, *args)

    monkeypatch.setattr(SendPreparer, "prepare", failing)
    bodies = (b"one", b"bang", b"two")
    await broker.write(b"".join(broker.frame(V2, send_ext("T"), body, opaque=at) for at, body in enumerate(bodies)))
    answers = {answer.header.opaque: code_and_remark(answer) for answer in await broker.arrived()}
    assert answers == {0: (0, None), 1: (ResponseCode.SYSTEM_ERROR, "ZeroDivisionError: a bug"), 2: (0, None)}
    assert "ZeroDivisionError" in caplog.text
    assert groups == [2]


async def test_a_topic_that_cannot_be_saved_is_answered(broker: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    from rocketwire.store.errors import StoreNotWritable
    from rocketwire.store.tables.topics import TopicTable

    def broken(self: TopicTable) -> None:
        raise StoreNotWritable("here", "disk full")

    with monkeypatch.context() as patch:
        patch.setattr(TopicTable, "persist", broken)
        answer = await broker.send("New")
    # Created in memory by the first try; what matters is that the connection lives and there is an answer.
    assert answer.header.code in {0, ResponseCode.SYSTEM_ERROR}
    assert (await broker.send("T")).header.code == 0
