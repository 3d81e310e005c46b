"""Messages stored again after they waited, against records read the general way and what Apache stored."""

from __future__ import annotations

import mmap
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.server.restoring import (
    TIMER_ROOM,
    Due,
    Undeliverable,
    cancels,
    restored,
    restored_timer,
    restored_timers,
    rolled_timer,
    waiting_in,
    waiting_of,
)
from rocketwire.server.stored_message import stored_message
from rocketwire.store.layout.consume_queue import ENTRY_SIZE, ENTRY_STRUCT
from rocketwire.store.reader import LogPart
from rocketwire.store.store import Draft
from rocketwire.store.timer.waiting import Waiting
from rocketwire.wire.fast import tags_code
from rocketwire.wire.java import string_hash
from rocketwire.wire.message import Message, encode_record
from rocketwire.wire.names import SCHEDULE_TOPIC, TIMER_TOPIC
from rocketwire.wire.properties import decode_properties
from tests.server.test_stored_message import golden_messages
from tests.wire import golden
from tests.wire.test_message import messages

REAL = "REAL_TOPIC\x01T\x02REAL_QID\x013"
items = st.sampled_from(["a\x01b", "TAGS\x01A", "TAGS\x01", "KEYS\x01k", "xKEYS\x01y", "UNIQ_KEY\x01U", REAL, ""])


@given(messages, st.booleans(), st.lists(items, max_size=8))
def test_what_is_delivered_is_what_waited(message: Message, schedule: bool, parts: list[str]) -> None:
    text = "\x02".join([*parts, REAL])
    message = replace(message, properties=text.encode(), topic=SCHEDULE_TOPIC if schedule else message.topic)
    record = encode_record(message)
    found = restored(record)
    stored = stored_message(memoryview(record))
    properties = decode_properties(text)
    assert found == Draft(
        "T",
        3,
        message.body,
        message.properties,
        stored.flag,
        stored.sys_flag & ~0x30,
        stored.born_timestamp,
        stored.born_host,
        stored.reconsume_times,
        0,
        tags_code(properties.get("TAGS")),
        properties.get("UNIQ_KEY"),
        properties.get("KEYS"),
    )


def test_what_apache_has_waiting_is_delivered_as_it_is() -> None:
    waiting = [message for message, row in golden_messages() if row["topic"] == SCHEDULE_TOPIC]
    assert len(waiting) == 10
    for message in waiting:
        record = Message(
            topic=message.topic,
            queue_id=message.queue_id,
            body=bytes(message.body),
            properties=message.properties,
            sys_flag=message.sys_flag,
        )
        draft = restored(encode_record(record))
        properties = message.decoded_properties()
        assert (draft.topic, draft.queue_id) == (properties["REAL_TOPIC"], int(properties["REAL_QID"]))
        assert (draft.properties, draft.body) == (message.properties, bytes(message.body))


RECORD = encode_record(Message(topic=SCHEDULE_TOPIC, queue_id=1, body=b"body", properties=REAL.encode()))


@given(st.data())
def test_a_damaged_record_is_refused_or_read_within_its_bounds(data: st.DataObject) -> None:
    record = bytearray(RECORD)
    for _ in range(data.draw(st.integers(1, 3))):
        record[data.draw(st.integers(0, len(record) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = restored(bytes(record))
    except Undeliverable:
        return
    assert len(found.body) + len(found.properties) < len(record)


@pytest.mark.parametrize("end", [0, 39, 50, 90, len(RECORD) - 1])
def test_a_record_that_is_cut_short_is_refused(end: int) -> None:
    with pytest.raises(Undeliverable, match="message record of"):
        restored(RECORD[:end])


@pytest.mark.parametrize(("own", "stored"), [("a\x01\0b", ""), ("a\x01\0", "\x02")])
def test_zero_bytes_are_stored_so_that_they_are_believed_after_a_crash(own: str, stored: str) -> None:
    text = f"{REAL}\x02{own}"
    record = encode_record(Message(topic=SCHEDULE_TOPIC, queue_id=1, body=b"", properties=text.encode()))
    assert restored(record).properties.decode() == text + stored


@pytest.mark.parametrize("own", ["a\x01" + "\0" * 4096 + "b", "\0" * (32767 - len(REAL) - 1)])
def test_too_many_zero_bytes_are_not_delivered(own: str) -> None:
    record = encode_record(Message(topic=SCHEDULE_TOPIC, queue_id=1, body=b"", properties=f"{own}\x02{REAL}".encode()))
    with pytest.raises(Undeliverable, match="so many zero bytes"):
        restored(record)


def test_text_that_grew_too_long_is_not_delivered() -> None:
    text = REAL + "\x02a\x01" + "b" * (32767 - len(REAL) - 4) + "\0"
    record = encode_record(Message(topic=SCHEDULE_TOPIC, queue_id=1, body=b"", properties=text.encode()))
    with pytest.raises(Undeliverable, match="so many zero bytes"):
        restored(record)


def parts_of(*records: bytes, before: int = 0) -> tuple[LogPart, list[int]]:
    """A file of the log with records in it from a place on, and where they begin."""
    data = mmap.mmap(-1, 1 << 16)
    start = 1 << 30
    places = []
    at = before
    for record in records:
        data[at : at + len(record)] = record
        places.append(start + at)
        at += len(record)
    return LogPart(data, start, start + at), places


def timer_chains() -> list[list[tuple[bytes, dict[str, Any]]]]:
    """The timer messages of the golden 5.5.0 log: records of each, in the order they were stored."""
    files = golden.store_files("5.5.0", "commitlog")
    chains = defaultdict(list)
    for row in golden.expected("5.5.0"):
        properties = row.get("properties") or {}
        if "TIMER_OUT_MS" in properties:
            at = row["physicalOffset"] - int(row["file"])
            record = files[row["file"]][at : at + row["storeSize"]]
            chains[properties["UNIQ_KEY"], properties.get("TIMER_DEL_UNIQKEY")].append((record, row))
    return list(chains.values())


def test_a_timer_message_is_delivered_and_rolled_as_apache_does_it() -> None:
    stored_again = []
    for chain in timer_chains():
        for (record, waited), (_, row) in pairwise(chain):
            properties = row["properties"]
            enqueued, now = int(properties["TIMER_ENQUEUE_MS"]), int(properties["TIMER_DEQUEUE_MS"])
            again = rolled_timer if row["topic"] == TIMER_TOPIC else restored_timer
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


def test_what_waits_is_known_as_apache_notes_it() -> None:
    markers = []
    for chain in timer_chains():
        for record, row in chain:
            properties = row["properties"]
            cancelled = properties.get("TIMER_DEL_UNIQKEY")
            assert cancels(record) == cancelled
            assert waiting_of(record, row["physicalOffset"]) == Waiting(
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


@given(messages, st.sampled_from([TIMER_TOPIC, "other"]), st.lists(items | times, max_size=8), st.booleans())
def test_a_timer_message_keeps_all_but_the_times(message: Message, topic: str, parts: list[str], ended: bool) -> None:
    text = "\x02".join([*parts, REAL]) + "\x02" * ended
    record = encode_record(replace(message, properties=text.encode(), topic=topic))
    stored = stored_message(memoryview(record))
    expected = decode_properties(text) | {"TIMER_ENQUEUE_MS": "1000", "TIMER_DEQUEUE_MS": "2000"}
    copy = restored_timer(record, physical_offset=77, enqueued=1000, now=2000)
    rolled = rolled_timer(record, physical_offset=77, enqueued=1000, now=2000)
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


def timer_record(text: str, body: bytes = b"body") -> bytes:
    return encode_record(Message(topic=TIMER_TOPIC, queue_id=0, body=body, properties=text.encode()))


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
    with pytest.raises(Undeliverable, match=reason):
        restored_timer(timer_record(text), physical_offset=0, enqueued=0, now=0)


def test_room_for_the_times_is_all_that_has_to_be_left() -> None:
    text = REAL + "\x02a\x01"
    text += "b" * (32767 - TIMER_ROOM - len(text))
    longest = (1 << 63) - 1
    for again in (restored_timer, rolled_timer):
        draft = again(timer_record(text), physical_offset=0, enqueued=longest, now=longest)
        assert len(draft.properties) <= 32767
        with pytest.raises(Undeliverable, match="no room"):
            again(timer_record(text + "b" * TIMER_ROOM), physical_offset=0, enqueued=longest, now=longest)


def test_copies_are_made_a_group_at_once() -> None:
    records = [timer_record(f"{REAL}\x02UNIQ_KEY\x01{number}") for number in range(3)]
    part, places = parts_of(*records, timer_record("a\x01b"), before=50)
    due = [Due(places[number], len(records[number]), 1000 + number) for number in (2, 0)]
    found = restored_timers(part, [*due, Due(places[3], part.end - places[3], 1), Due(part.end - 1, 2, 1)], 5000)
    assert found[:2] == [
        restored_timer(records[number], physical_offset=places[number], enqueued=1000 + number, now=5000)
        for number in (2, 0)
    ]
    assert [str(error) for error in found[2:]] == ["it does not say where it is to go", "it is not in the log any more"]
    assert str(restored_timers(part, [Due(part.start - 1, 5, 1)], 1)[0]) == "it is not in the log any more"


def test_entries_are_read_up_to_the_end_of_the_part() -> None:
    records = [
        timer_record(text) for text in (f"{REAL}\x02TIMER_OUT_MS\x015000", "a\x01b", f"{REAL}\x02TIMER_OUT_MS\x01x")
    ]
    part, places = parts_of(*records)
    rows = [*zip(places, map(len, records), strict=True), (part.end, 100), (places[0], len(records[0]))]
    entries = b"".join(ENTRY_STRUCT.pack(offset, size, 0) for offset, size in rows)
    assert waiting_in(part, entries) == [Waiting(5000, places[0], len(records[0]), string_hash("T"), False), None, None]
    assert waiting_in(part, entries[3 * ENTRY_SIZE :]) == []


@given(st.data())
def test_a_damaged_timer_record_is_refused_or_read_within_its_bounds(data: st.DataObject) -> None:
    record = bytearray(timer_record(f"{REAL}\x02TIMER_OUT_MS\x015000"))
    for _ in range(data.draw(st.integers(1, 3))):
        record[data.draw(st.integers(0, len(record) - 1))] = data.draw(st.integers(0, 255))
    damaged = bytes(record)
    waiting_of(damaged, 0)
    cancels(damaged)
    try:
        found = restored_timer(damaged, physical_offset=0, enqueued=0, now=0)
    except Undeliverable:
        return
    assert len(found.body) + len(found.properties) < len(record) + TIMER_ROOM
