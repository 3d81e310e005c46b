"""When and how delayed messages are delivered."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from rocketwire.store.errors import DiskNearlyFull
from rocketwire.store.layout.consume_queue import ENTRY_STRUCT, HIGHEST_EXT_ADDRESS
from rocketwire.store.settings import DELAY_LEVELS
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.facts.record import MAX_PROPERTIES_LENGTH
from rocketwire.wire.message import decode_record
from rocketwire.wire.properties import decode_properties
from tests.server.delay.support import LEVELS, SCHEDULE, Delays
from tests.server.harness import (
    NOW,
    Client,
    Clock,
    Server,
    code_and_remark,
    mock_clock,
    properties_text,
    records,
    serving_topic,
    settle,
)
from tests.store.support import Golden, draft, remove_log_file


def test_a_message_is_delivered_when_it_is_due_and_no_sooner(delays: Delays) -> None:
    delays.send(b"a", 1)
    delays.pass_time(999)
    assert delays.delivered() == []
    assert delays.woken == 0
    delays.pass_time(1)
    assert delays.delivered() == [b"a"]
    assert delays.woken == 1


def test_each_level_is_delivered_in_its_order(delays: Delays) -> None:
    for number in range(12):
        delays.send(b"%d-%d" % (number % 3, number), number % 3 + 1)
        delays.clock.now += 100
    delays.deliver()
    assert delays.delivered() == [b"0-0"]
    delays.pass_time(60_000)
    found = delays.delivered()
    assert len(found) == 12
    for level in range(3):
        of_level = [body for body in found if body.startswith(b"%d-" % level)]
        assert of_level == sorted(of_level, key=lambda body: int(body[2:]))


def test_the_delivered_message_equals_the_one_that_was_sent(delays: Delays) -> None:
    text = properties_text(KEYS="k", UNIQ_KEY="U", DELAY="2", WAIT="true", TAGS="A", own="x")
    delays.send(b"body", 2, properties=text, flag=7, sys_flag=0, queue_id=0, reconsume_times=3, born_timestamp=NOW - 9)
    delays.pass_time(5000)
    (view,) = delays.store.get("T", 0, 0, 1).chunks
    copy = decode_record(view)
    (waiting,) = delays.store.get(SCHEDULE, 1, 0, 1).chunks
    original = decode_record(waiting)
    assert copy.properties == original.properties
    assert decode_properties(copy.properties.decode())["REAL_TOPIC"] == "T"
    assert (copy.body, copy.flag, copy.reconsume_times, copy.born_timestamp) == (b"body", 7, 3, NOW - 9)
    assert (copy.born_host, copy.store_timestamp) == (original.born_host, NOW + 5000)
    _, size, tags_code = next(iter_entries(delays, "T", 0))
    assert (size, tags_code) == (len(view), 65)
    assert delays.store.query("T", "k", 9, 0, 1 << 60).records == [view]


def iter_entries(delays: Delays, topic: str, queue_id: int) -> Iterator[tuple[int, int, int]]:
    _, entries = delays.store.queue_entries(topic, queue_id, 0, 1000)
    return ENTRY_STRUCT.iter_unpack(entries)


def test_the_pause_lasts_until_the_next_message_is_due(delays: Delays) -> None:
    assert delays.delivery.deliver() == 0  # the next level is not examined yet
    delays.deliver()
    assert delays.delivery.deliver() == 500
    delays.send(b"a", 1)
    delays.clock.now += 900
    delays.deliver()
    assert delays.delivery.deliver() == 100
    delays.clock.now += 99
    delays.deliver()
    assert delays.delivery.deliver() == 10


def test_many_due_messages_are_delivered_in_groups(delays: Delays) -> None:
    for number in range(300):
        delays.send(b"%d" % number, 1)
        delays.send(b"b%d" % number, 2)
    delays.clock.now += 5000
    sizes = []
    while not delays.delivery.deliver():
        sizes.append(len(delays.delivered()))
    assert len(delays.delivered()) == 600
    steps = [after - before for before, after in zip([0, *sizes], sizes, strict=False)]
    assert max(steps) <= 128
    # Levels alternate.
    assert [body for body in delays.delivered()[:200] if body.startswith(b"b")]


def test_large_messages_make_small_groups(tmp_path: Path) -> None:
    delays = Delays(tmp_path, commit_log_file_size=4 << 20)
    for number in range(6):
        delays.send(b"%d" % number * 200_000, 1)
    delays.clock.now += 1000
    delays.delivery.deliver()
    assert len(delays.delivered()) == 3
    delays.deliver()
    assert len(delays.delivered()) == 6
    delays.stop()


def test_offsets_survive_a_stop(delays: Delays) -> None:
    for number in range(3):
        delays.send(b"%d" % number, 1)
        delays.clock.now += 500
    delays.pass_time(-100)
    assert delays.delivered() == [b"0"]
    delays.stop()
    delays.reopen()
    assert delays.table.get(1) == 1
    assert delays.table.get(2) is None
    delays.pass_time(10_000)
    assert delays.delivered() == [b"0", b"1", b"2"]


@pytest.mark.parametrize("version", ["4.9.7", "5.5.0"])
def test_the_delivery_of_apaches_store_continues(tmp_path: Path, version: str) -> None:
    """Delivered messages stay delivered; waiting ones are delivered as Apache's own deliveries look."""
    golden = Golden(version, tmp_path / "golden")
    settings = golden.settings(golden.copy(tmp_path))
    lines = [line for line in golden.lines("expected.jsonl") if line["type"] == "message"]
    clock = Clock(max(line["storeTimestamp"] for line in lines))
    delays = Delays(
        tmp_path,
        clock=clock,
        levels=DELAY_LEVELS,
        commit_log_file_size=settings.commit_log_file_size,
        consume_queue_file_size=settings.consume_queue_file_size,
        index_slots=settings.index_slots,
        index_entries=settings.index_entries,
    )
    before = delays.store.max_physical_offset
    delays.deliver()
    assert delays.store.max_physical_offset == before
    delays.pass_time(3 * 3_600_000)
    waiting = [line for line in lines if line["topic"] == SCHEDULE and line["queueId"] >= 15]
    assert delays.delivery.delivered == len(waiting) == 3
    for line in waiting:
        topic, queue_id = line["properties"]["REAL_TOPIC"], int(line["properties"]["REAL_QID"])
        found = delays.store.get(topic, queue_id, 0, 100)
        records_there = [decode_record(chunk, at) for chunk in found.chunks for at in starts_of(chunk)]
        (copy,) = [each for each in records_there if each.properties.decode() == line["propertiesAsStored"]]
        assert (copy.born_timestamp, copy.body_crc) == (line["bornTimestamp"], line["bodyCRC"])
        assert (copy.flag, copy.sys_flag, copy.reconsume_times) == (
            line["flag"],
            line["sysFlag"],
            line["reconsumeTimes"],
        )
    delays.stop()


def starts_of(chunk: memoryview) -> Iterator[int]:
    at = 0
    while at < len(chunk):
        yield at
        at += int.from_bytes(chunk[at : at + 4])


def test_a_store_without_delayed_messages_gets_no_offsets_file(tmp_path: Path) -> None:
    delays = Delays(tmp_path)
    delays.pass_time(10_000)
    delays.persist()
    delays.stop()
    assert not (tmp_path / "store" / "config" / "delayOffset.json").exists()


@pytest.mark.parametrize(("written", "expected"), [(-5, [b"0", b"1"]), (1, [b"1"]), (2, []), (9, [])])
def test_an_offset_outside_the_queue_is_corrected(
    delays: Delays, written: int, expected: list[bytes], caplog: pytest.LogCaptureFixture
) -> None:
    delays.send(b"0", 1)
    delays.send(b"1", 1)
    delays.stop()
    delays.table.put(1, written)
    delays.table.persist()
    delays.reopen()
    delays.pass_time(1000)
    assert delays.delivered() == expected
    assert ("continues at offset" in caplog.text) is (written in {-5, 9})
    delays.send(b"later", 1)
    delays.pass_time(1000)
    assert delays.delivered() == [*expected, b"later"]


def test_messages_of_removed_levels_wait_until_the_levels_are_back(delays: Delays) -> None:
    delays.send(b"a", 3)
    delays.stop()
    delays.reopen(LEVELS[:2])
    delays.pass_time(120_000)
    assert delays.delivered() == []
    delays.send(b"b", 3)  # above the last
    delays.pass_time(5000)
    assert delays.delivered() == [b"b"]
    delays.stop()
    delays.reopen()
    delays.deliver()
    assert delays.delivered() == [b"b", b"a"]


def test_a_shorter_level_delivers_messages_that_waited_longer(delays: Delays) -> None:
    delays.send(b"a", 3)
    delays.stop()
    delays.reopen((1000, 5000, 7000))
    delays.deliver()
    assert delays.delivered() == [b"a"]


def test_a_clock_that_is_set_back_or_forward_delivers_at_the_right_time(delays: Delays) -> None:
    delays.send(b"a", 2)
    delays.pass_time(1000)
    assert delays.delivered() == []
    delays.pass_time(-3_600_000)
    assert delays.delivered() == [b"a"]
    delays.send(b"b", 2)
    delays.pass_time(3_600_000)
    assert delays.delivered() == [b"a", b"b"]


def test_entries_with_an_extension_get_their_time_from_the_record(delays: Delays) -> None:
    delays.send(b"a", 1)
    place, size, _ = next(iter_entries(delays, SCHEDULE, 0))
    delays.clock.now += 999
    assert delays.delivery._due(1, place, size, HIGHEST_EXT_ADDRESS, delays.clock.now) == NOW + 1000
    assert delays.delivery._due(1, 1 << 40, size, HIGHEST_EXT_ADDRESS, delays.clock.now) == delays.clock.now


def waiting(number: int, **properties: str) -> Any:
    """A draft of the schedule topic in a form that no broker of today writes."""
    return draft(number, topic=SCHEDULE, queue_id=0, properties=properties_text(**properties).encode())


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"DELAY": "1"}, "it does not say where it is to go"),
        ({"DELAY": "1", "REAL_TOPIC": "T"}, "it does not say where it is to go"),
        ({"DELAY": "1", "REAL_TOPIC": "T", "REAL_QID": "-1"}, "it does not say where it is to go"),
        ({"DELAY": "1", "REAL_TOPIC": "T", "REAL_QID": "9999999999"}, "it names a queue that no topic can have"),
        ({"DELAY": "1", "REAL_TOPIC": "RMQ_SYS_TRANS_HALF_TOPIC", "REAL_QID": "0"}, "it is a half message"),
        ({"DELAY": "1", "REAL_TOPIC": "a/b", "REAL_QID": "0"}, "'a/b' cannot be"),
    ],
)
def test_messages_that_cannot_be_delivered_are_skipped(
    delays: Delays, caplog: pytest.LogCaptureFixture, bad: dict[str, str], reason: str
) -> None:
    delays.send(b"before", 1)
    assert delays.store.append([waiting(1, **bad)])
    delays.send(b"after", 1)
    delays.pass_time(1000)
    assert delays.delivered() == [b"before", b"after"]
    assert (delays.delivery.delivered, delays.delivery.dropped) == (2, 1)
    assert f"delay level 1: the message at offset 1 is not delivered: {reason}" in caplog.text


def test_many_skipped_messages_share_a_log_line(delays: Delays, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(100):
        assert delays.store.append([waiting(number, DELAY="1")])
    delays.pass_time(1000)
    assert delays.delivery.dropped == 100
    assert len(caplog.records) == 1
    delays.loop.time += 10
    delays.delivery._try_to_deliver()
    (_, line) = [record.getMessage() for record in caplog.records]
    assert line.startswith("99 more, the last: delay level 1: the message at offset 99 is not delivered")


def test_a_damaged_record_is_skipped(
    delays: Delays, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    delays.send(b"a", 1)
    real = delays.store.queue_entries

    def shorter(*of: Any) -> tuple[int, bytes]:
        offset, entries = real(*of)
        return offset, b"".join(
            ENTRY_STRUCT.pack(at, size - 1, due) for at, size, due in ENTRY_STRUCT.iter_unpack(entries)
        )

    monkeypatch.setattr(delays.store, "queue_entries", shorter)
    delays.pass_time(1000)
    monkeypatch.undo()
    assert delays.delivery.dropped == 1
    assert "message record of" in caplog.text


def test_properties_that_are_no_text_are_unchanged(delays: Delays) -> None:
    text = properties_text(DELAY="1", REAL_TOPIC="T", REAL_QID="0", own="").encode()
    text += b"\xff" * (MAX_PROPERTIES_LENGTH - len(text))
    assert delays.store.append([draft(1, topic=SCHEDULE, properties=text)])
    delays.pass_time(1000)
    (view,) = delays.store.get("T", 0, 0, 1).chunks
    assert decode_record(view).properties == text


def test_a_message_that_fits_no_file_is_skipped(delays: Delays, caplog: pytest.LogCaptureFixture) -> None:
    """A copy may be larger than the waiting message: here its topic is, which only a 5.x broker writes."""
    long = "t" * 127
    text = properties_text(DELAY="1", REAL_TOPIC=long, REAL_QID="0")
    body = bytes((1 << 16) - 8 - 91 - len(SCHEDULE) - len(text))
    assert delays.store.append([draft(1, topic=SCHEDULE, queue_id=0, body=body, properties=text.encode())])
    delays.send(b"after", 1)
    delays.pass_time(1000)
    assert delays.delivered() == [b"after"]
    assert "does not fit into a commit log file" in caplog.text


def test_messages_whose_log_file_was_removed_are_skipped(delays: Delays) -> None:
    for number in range(4):
        delays.send(b"%d" % number * 30_000, 1)
    remove_log_file(delays.store)
    delays.pass_time(1000)
    assert [body[:1] for body in delays.delivered()] == [b"2", b"3"]
    assert delays.delivery.dropped == 2


def test_a_full_disk_loses_nothing(delays: Delays, caplog: pytest.LogCaptureFixture) -> None:
    delays.send(b"a", 1)
    assert delays.store.append([waiting(1, DELAY="1")])
    delays.send(b"b", 1)
    delays.store.disk_refusal = DiskNearlyFull("full")
    delays.clock.now += 1000
    for _ in range(5):
        while not delays.delivery.deliver():
            pass
        delays.clock.now += 500
    assert delays.delivered() == []
    assert caplog.text.count("delayed messages are not delivered for now") == 1
    assert delays.delivery.dropped == 0
    delays.store.disk_refusal = None
    delays.deliver()
    assert delays.delivered() == [b"a", b"b"]
    assert (delays.delivery.delivered, delays.delivery.dropped) == (2, 1)


def test_offsets_are_saved_after_the_messages_are_on_the_disk(delays: Delays) -> None:
    delays.send(b"a", 1)
    delays.send(b"b", 2)
    delays.store.flush_to(delays.store.max_physical_offset)
    delays.pass_time(1000)
    delays.persist()
    assert delays.table.get(1) is None
    delays.store.flush_to(delays.store.max_physical_offset)
    delays.persist()
    assert delays.table.get(1) == 1
    assert delays.table.log_offset == delays.store.max_physical_offset


async def test_a_delayed_message_reaches_a_waiting_consumer(broker: Client, server: Server) -> None:
    answer = await broker.send("T", b"late", properties=properties_text(DELAY="1", TAGS="A"))
    assert code_and_remark(answer) == (0, None)
    assert answer.header.ext is not None
    assert (answer.header.ext["queueId"], answer.header.ext["queueOffset"]) == ("0", "0")
    consumer = server.broker()
    await consumer.hold("T", seconds=15)
    await server.pass_time(0.9)
    assert await consumer.arrived() == []
    await server.pass_time(0.1)
    await server.pass_time(0.1)
    (found,) = await consumer.arrived()
    (message,) = records(found.body)
    assert (message.body, message.store_timestamp) == (b"late", NOW + 1000)


async def test_sends_are_answered_while_many_messages_are_due(broker: Client, server: Server) -> None:
    for _ in range(10):
        group = b"".join(broker.frame(RequestCode.SEND_MESSAGE_V2, delayed_ext()) for _ in range(200))
        await broker.write(group)
        await settle()
    await broker.arrived()
    await server.pass_time(1.0)
    other = server.broker()
    assert (await other.send("T", b"plain", queue_id=1)).header.code == 0
    await settle()
    assert (await other.pull("T", 1999)).header.code == 0


def delayed_ext() -> dict[str, str]:
    from tests.server.harness import send_ext

    return send_ext("T", properties=properties_text(DELAY="1"))


async def test_offsets_are_saved_every_ten_seconds_and_at_the_stop(tmp_path: Path) -> None:
    clock = Clock()
    path = tmp_path / "config" / "delayOffset.json"
    async with serving_topic(tmp_path, clock=clock) as (server, client):
        for _ in range(2):
            await client.send("T", properties=properties_text(DELAY="1"))
            await server.pass_time(25.0, step=0.5)
            assert path.exists()
            written = path.read_bytes()
        await client.send("T", properties=properties_text(DELAY="1"))
        await server.pass_time(1.5, step=0.5)
        assert path.read_bytes() == written
        assert b"{1:2" in written
    assert b"{1:3" in path.read_bytes()


async def test_a_fault_does_not_end_the_service(
    broker: Client, server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from rocketwire.store.store import MessageStore

    def no_descriptor(*_: object) -> Any:
        raise OSError(24, "Too many open files")

    await broker.send("T", b"late", properties=properties_text(DELAY="1"))
    with monkeypatch.context() as patch:
        patch.setattr(MessageStore, "queue_entries", no_descriptor)
        await server.pass_time(2.0, step=0.5)
    assert (
        caplog.record_tuples.count(
            ("rocketwire.server.delay.delivery", logging.ERROR, "delayed messages: [Errno 24] Too many open files")
        )
        >= 1
    )
    await server.pass_time(1.0, step=0.5)
    assert [message.body for message in records((await broker.pull("T")).body)] == [b"late"]


async def test_requests_are_served_while_overdue_messages_are_delivered(tmp_path: Path) -> None:
    """Overdue messages take their share of the time, which passes with each reading; messages on time do not wait."""
    delays = Delays(tmp_path, commit_log_file_size=1 << 22, consume_queue_file_size=20 * 4096)
    for number in range(3000):
        delays.send(b"%d" % number, 1)
    delays.clock.now += 1500
    loop = delays.loop
    loop.keep_busy()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(delays.delivery.run)
        await settle()
        assert delays.delivery.delivered == 3000
        assert loop.rests == []
        for number in range(3000):
            delays.send(b"%d" % number, 1)
        delays.clock.now += 60_000
        mock_clock().jump(1)
        await settle()
        nursery.cancel_scope.cancel()
    assert delays.delivery.delivered == 6000
    assert len(loop.rests) > 3000 / 128 / 2
    delays.stop()
