from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.store.offline.verify.filler import LEAST, fillers, is_filler
from rocketwire.store.records.walk import WalkEnd, walk
from rocketwire.wire.message import decode_record


@given(st.one_of(st.integers(LEAST, LEAST + 10), st.integers(LEAST, 3 << 20)), st.sampled_from([0, 4096, 1 << 40]))
def test_any_part_is_filled_with_records_that_no_consumer_gets(size: int, start: int) -> None:
    data = b"".join(fillers(start, start + size, 1234))
    assert len(data) == size
    walked = walk(data + bytes(8), base=start, whole=False, most=100)
    assert (walked.position, walked.stop) == (size, WalkEnd.UNWRITTEN)
    assert (walked.records.sys_flag & 12 == 12).all()
    assert (walked.records.store_timestamp == 1234).all()
    assert walked.records.size.max() <= 1 << 20
    first = decode_record(data)
    assert is_filler(first.topic, first.sys_flag)
    assert not is_filler(first.topic, 0)
    assert not is_filler("T", 12)


def test_less_than_a_record_cannot_be_filled() -> None:
    with pytest.raises(ValueError, match="cannot be filled"):
        next(fillers(0, LEAST - 1, 0))
