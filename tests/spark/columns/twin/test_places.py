"""Where whole records are, in logs that are made to be hard."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.spark.columns.twin import places
from rocketwire.spark.columns.twin.places import records_at, whole_records
from rocketwire.wire.message import MessageRecord, encode_record


def record(body: bytes) -> bytes:
    return encode_record(MessageRecord(topic="T", queue_id=0, body=body))


INNER = record(b"inner") * 3


@given(
    st.lists(st.sampled_from([b"", b"x" * 300, INNER, INNER[:-9], INNER[4:], b"\xda" * 50]), max_size=30),
    st.integers(1, 40),
)
def test_the_chain_is_that_of_the_sizes_whatever_bodies_look_like(bodies: list[bytes], most: int) -> None:
    log = b"".join(map(record, bodies))
    ends = np.cumsum([len(record(body)) for body in bodies], dtype=np.int64)
    begins = np.concatenate([[0], ends])
    with pytest.MonkeyPatch.context() as patch:
        for block, large, steps in ((100, 1 << 30, 1), (700, 300, 3), (1 << 20, 0, 2)):
            patch.setattr(places, "_BLOCK", block)
            patch.setattr(places, "_LARGE", large)
            patch.setattr(places, "_STEPS", steps)
            for tail in (b"", INNER[:60], b"\0" * 200, INNER[:-1]):
                found, end = whole_records(log + tail, base=None, position=0, end=len(log + tail), most=most)
                if tail == INNER[:-1]:
                    found = found[found < len(log)]
                    end = min(end, len(log))
                assert found.tolist() == begins[: min(most, len(bodies))].tolist()
                assert end == begins[min(most, len(bodies))]


def test_no_record_where_one_is_asked_for() -> None:
    log = record(b"a")
    bad = bytearray(log)
    bad[84] = 1
    long_topic = bytearray(log)
    long_topic[-4] = 9
    asked: list[tuple[Any, int, str]] = [
        (log, 1, "it has the magic number"),
        (log, 5, "positions outside of a buffer of 93 bytes"),
        (log, -1, "positions outside"),
        (long_topic, 0, "no record at position 0: its topic cannot have 9 bytes"),
        (bad, 0, "no record at position 0: its body cannot have"),
    ]
    for buffer, position, reason in asked:
        with pytest.raises(ValueError, match=reason):
            records_at(buffer, np.array([position], np.int64))
