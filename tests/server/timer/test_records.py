"""Timer records read for the index and stored again: as Apache did it, and against records read the general way."""

from __future__ import annotations

import mmap
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.server.messages.restoring import DestinationInvalid
from rocketwire.server.messages.stored_message import stored_message
from rocketwire.server.timer.records import (
    TIMER_ROOM,
    NotYetDue,
    RecordLost,
    cancelled_message,
    drafts_to_store,
    index_entries,
    index_entry,
    restored_draft,
    rolled_draft,
)
from rocketwire.store.append.drafts import Draft
from rocketwire.store.layout.consume_queue import ENTRY_SIZE, ENTRY_STRUCT
from rocketwire.store.read.reader import LogPart
from rocketwire.store.timer.units import DueTimerUnit, TimerRecord
from rocketwire.wire.java import string_hash
from rocketwire.wire.message import MessageRecord, encode_record
from rocketwire.wire.names import TIMER_TOPIC
from rocketwire.wire.properties import decode_properties
from rocketwire.wire.stored_properties import tags_code
from tests.server.messages.test_restoring import REAL, items
from tests.wire import golden
from tests.wire.test_message import messages


def part_of(*texts: str) -> tuple[LogPart, list[DueTimerUnit]]:
    """A file of the log with timer records behind others; and their offsets."""
    data = mmap.mmap(-1, 1 << 16)
    start = 1 << 30
    at = 50
    due = []
    for text in texts:
        record = timer_record(text, start + at)
        data[at : at + len(record)] = record
        due.append(DueTimerUnit(start + at, len(record), 1000 + at, at, rolls=False))
        at += len(record)
    return LogPart(data, start, start + at), due


def record_in(part: LogPart, each: DueTimerUnit) -> bytes:
    return part.data[each.physical_offset - part.start : each.physical_offset - part.start + each.record_size]


def timer_chains() -> list[list[tuple[bytes, dict[str, Any]]]]:
    """The timer messages of the golden 5.5.0 log: the records of each, in the order in which they were stored."""
    files = golden.store_files("5.5.0", "commitlog")
    chains = defaultdict(list)
    for row in golden.expected("5.5.0"):
        properties = row.get("properties") or {}
        if "TIMER_OUT_MS" in properties:
            at = row["physicalOffset"] - int(row["file"])
            record = files[row["file"]][at : at + row["storeSize"]]
            chains[properties["UNIQ_KEY"], properties.get("TIMER_DEL_UNIQKEY")].append((record, row))
    return list(chains.values())


def test_a_timer_message_is_delivered_and_rolled_as_by_apache() -> None:
    stored_again = []
    for chain in timer_chains():
        for (record, waited), (_, row) in pairwise(chain):
            properties = row["properties"]
            enqueued, now = int(properties["TIMER_ENQUEUE_MS"]), int(properties["TIMER_DEQUEUE_MS"])
            again = rolled_draft if row["topic"] == TIMER_TOPIC else restored_draft
            draft = again(record, physical_offset=waited["physicalOffset"], enqueued=enqueued, now=now)
            assert decode_properties(draft.properties.decode()) == properties
            assert (draft.topic, draft.queue_id) == (row["topic"], row["queueId"])
            assert (draft.flag, draft.sys_flag, draft.reconsume_times) == (
                row["flag"],
                row["sysFlag"],
                row["reconsumeTimes"],
            )
            assert (draft.born_timestamp, draft.body) == (
                row["bornTimestamp"],
                bytes(stored_message(memoryview(record)).body),
            )
            assert draft.tags_code == string_hash(row["tags"])
            assert (draft.unique_key, draft.keys) == (properties["UNIQ_KEY"], row["keys"])
            assert draft.prepared_offset == waited["physicalOffset"]
            stored_again.append(row["topic"])
    assert (len(stored_again), stored_again.count(TIMER_TOPIC)) == (45, 19)


def test_the_fields_of_a_waiting_message_equal_apaches() -> None:
    markers = []
    for chain in timer_chains():
        for record, row in chain:
            properties = row["properties"]
            cancelled = properties.get("TIMER_DEL_UNIQKEY")
            assert cancelled_message(record) == (None if cancelled is None else (properties["REAL_TOPIC"], cancelled))
            assert index_entry(record, row["physicalOffset"]) == TimerRecord(
                int(properties["TIMER_OUT_MS"]),
                row["physicalOffset"],
                row["storeSize"],
                string_hash(properties["REAL_TOPIC"]),
                cancelled is not None,
            )
            markers += [cancelled] if cancelled else []
    assert len(markers) == 5


times = st.sampled_from(
    [
        "TIMER_ENQUEUE_MS\x011",
        "TIMER_DEQUEUE_MS\x012",
        "TIMER_ROLL_TIMES\x0141",
        "TIMER_ROLL_TIMES\x01x",
        "TIMER_OUT_MS\x017",
    ]
)


@given(messages, st.lists(items | times, max_size=8), st.booleans())
def test_a_timer_message_keeps_all_but_the_times(message: MessageRecord, parts: list[str], ended: bool) -> None:
    text = "\x02".join([*parts, REAL]) + "\x02" * ended
    record = encode_record(replace(message, properties=text.encode(), topic=TIMER_TOPIC, physical_offset=77))
    stored = stored_message(memoryview(record))
    expected = decode_properties(text) | {"TIMER_ENQUEUE_MS": "1000", "TIMER_DEQUEUE_MS": "2000"}
    copy = restored_draft(record, physical_offset=77, enqueued=1000, now=2000)
    rolled = rolled_draft(record, physical_offset=77, enqueued=1000, now=2000)
    assert decode_properties(copy.properties.decode()) == expected
    expected["TIMER_ROLL_TIMES"] = "42" if expected.get("TIMER_ROLL_TIMES") == "41" else "1"
    assert decode_properties(rolled.properties.decode()) == expected
    assert (copy.topic, copy.queue_id, rolled.topic, rolled.queue_id) == ("T", 3, TIMER_TOPIC, 0)
    for draft in (copy, rolled):
        assert draft == Draft(
            draft.topic,
            draft.queue_id,
            message.body,
            draft.properties,
            stored.flag,
            stored.sys_flag & ~0x30,
            stored.born_timestamp,
            stored.born_host,
            stored.reconsume_times,
            77,
            tags_code(expected.get("TAGS")),
            expected.get("UNIQ_KEY"),
            expected.get("KEYS"),
        )


def timer_record(text: str, place: int = 0) -> bytes:
    message = MessageRecord(
        topic=TIMER_TOPIC, queue_id=0, body=b"body", properties=text.encode(), physical_offset=place
    )
    return encode_record(message)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a\x01b", "does not say where"),
        ("REAL_TOPIC\x01RMQ_SYS_TRANS_HALF_TOPIC\x02REAL_QID\x010", "half message"),
        ("REAL_TOPIC\x01rmq_sys_wheel_timer\x02REAL_QID\x010", "where it waits"),
        ("REAL_TOPIC\x01T\x02REAL_QID\x012147483648", "no topic can have"),
    ],
)
def test_a_timer_message_without_a_queue_is_not_delivered(text: str, reason: str) -> None:
    with pytest.raises(DestinationInvalid, match=reason):
        restored_draft(timer_record(text), physical_offset=0, enqueued=0, now=0)


def test_only_room_for_the_times_is_needed() -> None:
    text = REAL + "\x02a\x01"
    text += "b" * (32767 - TIMER_ROOM - len(text))
    longest = (1 << 63) - 1
    for again in (restored_draft, rolled_draft):
        draft = again(timer_record(text), physical_offset=0, enqueued=longest, now=longest)
        assert len(draft.properties) <= 32767
        with pytest.raises(DestinationInvalid, match="no room"):
            again(timer_record(text + "b" * TIMER_ROOM), physical_offset=0, enqueued=longest, now=longest)


def test_a_group_is_stored_again_at_once() -> None:
    part, due = part_of(*(f"{REAL}\x02UNIQ_KEY\x01{number}" for number in range(3)))
    found = drafts_to_store(part, [due[2], due[0]._replace(rolls=True), due[1]], 5000)
    assert found == [
        one(record_in(part, each), physical_offset=each.physical_offset, enqueued=each.write_time, now=5000)
        for each, one in ((due[2], restored_draft), (due[0], rolled_draft), (due[1], restored_draft))
    ]
    assert drafts_to_store(part, [], 5000) == []


def test_one_that_cannot_be_delivered_does_not_block_others() -> None:
    part, due = part_of("a\x01b", REAL)
    found = drafts_to_store(part, due, 5000)
    assert str(found[0]) == "it does not say where it is to go"
    assert not isinstance(found[0], RecordLost)
    assert isinstance(found[1], Draft)


def test_a_message_of_a_later_time_waits_again() -> None:
    part, due = part_of(*(f"{REAL}\x02TIMER_OUT_MS\x01{out}" for out in (5000, 5001)))
    copy, early = drafts_to_store(part, due, 5000)
    assert isinstance(copy, Draft)
    assert isinstance(early, NotYetDue)
    (rolled,) = drafts_to_store(part, [due[1]._replace(rolls=True)], 5000)
    assert early.again == rolled


def test_a_record_that_is_not_the_timers_is_stale() -> None:
    part, (due,) = part_of(REAL)
    offset, size, *_ = due
    end = part.end
    for stale in [
        (offset + 1, size - 1),
        (offset, size - 1),
        (end - 1, 2),
        (offset - 100, 5),
        (offset, 0),
        (offset, -1),
    ]:
        (found,) = drafts_to_store(part, [DueTimerUnit(*stale, 1, 0, rolls=False)], 5000)
        assert isinstance(found, RecordLost)
    other = encode_record(
        MessageRecord(topic="T", queue_id=0, body=b"body", properties=REAL.encode(), physical_offset=offset)
    )
    with pytest.raises(RecordLost):
        restored_draft(other, physical_offset=offset, enqueued=0, now=0)
    moved = part._replace(start=part.start + 1, end=part.end + 1)
    assert isinstance(drafts_to_store(moved, [due._replace(physical_offset=offset + 1)], 0)[0], RecordLost)


def test_entries_are_read_up_to_the_end_of_the_part() -> None:
    part, due = part_of(f"{REAL}\x02TIMER_OUT_MS\x015000", "a\x01b", f"{REAL}\x02TIMER_OUT_MS\x01x")
    rows = [*due, due[0]._replace(physical_offset=part.end), due[0]]
    entries = b"".join(ENTRY_STRUCT.pack(offset, size, 0) for offset, size, *_ in rows)
    expected = TimerRecord(5000, due[0].physical_offset, due[0].record_size, string_hash("T"), False)
    assert index_entries(part, entries) == [expected, None, None]
    assert index_entries(part, entries[3 * ENTRY_SIZE :]) == []


@given(st.data())
def test_a_damaged_timer_record_is_refused_or_read_within_its_bounds(data: st.DataObject) -> None:
    record = bytearray(timer_record(f"{REAL}\x02TIMER_OUT_MS\x015000"))
    for _ in range(data.draw(st.integers(1, 3))):
        record[data.draw(st.integers(0, len(record) - 1))] = data.draw(st.integers(0, 255))
    damaged = bytes(record)
    index_entry(damaged, 0)
    cancelled_message(damaged)
    try:
        found = restored_draft(damaged, physical_offset=0, enqueued=0, now=0)
    except DestinationInvalid:
        return
    assert len(found.body) + len(found.properties) < len(record) + TIMER_ROOM
