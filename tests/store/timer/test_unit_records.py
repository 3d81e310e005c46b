"""Units compared with their records."""

from __future__ import annotations

import pytest

from rocketwire.store.layout.timer_log import NO_COPY, NO_UNIT, WAITS, UnitMagic
from rocketwire.store.timer.unit_records import fits, topic_hash_of
from rocketwire.store.timer.units import Unit
from rocketwire.wire.message import Message, encode_record
from rocketwire.wire.names import TIMER_TOPIC
from tests.store.timer.timers import HASH

OUT = 5_001
RECORD = memoryview(
    encode_record(
        Message(
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
    assert fits(Unit(0, NO_UNIT, magic, time - 1, 1, 0, len(RECORD), HASH, outcome), RECORD) is fit
