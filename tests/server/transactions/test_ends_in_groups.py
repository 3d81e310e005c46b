"""Ends of transactions that are grouped by the fast path have the effect of those served one by one."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rocketwire.server.core.metrics import Metrics
from rocketwire.server.messages.page_cache import PageCacheGuard
from rocketwire.server.transactions.half import OP
from rocketwire.server.transactions.outcomes import TransactionResolver
from rocketwire.store.errors import RecordTooLarge, StoreClosed
from rocketwire.store.store import MessageStore
from rocketwire.wire.facts.codes import FLAG_ONEWAY, RequestCode, ResponseCode, SysFlag
from rocketwire.wire.frame import Frame
from rocketwire.wire.message import MessageRecord, decode_record
from tests.server.harness import (
    BINARY,
    Client,
    HangingDisk,
    code_and_remark,
    free_port,
    one_by_one,
    properties_text,
    pull_ext,
    records,
    send_ext,
    serving_topic,
    settle,
)

END = RequestCode.END_TRANSACTION
COMMIT, ROLLBACK = int(SysFlag.TRANSACTION_COMMIT), int(SysFlag.TRANSACTION_ROLLBACK)
LOG_FILE = 1 << 20
HALVES = 8


class Sent(NamedTuple):
    """The offsets of a message: physical, and in its queue."""

    place: int
    offset: int


def offsets_of(answer: Frame) -> Sent:
    ext = answer.header.ext or {}
    return Sent(int(ext["msgId"][16:], 16), int(ext["queueOffset"]))


async def sent(client: Client, number: int) -> Sent:
    return offsets_of(await client.send("T", b"plain", unique_key=f"PLAIN{number}", tags="A", keys=f"k{number}"))


async def prepared(client: Client, number: int) -> Sent:
    properties = properties_text(TRAN_MSG="true", PGROUP="P", UNIQ_KEY=f"HALF{number}", WAIT="true")
    return offsets_of(await client.send("T", b"half", properties=properties, sys_flag=SysFlag.TRANSACTION_PREPARED))


def end(message: Sent, outcome: int = COMMIT, **changes: str) -> dict[str, str]:
    fields = {
        "producerGroup": "P",
        "tranStateTableOffset": str(message.offset),
        "commitLogOffset": str(message.place),
        "commitOrRollback": str(outcome),
        "fromTransactionCheck": "false",
        "msgId": "X",
    }
    return fields | changes


def requests(plain: Sequence[Sent], halves: Sequence[Sent]) -> list[tuple[int, dict[str, str], int]]:
    """Code, header and flag of all requests that a client may send."""
    missing = Sent(1 << 40, 0)
    return [
        (END, end(halves[0]), 0),
        (END, end(halves[1], ROLLBACK), 0),
        (END, end(halves[2]), FLAG_ONEWAY),
        (END, end(halves[3]), 0),
        (END, end(halves[3]), 0),
        (END, end(halves[3], ROLLBACK), 0),
        (END, end(halves[4], 0), 0),
        (END, end(halves[4], 99), 0),
        (END, end(halves[4], producerGroup="Q"), 0),
        (END, end(halves[4], tranStateTableOffset="77"), 0),
        (END, end(halves[4], commitLogOffset="x"), 0),
        (END, end(missing), 0),
        (END, end(plain[0]), 0),
        (END, {}, 0),
        (END, end(halves[5]), 0),
        (END, end(halves[6], ROLLBACK), FLAG_ONEWAY),
    ]


async def answers_and_log(store: Path, seed: int, **changes: Any) -> Any:
    """The answers to all the requests, sent at once in an order by the seed, and the resulting log."""
    async with serving_topic(
        store,
        queues=2,
        listen_port=free_port(),
        broker_ip1="10.9.8.7",
        advertised_port=10911,
        mapped_file_size_commit_log=LOG_FILE,
        **changes,
    ) as (_, client):
        plain = [await sent(client, number) for number in range(4)]
        halves = [await prepared(client, number) for number in range(HALVES)]
        all_ends = requests(plain, halves)
        order = list(range(len(all_ends)))
        random.Random(seed).shuffle(order)
        frames = [client.frame(all_ends[at][0], all_ends[at][1], flag=all_ends[at][2], opaque=at) for at in order]
        await client.write(b"".join(frames))
        answers = sorted(await client.arrived(), key=lambda frame: frame.header.opaque)
        assert [frame.header.opaque for frame in answers] == [at for at, one in enumerate(all_ends) if not one[2]]
    (log,) = (store / "commitlog").iterdir()
    return [(frame.header, bytes(frame.body)) for frame in answers], list(logged(log.read_bytes()))


def logged(log: bytes) -> Iterator[MessageRecord]:
    """All messages of a log's file, without the hosts' ports."""
    at = 0
    while size := int.from_bytes(log[at : at + 4]):
        message = decode_record(log, at)
        yield replace(message, born_host=(message.born_host[0], 0))
        at += size


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("flush", ["ASYNC_FLUSH", "SYNC_FLUSH"])
async def test_both_paths_have_the_same_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, flush: str
) -> None:
    grouped = await answers_and_log(tmp_path / "grouped", seed, flush_disk_type=flush)
    one_by_one(monkeypatch)
    general = await answers_and_log(tmp_path / "general", seed, flush_disk_type=flush)
    assert grouped == general


@pytest.fixture
def groups(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The topics of the groups that the store receives; to be requested before `server`."""
    found: list[list[str]] = []
    real = MessageStore.append

    def noting(self: MessageStore, drafts: Any) -> Any:
        found.append([draft.topic for draft in drafts])
        return real(self, drafts)

    monkeypatch.setattr(MessageStore, "append", noting)
    return found


@pytest.fixture
async def halves(broker: Client) -> list[Sent]:
    """Four half messages."""
    await broker.create_topic("T", 1)
    return [await prepared(broker, number) for number in range(4)]


@pytest.mark.usefixtures("sends_by_python")
async def test_those_of_one_read_are_one_group(groups: list[list[str]], broker: Client, halves: list[Sent]) -> None:
    groups.clear()
    plain = broker.frame(RequestCode.SEND_MESSAGE_V2, send_ext("T"), b"x")
    ends = [broker.frame(END, end(half, ROLLBACK if half is halves[0] else COMMIT)) for half in halves]
    await broker.write(ends[0] + plain + b"".join(ends[1:]))
    assert [answer.header.code for answer in await broker.arrived()] == [0] * 5
    assert groups == [[OP[0], "T"] + ["T", OP[0]] * 3]


@pytest.mark.usefixtures("sends_by_python")
async def test_another_request_ends_the_group(groups: list[list[str]], broker: Client, halves: list[Sent]) -> None:
    ends = [broker.frame(END, end(half)) for half in halves]
    groups.clear()
    await broker.write(ends[0] + ends[1] + broker.frame(RequestCode.PULL_MESSAGE, pull_ext("T")) + ends[2])
    await broker.arrived()
    assert list(map(len, groups)) == [4, 2]


@pytest.mark.usefixtures("sends_by_python")
async def test_a_second_decision_waits_for_the_first(
    groups: list[list[str]], broker: Client, halves: list[Sent]
) -> None:
    groups.clear()
    ends = [end(halves[0]), end(halves[1]), end(halves[0], ROLLBACK), end(halves[2])]
    await broker.write(b"".join(broker.frame(END, ext) for ext in ends))
    assert [answer.header.code for answer in await broker.arrived()] == [0] * 4
    assert groups == [["T", OP[0]] * 2, ["T", OP[0]]]


@pytest.mark.parametrize("error", [StoreClosed("here"), RecordTooLarge(5, 4)])
async def test_a_message_that_the_store_refuses_stays_undecided(
    broker: Client, halves: list[Sent], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    frames = [broker.frame(END, end(half), flag=flag) for half, flag in zip(halves, (0, FLAG_ONEWAY), strict=False)]
    with monkeypatch.context() as patch:
        patch.setattr(MessageStore, "append", lambda *_: [])
        patch.setattr(MessageStore, "append_error", error)
        await broker.write(b"".join(frames))
        (grouped,) = await broker.arrived()
        await broker.write(broker.frame(END, end(halves[0]), serialize_type=BINARY))
        (general,) = await broker.arrived()
    assert code_and_remark(grouped) == code_and_remark(general)
    assert grouped.header.code == ResponseCode.SERVICE_NOT_AVAILABLE
    await broker.write(b"".join(frames))
    assert [answer.header.code for answer in await broker.arrived()] == [0]
    assert (await broker.pull("T")).header.code == 0


@pytest.mark.parametrize("way", [0, BINARY])
@pytest.mark.parametrize(("waits", "wait"), [(True, "true"), (False, "false")])
async def test_a_commit_is_answered_when_it_is_on_the_disk(tmp_path: Path, way: int, waits: bool, wait: str) -> None:
    disk = HangingDisk()
    async with serving_topic(tmp_path, run_sync=disk, flush_disk_type="SYNC_FLUSH") as (_, client):
        properties = properties_text(TRAN_MSG="true", PGROUP="P", UNIQ_KEY="K", WAIT=wait)
        sends = [client.send("T", b"x", properties=properties, sys_flag=SysFlag.TRANSACTION_PREPARED) for _ in range(2)]
        halves = [offsets_of(await each) for each in sends]
        disk.hangs = True
        await client.write(client.frame(END, end(halves[0], ROLLBACK), serialize_type=way))
        assert [answer.header.code for answer in await client.arrived()] == [0]
        await client.write(client.frame(END, end(halves[1]), serialize_type=way))
        again = client.frame(END, end(halves[1]), opaque=7)
        await client.write(again)
        answers = await client.arrived()
        # A decided message is not stored once more, though there was no answer yet.
        assert [answer.header.opaque == 7 for answer in answers] == ([True] if waits else [False, True])
        disk.move()
        assert len(await client.arrived()) == waits
        assert len(records((await client.pull("T")).body)) == 1


@pytest.mark.parametrize("way", [0, BINARY])
async def test_a_disk_that_takes_too_long_is_answered(tmp_path: Path, way: int) -> None:
    disk = HangingDisk()
    async with serving_topic(tmp_path, run_sync=disk, flush_disk_type="SYNC_FLUSH", sync_flush_timeout=50) as (
        server,
        client,
    ):
        half = await prepared(client, 0)
        disk.hangs = True
        await client.write(client.frame(END, end(half), serialize_type=way))
        await settle()
        await server.pass_time(0.1)
        answers = [answer.header.code for answer in await client.arrived()]
        assert answers == [ResponseCode.FLUSH_DISK_TIMEOUT]
        disk.move()


@pytest.mark.usefixtures("sends_by_python")
async def test_outcomes_are_counted_as_stored(
    broker: Client, halves: list[Sent], monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[int] = []
    monkeypatch.setattr(Metrics, "stored", lambda _self, messages, _size: counted.append(messages))
    await broker.write(b"".join(broker.frame(END, end(half)) for half in halves))
    await broker.arrived()
    await broker.request(END, end(await prepared(broker, 9), ROLLBACK), serialize_type=BINARY)
    assert counted == [8, 1, 1]


async def test_a_bug_in_one_end_affects_no_other_request(
    broker: Client, halves: list[Sent], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(TransactionResolver, "drafts", failing)
    sends = [broker.frame(RequestCode.SEND_MESSAGE_V2, send_ext("T"), b"x", opaque=opaque) for opaque in (1, 4)]
    ends = [broker.frame(END, end(halves[0]), opaque=2), broker.frame(END, end(halves[1]), opaque=3, flag=FLAG_ONEWAY)]
    await broker.write(sends[0] + ends[0] + ends[1] + sends[1])
    answers = {answer.header.opaque: code_and_remark(answer) for answer in await broker.arrived()}
    assert answers == {1: (0, None), 2: (ResponseCode.SYSTEM_ERROR, "ZeroDivisionError: a bug"), 4: (0, None)}
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize("way", [0, BINARY])
async def test_decisions_behind_a_slow_append_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: int
) -> None:
    guards: list[PageCacheGuard] = []
    real = PageCacheGuard.__init__

    def noting(self: PageCacheGuard, *args: Any, **options: Any) -> None:
        real(self, *args, **options)
        guards.append(self)

    monkeypatch.setattr(PageCacheGuard, "__init__", noting)
    async with serving_topic(tmp_path) as (_, client):
        half = await prepared(client, 0)
        (guard,) = guards
        for busy, code in ((True, ResponseCode.SYSTEM_BUSY), (False, ResponseCode.SUCCESS)):
            guard.is_busy = busy
            assert (await client.request(END, end(half), serialize_type=way)).header.code == code
        assert len(records((await client.pull("T")).body)) == 1
