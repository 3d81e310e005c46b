"""Broken frames."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from rocketwire.server.faults.rule import CorruptedPart, corrupt_frame
from rocketwire.wire.frame import encode_frame
from rocketwire.wire.header import Header


@given(st.binary(min_size=1), st.sampled_from(CorruptedPart), st.randoms(use_true_random=False))
def test_one_byte_of_the_part_changes(body: bytes, spot: CorruptedPart, random: Random) -> None:
    frame = encode_frame(Header(code=1, opaque=2), body)
    result = corrupt_frame(frame, spot, random.randrange)
    (at,) = [at for at, (old, new) in enumerate(zip(frame, result, strict=True)) if old != new]
    body_at = len(frame) - len(body)
    low, high = {
        CorruptedPart.LENGTH: (0, 4),
        CorruptedPart.HEADER: (8, body_at),
        CorruptedPart.BODY: (body_at, len(frame)),
    }[spot]
    assert low <= at < high


def test_an_empty_body_is_not_changed() -> None:
    frame = encode_frame(Header(code=1, opaque=2), b"")
    assert corrupt_frame(frame, CorruptedPart.BODY, lambda _: 0) == frame
