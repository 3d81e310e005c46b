"""Units of the timer log: when their messages are due, and whether they fit their records."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.store.layout.timer_log import NO_COPY, NO_UNIT, WAITS, UnitMagic
from rocketwire.store.timer.units import (
    TimerUnit,
    due_time,
    is_coarse,
    out_time,
    slot_of,
    topic_hash_of,
    unit_matches_record,
)
from rocketwire.wire.message import MessageRecord, encode_record
from rocketwire.wire.names import TIMER_TOPIC
from tests.store.timer.timers import HASH

precisions = st.one_of(st.sampled_from([10, 100, 200, 500, 1000]), st.integers(1, 1 << 20).map(lambda tens: 10 * tens))
times = st.one_of(
    st.integers(1, 1 << 62), st.builds(lambda time, grid: time * grid, st.integers(1, 1 << 40), precisions)
)


def of_apache(time: int, precision: int) -> int:
    """TIMER_OUT_MS as 5.5.0 makes it: floored, and one less for a multiple."""
    return time - precision if time % precision == 0 else slot_of(time, precision)


@given(times, precisions)
def test_the_slot_is_apaches_for_every_time(time: int, precision: int) -> None:
    assert slot_of(out_time(time), precision) == of_apache(time, precision)


@given(times, precisions)
def test_a_message_is_due_at_its_time_whatever_the_precision(time: int, precision: int) -> None:
    assert due_time(out_time(time), precision) == time + (time % 10 == 9)
    # And no later than its slot is over.
    assert due_time(out_time(time), precision) <= slot_of(out_time(time), precision) + precision


@given(times, precisions)
def test_what_apache_wrote_is_not_due_before_its_time(time: int, precision: int) -> None:
    assert time <= due_time(of_apache(time, precision), precision) < time + precision
    assert is_coarse(of_apache(time, precision))
    assert not is_coarse(out_time(time))


@given(times, precisions, precisions)
def test_what_cancels_goes_to_the_slot_of_its_message(time: int, precision: int, later: int) -> None:
    """A marker is sent with the handle's time: ours is the message's own, Apache's the floored one and 1 ms."""
    apaches = of_apache(time, precision)
    assert slot_of(out_time(apaches + 1), precision) == slot_of(out_time(time), precision)
    assert slot_of(out_time(apaches + 1), later) == slot_of(apaches, later)


@pytest.mark.parametrize(("time", "out"), [(5000, 4999), (4990, 4989), (4999, 4999), (4991, 4991), (1, 1), (10, 9)])
def test_the_time_in_a_record(time: int, out: int) -> None:
    assert out_time(time) == out


OUT = 5_001
RECORD = memoryview(
    encode_record(
        MessageRecord(
            topic=TIMER_TOPIC, queue_id=0, body=b"", properties=f"TIMER_OUT_MS\x01{OUT}\x02REAL_TOPIC\x01T".encode()
        )
    )
)
ROLLS = UnitMagic.DEFAULT | UnitMagic.ROLL


@pytest.mark.parametrize(
    ("magic", "time", "outcome", "fit"),
    [
        (UnitMagic.DEFAULT, OUT, WAITS, True),
        (UnitMagic.DEFAULT, OUT + 9_000, WAITS, True),
        (UnitMagic.DEFAULT, OUT - 1, WAITS, False),
        (UnitMagic.DEFAULT, OUT - 1, NO_COPY, True),
        (ROLLS, OUT - 1, WAITS, True),
        (ROLLS, OUT, WAITS, False),
    ],
)
def test_a_unit_that_waits_does_not_deliver_before_its_records_time(
    magic: int, time: int, outcome: int, *, fit: bool
) -> None:
    assert topic_hash_of(RECORD) == HASH
    assert unit_matches_record(TimerUnit(0, NO_UNIT, magic, time - 1, 1, 0, len(RECORD), HASH, outcome), RECORD) is fit
