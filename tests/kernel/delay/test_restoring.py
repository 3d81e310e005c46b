"""Records of messages that waited, in C as server.restoring and server.timer_records read them."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketwire import _kernel as kernel
from rocketwire.server.messages import restoring
from rocketwire.server.messages.restoring import DestinationInvalid
from rocketwire.server.timer.records import TIMER_ROOM, index_entry, restored_draft, rolled_draft
from rocketwire.store.append.drafts import Draft
from rocketwire.store.layout.consume_queue import ENTRY_STRUCT
from rocketwire.store.timer.units import DueTimerUnit, TimerRecord
from rocketwire.wire.facts.record import MAGIC_V1, MAGIC_V2
from rocketwire.wire.message import MessageRecord, encode_record
from rocketwire.wire.names import SCHEDULE_TOPIC, TIMER_TOPIC, TRANS_HALF_TOPIC
from tests.wire.test_message import messages

NAMES = [
    *("TAGS", "KEYS", "UNIQ_KEY", "REAL_TOPIC", "REAL_QID", "TIMER_OUT_MS", "TIMER_DEL_UNIQKEY"),
    *("TIMER_ROLL_TIMES", "TIMER_ENQUEUE_MS", "TIMER_DEQUEUE_MS", "XTIMER_OUT_MS", "TIMER_OUT_MSX", "TAG", ""),
]
NUMBERS = ["0", "7", "0041", "2147483646", "2147483647", "2147483648", "9223372036854775807", "9223372036854775808"]
TEXTS = ["a", "Tm", "漢😀", "-1", "+1", "1 ", "٣", TIMER_TOPIC, TRANS_HALF_TOPIC, "TIMER_ENQUEUE_MS\x011", "9" * 20]
values = st.sampled_from([each.encode() for each in (*NUMBERS, *TEXTS)]) | st.binary(max_size=6)
items = st.builds(
    lambda name, sep, value: name.encode() + sep + value,
    st.sampled_from(NAMES),
    st.sampled_from([b"\x01", b"\x01", b"\x01", b"\x01", b"", b"\x01\x01"]),
    values,
)
PLAIN = "TAGS\x01Tm\x02UNIQ_KEY\x01U\x02KEYS\x01k\x02TIMER_OUT_MS\x015000\x02REAL_TOPIC\x01T\x02REAL_QID\x013"
texts = st.builds(
    lambda before, plain, behind: b"\x02".join([*before, *plain, *behind]),
    st.lists(items, max_size=4),
    st.sampled_from([[], [PLAIN.encode()]]),
    st.lists(items, max_size=4),
).filter(lambda text: len(text) < 1000)
numbers = st.sampled_from([0, 1, 5000, (1 << 63) - 1, -1, -(1 << 63)])
PLACE = 1 << 40


def outcome(one: Any, *args: Any, **named: Any) -> Any:
    try:
        return one(*args, **named)
    except DestinationInvalid as error:
        return type(error)


def check(record: bytes, place: int, enqueued: int, now: int) -> list[Any]:
    """Compare what the kernel makes of a record with what its twin does; gives all that the kernel made."""
    buffer = b"\xff" * 3 + record
    entry = ENTRY_STRUCT.pack(place, len(record), 0)
    start, end = place - 3, place + len(record)
    made = [kernel.restored_delayed(Draft, record)]
    twin = [outcome(restored_by_twin, record)]
    for rolled, one in ((False, restored_draft), (True, rolled_draft)):
        due = [DueTimerUnit(place, len(record), enqueued, 0, rolled)]
        made += kernel.stored_again(Draft, buffer, start, end, due, now)
        twin.append(outcome(one, record, physical_offset=place, enqueued=enqueued, now=now))
    waiting = kernel.waiting_in(TimerRecord, buffer, start, end, entry)
    assert len(waiting) == 1
    for ours, theirs in zip([*made, *waiting], [*twin, index_entry(record, place)], strict=True):
        assert ours is None or (ours == theirs and type(ours) is type(theirs))
    return [*made, *waiting]


def restored_by_twin(record: bytes) -> Draft:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(restoring, "_kernel", None)
        return restoring.restore_delayed(record)


def encoded(text: bytes, topic: str = TIMER_TOPIC, place: int = PLACE, **changes: Any) -> bytes:
    made = MessageRecord(
        topic=topic, queue_id=0, body=b"body", properties=text, physical_offset=place, born_timestamp=77
    )
    return encode_record(replace(made, **changes))


@given(messages, st.sampled_from([TIMER_TOPIC, SCHEDULE_TOPIC]), texts, numbers, numbers)
@example(MessageRecord(topic="", queue_id=0, body=b""), TIMER_TOPIC, PLAIN.encode() + b"\x02", 1, 2)
@example(
    MessageRecord(topic="", queue_id=0, body=b""), TIMER_TOPIC, PLAIN.encode() + b"\x02TIMER_ENQUEUE_MS\x011", 1, 2
)
@example(
    MessageRecord(topic="", queue_id=0, body=b""), TIMER_TOPIC, b"TIMER_DEQUEUE_MS\x014\x02" + PLAIN.encode(), 1, 2
)
def test_a_record_is_read_as_the_twin_reads_it(
    message: MessageRecord, topic: str, text: bytes, enqueued: int, now: int
) -> None:
    record = encode_record(replace(message, topic=topic, properties=text, physical_offset=PLACE))
    check(record, PLACE, enqueued, now)


@given(st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), max_size=4), st.integers(0, 1 << 16), texts)
def test_a_damaged_record_is_read_as_the_twin_reads_it(changes: list[tuple[int, int]], cut: int, text: bytes) -> None:
    record = bytearray(encoded(text))
    for at, value in changes:
        record[at % len(record)] = value
    check(bytes(record), PLACE, 1, 2)
    check(bytes(record[: cut % len(record)]), PLACE, 1, 2)


def test_the_kernel_takes_what_this_broker_writes() -> None:
    for added in ("", "\x02TIMER_ENQUEUE_MS\x011\x02TIMER_DEQUEUE_MS\x012\x02TIMER_ROLL_TIMES\x0141", "\x02漢\x01😀"):
        text = (PLAIN + added).encode()
        assert None not in check(encoded(text), PLACE, 1, 5000)[1:]
        assert check(encoded(text), PLACE, 1, 4999)[1] is None
        assert check(encoded(text, SCHEDULE_TOPIC), PLACE, 1, 2)[0] is not None


def test_times_and_laps_are_set_where_they_stood() -> None:
    text = f"TIMER_DEQUEUE_MS\x0112345\x02{PLAIN}\x02TIMER_ROLL_TIMES\x019\x02TIMER_ENQUEUE_MS\x01\x02".encode()
    assert check(encoded(text), PLACE, 1, 2)[1:3] == [None, None]
    text = text.replace(b"ENQUEUE_MS\x01", b"ENQUEUE_MS\x0177")
    _, _, rolled, _ = check(encoded(text), PLACE, -1, 2)
    expected = f"TIMER_DEQUEUE_MS\x012\x02{PLAIN}\x02TIMER_ROLL_TIMES\x0110\x02TIMER_ENQUEUE_MS\x01-1\x02"
    assert rolled.properties.decode() == expected
    for laps in ("2147483647", "x", "99999999999999999999"):
        _, _, rolled, _ = check(encoded(f"TIMER_ROLL_TIMES\x01{laps}\x02{PLAIN}".encode()), PLACE, -1, 2)
        assert rolled.properties.startswith(b"TIMER_ROLL_TIMES\x011\x02")


@pytest.mark.parametrize(
    "changes", [{"magic": MAGIC_V2}, {"born_host": ("::1", 2)}, {"store_host": ("::1", 2)}, {"topic": "TT"}]
)
def test_what_is_not_plain_is_the_twins(changes: dict[str, Any]) -> None:
    assert check(encoded(PLAIN.encode(), **changes), PLACE, 1, 2) == [None] * 4


def test_the_longest_properties_are_the_twins_to_refuse() -> None:
    for left in (TIMER_ROOM, 0):
        text = f"{PLAIN}\x02a\x01".encode()
        text += b"b" * (32767 - left - len(text))
        made = check(encoded(text), PLACE, (1 << 63) - 1, (1 << 63) - 1)
        assert (made[1] is None, made[2] is None, made[3] is None) == (not left, not left, False)


@given(st.lists(st.tuples(*[st.sampled_from([-(1 << 63), -1, 0, 99, 100, 200, 350, (1 << 63) - 1])] * 2), max_size=5))
def test_places_outside_of_the_part_are_not_read(places: list[tuple[int, int]]) -> None:
    for start, end in [(100, 300), (100, 90), (-5, 195), (100, (1 << 63) - 1), (-(1 << 63), (1 << 63) - 1)]:
        due = [DueTimerUnit(place, size, 0, 0, rolls=False) for place, size in places]
        made = kernel.stored_again(Draft, bytes(200), start, end, due, 0)
        assert made == [None] * len(places)
        for place, size in places:
            entry = ENTRY_STRUCT.pack(place, size & 0x7FFFFFFF, 0)
            assert kernel.waiting_in(TimerRecord, bytes(200), start, end, entry) in ([], [None])


def test_a_group_ends_at_the_first_entry_outside_and_half_an_entry_is_none() -> None:
    record = encoded(PLAIN.encode(), place=100)
    entries = b"".join(ENTRY_STRUCT.pack(place, len(record), 0) for place in (100, 100, 101, 100))
    assert len(kernel.waiting_in(TimerRecord, record, 100, 100 + len(record), entries)) == 2
    assert len(kernel.waiting_in(TimerRecord, record, 100, 100 + len(record), entries[:39])) == 1
    assert kernel.waiting_in(TimerRecord, record, 100, 100 + len(record), b"") == []


@pytest.mark.parametrize("due", [[1], [(1, 2)], [(1, 2, "3", 4, 0)], [(1 << 63, 2, 3, 4, 0)], (), [[1, 2, 3, 4, 0]]])
def test_what_is_no_list_of_numbers_is_an_error(due: Any) -> None:
    with pytest.raises((TypeError, OverflowError)):
        kernel.stored_again(Draft, b"", 0, 0, due, 0)


def test_an_error_of_the_class_is_the_callers() -> None:
    record = encoded(PLAIN.encode())

    def refuse(*_: object) -> Draft:
        raise struct.error

    due = [DueTimerUnit(PLACE, len(record), 0, 0, rolls=False)]
    args: tuple[Any, ...] = (refuse, record, PLACE, PLACE + len(record), due, 5000)
    with pytest.raises(struct.error):
        kernel.stored_again(*args)


def test_what_waits_is_a_tuple() -> None:
    kind: Any = int
    with pytest.raises(TypeError):
        kernel.waiting_in(kind, b"", 0, 0, b"")


def test_the_magic_is_that_of_records() -> None:
    assert MAGIC_V1 & 0xFFFFFFFF == 0xDAA320A7
