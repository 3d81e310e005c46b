"""The rounds of the back-check: which producer gets a request, which messages are stored again, dropped, or wait."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio

from rocketwire.server.core.errors import MessageIllegal
from rocketwire.server.messages.stored_message import StoredMessage
from rocketwire.server.transactions.half import HALF, OP
from rocketwire.server.transactions.outcomes import TransactionResolver
from rocketwire.store.errors import DiskFull
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.message import decode_record
from tests.server.harness import FakePeer, mock_clock, settle
from tests.server.transactions.setup import GAVE_UP, REAL, ROLLBACK, Setup, place_of

TIME_OUT = 6000
HOUR = 3_600_000


def producer(setup: Setup, group: str = "P", name: str = "127.0.0.1:1000") -> FakePeer:
    peer = FakePeer(name)
    setup.clients.register_producer(peer, name, group, language="JAVA", version=407)
    return peer


async def check(setup: Setup, passed: int = 60_000) -> None:
    setup.clock.now += passed
    await setup.transactions.check()


def checks(setup: Setup) -> list[str | None]:
    """The number of back-checks of each undecided half message."""
    return [half.decoded_properties().get("TRANSACTION_CHECK_TIMES") for _, half in setup.state.undecided()]


async def test_a_producer_is_queried_about_a_message_that_is_old_enough(setup: Setup) -> None:
    peer = producer(setup)
    setup.send(body=b"one")
    await check(setup, TIME_OUT - 1)
    assert peer.pushed == []
    await check(setup, 1)
    ((code, ext),) = peer.pushed
    _, copy = setup.messages(HALF)
    assert code == RequestCode.CHECK_TRANSACTION_STATE
    assert ext["tranStateTableOffset"] == "1"
    assert ext["commitLogOffset"] == str(copy.physical_offset)
    record = decode_record(peer.pushed_bodies[0])
    assert (record.topic, record.queue_id, record.body) == (*REAL, b"one")
    assert copy.decoded_properties()["TRANSACTION_CHECK_TIMES"] == "1"
    assert (copy.flag, bytes(copy.body)) == (7, b"one")
    assert setup.undecided == [1]
    assert setup.bodies(OP) == [b"0"]
    assert setup.woken == 2


async def test_a_round_queries_once_about_each_undecided_message(setup: Setup) -> None:
    peer = producer(setup)
    places = [setup.send(f"{number}") for number in range(4)]
    setup.decide(places[1])
    setup.decide(places[2], ROLLBACK)
    await check(setup)
    assert [ext["msgId"] for _, ext in peer.pushed] == ["0", "3"]
    assert setup.undecided == [4, 5]
    await check(setup)
    assert [ext["msgId"] for _, ext in peer.pushed] == ["0", "3"] * 2
    assert checks(setup) == ["2", "2"]


async def test_the_first_young_message_ends_the_round(setup: Setup) -> None:
    peer = producer(setup)
    setup.send("old")
    setup.clock.now += 1000
    setup.send("young")
    setup.clock.now -= 1000
    setup.send("old too")
    await check(setup, TIME_OUT)
    assert [ext["msgId"] for _, ext in peer.pushed] == ["old"]


async def test_a_message_from_the_future_is_checked(setup: Setup) -> None:
    """Its producer's clock is wrong, so its age is unknown."""
    peer = producer(setup)
    setup.send()
    await check(setup, -1000)
    assert peer.pushed == []
    setup.clock.now += 1
    (half,) = setup.messages(HALF)
    draft = half.draft(*HALF, half.decoded_properties() | {"UNIQ_KEY": "future"})
    draft.born_timestamp += 3_600_000
    setup.store.append([draft])
    setup.decide(place_of(half), ROLLBACK)
    await check(setup, 1)
    assert [ext["msgId"] for _, ext in peer.pushed] == ["future"]


@pytest.mark.parametrize("jump", [-24 * HOUR, -HOUR, HOUR, 24 * HOUR])
async def test_there_is_one_check_a_round_when_the_clock_is_set(setup: Setup, jump: int) -> None:
    peer = producer(setup)
    setup.send("before")
    setup.send("immune", CHECK_IMMUNITY_TIME_IN_SECONDS="100")
    setup.clock.now += jump
    setup.send("after")
    for rounds in range(1, 4):
        await check(setup)
        checked = [ext["msgId"] for _, ext in peer.pushed]
        assert [checked.count(each) for each in ("before", "after")] == [rounds, rounds]
        assert len(setup.undecided) == 3
    assert checked.count("immune") >= 2


async def test_a_clock_that_is_set_back_by_little_ends_the_round(setup: Setup) -> None:
    """It is as late again before any message is old enough."""
    peer = producer(setup)
    setup.send()
    await check(setup, 1 - TIME_OUT)
    assert peer.pushed == []
    await check(setup, -1)
    assert len(peer.pushed) == 1


@pytest.mark.parametrize(("ahead", "checks"), [(99_000, 0), (100_000, 1)])
async def test_immunity_counts_unless_the_producers_clock_is_ahead_by_more(
    setup: Setup, ahead: int, checks: int
) -> None:
    peer = producer(setup)
    setup.send("first")
    (half,) = setup.messages(HALF)
    setup.decide(place_of(half), ROLLBACK)
    immune = {"UNIQ_KEY": "immune", "CHECK_IMMUNITY_TIME_IN_SECONDS": "100"}
    draft = half.draft(*HALF, half.decoded_properties() | immune)
    draft.born_timestamp += ahead + 1
    setup.store.append([draft])
    await check(setup, 1)
    assert len(peer.pushed) == checks


async def test_producers_of_the_group_are_queried_one_after_the_other(setup: Setup) -> None:
    peers = [producer(setup, name=f"127.0.0.1:{port}") for port in (1, 2, 3)]
    stranger = producer(setup, "Q")
    peers[1].congested = True
    for number in range(4):
        setup.send(f"{number}")
    await check(setup)
    assert [len(peer.pushed) for peer in (*peers, stranger)] == [2, 0, 2, 0]
    setup.clients.peer_closed(peers[0])
    await check(setup)
    assert [len(peer.pushed) for peer in (*peers, stranger)] == [2, 0, 6, 0]


async def test_a_round_logs_all_messages_without_a_producer_once(
    setup: Setup, caplog: pytest.LogCaptureFixture
) -> None:
    def logged() -> list[str]:
        lines = [record.getMessage() for record in caplog.records]
        caplog.clear()
        return lines

    caplog.set_level("INFO", "rocketwire.server.transactions")
    for number in range(24):
        setup.send(f"{number}")
    for _ in range(2):
        await check(setup)
        (line,) = logged()
        assert line.endswith("messages 24 have no producer here to be asked, of producer group P (24)")
    producer(setup)
    await check(setup)
    assert logged() == []


async def test_a_check_without_a_producer_counts(setup: Setup) -> None:
    setup.send()
    await check(setup)
    await check(setup)
    assert checks(setup) == ["2"]
    peer = producer(setup)
    await check(setup)
    assert len(peer.pushed) == 1


async def test_a_check_does_not_count_while_all_producers_have_too_much_to_read(setup: Setup) -> None:
    """Otherwise a message would be dropped without a query to any producer."""
    peers = [producer(setup, name=f"127.0.0.1:{port}") for port in (1, 2)]
    setup.send()
    for peer in peers:
        peer.congested = True
    for _ in range(16):
        await check(setup)
    assert (setup.undecided, checks(setup)) == ([0], [None])
    peers[1].congested = False
    await check(setup)
    assert [len(peer.pushed) for peer in peers] == [0, 1]
    assert checks(setup) == ["1"]


async def test_after_the_last_check_a_message_is_moved_to_the_topic_of_dropped_ones(setup: Setup) -> None:
    peer = producer(setup)
    setup.send(body=b"one")
    for _ in range(16):
        await check(setup)
    assert len(peer.pushed) == 15
    assert setup.undecided == []
    (message,) = setup.messages(GAVE_UP)
    properties = message.decoded_properties()
    assert (bytes(message.body), message.sys_flag, message.flag) == (b"one", 0, 7)
    assert (properties["TRANSACTION_CHECK_TIMES"], properties["REAL_TOPIC"], properties["WAIT"]) == ("15", "T", "true")
    config = setup.topics.get(GAVE_UP[0])
    assert config is not None
    assert (config.read_queue_nums, config.write_queue_nums, config.perm) == (1, 1, 6)


async def test_a_message_older_than_the_retention_is_dropped(setup: Setup) -> None:
    setup.live.update({"fileReservedTime": "1"})
    setup.send(body=b"one")
    await check(setup, 3_600_000)
    assert setup.bodies(GAVE_UP) == []
    await check(setup, 1)
    assert setup.bodies(GAVE_UP) == [b"one"]


@pytest.mark.parametrize(
    ("text", "counted"),
    [("", "1"), ("x", "0"), ("-3", "0"), ("7", "8"), (str(2**31), "0"), ("9" * 5000, "0")],
    ids=["none", "word", "negative", "number", "no int", "long"],
)
async def test_any_text_may_stand_for_the_number_of_checks(setup: Setup, text: str, counted: str) -> None:
    properties: dict[str, str] = {"TRANSACTION_CHECK_TIMES": text} if text else {}
    setup.send("K", b"body", **properties)
    await check(setup)
    assert checks(setup) == [counted]


async def test_an_immune_message_is_stored_again_unchecked(setup: Setup) -> None:
    peer = producer(setup)
    place = setup.send("immune", b"one", CHECK_IMMUNITY_TIME_IN_SECONDS="100")
    setup.send("other")
    await check(setup, TIME_OUT)
    assert [ext["msgId"] for _, ext in peer.pushed] == ["other"]
    await check(setup, TIME_OUT)
    assert [ext["msgId"] for _, ext in peer.pushed] == ["other"] * 2
    halves = [half.decoded_properties() for _, half in setup.state.undecided()]
    assert [half.get("TRAN_PREPARED_QUEUE_OFFSET") for half in halves] == ["0", None]
    assert [half.get("TRANSACTION_CHECK_TIMES") for half in halves] == [None, "2"]
    setup.decide(place)
    assert setup.bodies() == [b"one"]


@pytest.mark.parametrize(
    ("seconds", "checks"),
    [("1", 1), ("7", 0), ("soon", 1), ("-1", 1), (str(2**63), 1), ("9" * 5000, 1)],
    ids=["over", "lasting", "word", "negative", "no long", "long"],
)
async def test_immunity_replaces_the_time_out(setup: Setup, seconds: str, checks: int) -> None:
    peer = producer(setup)
    setup.send(CHECK_IMMUNITY_TIME_IN_SECONDS=seconds)
    await check(setup, TIME_OUT)
    assert len(peer.pushed) == checks


async def test_undecided_messages_outlive_their_log_files(tmp_path: Path) -> None:
    setup = Setup(tmp_path / "store", commit_log_file_size=8192)
    setup.send(body=b"one")
    for number in range(8):
        setup.decide(setup.send(f"other {number}", bytes(3000)), ROLLBACK)
        if number % 3 == 2:
            await check(setup)
    while setup.store._log.start + 2 * 8192 < setup.store.max_physical_offset:
        segment = setup.store.retention.detach_log_file(0, 0, forcibly=True)
        assert segment is not None
        segment.remove()
    setup.reopen()
    assert len(setup.undecided) == 1
    ((_, half),) = setup.state.undecided()
    setup.decide(place_of(half))
    assert setup.bodies() == [b"one"]
    setup.close()


async def test_a_message_whose_file_is_missing_is_skipped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    setup = Setup(tmp_path / "store", commit_log_file_size=4096)
    for number in range(8):
        setup.send(f"{number}", bytes(1500))
    first = setup.state.first
    segment = setup.store.retention.detach_log_file(0, 0, forcibly=True)
    assert segment is not None
    segment.remove()
    await check(setup)
    assert (first, setup.undecided) == (0, list(range(8, 14)))
    (line,) = [each.message for each in caplog.records if "gone" in each.message]
    assert "2 are gone from the log, undecided" in line
    setup.close()


async def test_a_full_disk_ends_a_round_and_the_next_continues(setup: Setup, caplog: pytest.LogCaptureFixture) -> None:
    peer = producer(setup)
    setup.send()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(setup.transactions.run)
        setup.store.disk_refusal = DiskFull("store", "full")
        await pass_time(setup, 61)
        assert peer.pushed == []
        assert "transaction check: " in caplog.text
        setup.store.disk_refusal = None
        await pass_time(setup, 61)
        assert len(peer.pushed) == 1
        nursery.cancel_scope.cancel()


async def test_a_disk_error_ends_a_round_and_the_next_continues(
    setup: Setup, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    peer = producer(setup)
    setup.send()

    def no_descriptor(*_: object, **__: object) -> None:
        raise OSError(24, "too many open files")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(setup.transactions.run)
        with monkeypatch.context() as patch:
            patch.setattr(setup.store, "get", no_descriptor)
            await pass_time(setup, 61)
        assert "transaction check: [Errno 24] too many open files" in caplog.text
        await pass_time(setup, 61)
        assert len(peer.pushed) == 1
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("error", [MessageIllegal("bad"), RuntimeError("bad")], ids=["refused", "unforeseen"])
async def test_a_message_that_cannot_be_checked_does_not_block_others(
    setup: Setup, error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    peer = producer(setup)
    for key in ("first", "bad", "last"):
        setup.send(key)
    real = StoredMessage.decoded_properties

    def decoded(message: StoredMessage) -> dict[str, str]:
        properties = real(message)
        if properties["UNIQ_KEY"] == "bad":
            raise error
        return properties

    monkeypatch.setattr(StoredMessage, "decoded_properties", decoded)
    await check(setup)
    assert [ext["msgId"] for _, ext in peer.pushed] == ["first", "last"]
    assert "half message 1 cannot be checked" in caplog.text
    assert setup.undecided == [1, 3, 4]


async def test_a_clock_that_goes_back_in_a_round_uses_up_no_checks(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A round ends at the end that the queue had at its begin, though its copies look older."""
    peer = producer(setup)
    for number in range(3):
        setup.send(f"{number}")
    real = TransactionResolver.store_outcome

    def settle_later(*arguments: Any) -> Any:
        setup.clock.now -= 3000
        return real(*arguments)

    monkeypatch.setattr(TransactionResolver, "store_outcome", settle_later)
    await check(setup)
    assert len(peer.pushed) == 3
    assert checks(setup) == ["1", "1", "1"]


async def pass_time(setup: Setup, seconds: int) -> None:
    for _ in range(seconds):
        await settle()
        setup.clock.now += 1000
        mock_clock().jump(1)
        await settle()


async def test_rounds_come_at_the_interval_in_force(setup: Setup) -> None:
    peer = producer(setup)
    setup.send()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(setup.transactions.run)
        await pass_time(setup, 59)
        assert setup.topics.get(HALF[0]) is None
        await pass_time(setup, 1)
        assert len(peer.pushed) == 1
        assert setup.topics.get(HALF[0]) is not None
        setup.live.update({"transactionCheckInterval": "5000"})
        await pass_time(setup, 15)
        assert len(peer.pushed) == 4
        nursery.cancel_scope.cancel()


async def test_requests_are_served_while_a_round_processes_a_backlog(
    setup: Setup, caplog: pytest.LogCaptureFixture
) -> None:
    """The round takes its share of the time, which passes with each piece of work; its log has one line."""
    caplog.set_level("INFO", "rocketwire.server.transactions")
    for number in range(2000):
        setup.send(f"{number}")
    loop = setup.loop
    loop.keep_busy()
    setup.reopen()
    setup.clock.now += 60_000
    began, served = loop.time, loop.requests
    await setup.transactions.check()
    assert setup.undecided == list(range(2000, 4000))
    assert loop.requests - served > 2000 / 40
    assert loop.rested > 0.55 * (loop.time - began)  # each reading of the time takes some of it
    assert len(caplog.records) == 1


async def test_dropped_messages_are_logged_in_one_line(setup: Setup, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(100):
        setup.send(f"{number}", TRANSACTION_CHECK_TIMES="15")
    await check(setup)
    assert [record.getMessage() for record in caplog.records] == [
        "transaction check: of the undecided half messages 100 were given up and moved to TRANS_CHECK_MAX_TIME_TOPIC"
    ]
    assert len(setup.messages(GAVE_UP)) == 100


async def test_decisions_may_come_during_a_round(setup: Setup) -> None:
    places = [setup.send(f"{number}", b"%d" % number) for number in range(300)]
    setup.reopen()
    setup.clock.now += 60_000

    async def decide() -> None:
        for place in places[::3]:
            setup.decide(place)
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(decide)
        nursery.start_soon(setup.transactions.check)
    assert sorted(map(int, setup.bodies())) == list(range(0, 300, 3))
    assert len(setup.undecided) == 200


async def test_a_copy_that_apache_stored_again_is_not_a_second_message(setup: Setup) -> None:
    """Apache's broker stores no op message for the first copy, which lies before its offset, if that is saved."""
    setup.send(body=b"one")
    (half,) = setup.messages(HALF)
    setup.store.append([half.draft(*HALF, half.decoded_properties() | {"TRANSACTION_CHECK_TIMES": "1"})])
    setup.send("other")
    setup.reopen()
    assert setup.undecided == [0, 1, 2]
    peer = producer(setup)
    await check(setup)
    assert len(peer.pushed) == 2
    assert checks(setup) == ["2", "1"]


async def test_a_message_whose_copy_would_be_too_large_is_dropped(setup: Setup) -> None:
    size = 32767 - len(setup_properties(setup))
    setup.send("large", b"large", x="x" * (size - 3))
    await check(setup)
    assert setup.bodies(GAVE_UP) == [b"large"]
    assert setup.undecided == []


def setup_properties(setup: Setup) -> bytes:
    place = setup.send("large")
    (half,) = setup.messages(HALF)
    setup.decide(place, ROLLBACK)
    return half.properties
