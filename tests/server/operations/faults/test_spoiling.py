"""Broken frames."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from rocketwire.server.operations.faults.rule import Spot
from rocketwire.server.operations.faults.spoiling import spoiled
from rocketwire.wire.frame import encode_frame
from rocketwire.wire.header import Header


@given(st.binary(min_size=1), st.sampled_from(Spot), st.randoms(use_true_random=False))
def test_one_byte_of_the_part_is_another(body: bytes, spot: Spot, random: Random) -> None:
    frame = encode_frame(Header(code=1, opaque=2), body)
    result = spoiled(frame, spot, random.randrange)
    (at,) = [at for at, (old, new) in enumerate(zip(frame, result, strict=True)) if old != new]
    body_at = len(frame) - len(body)
    low, high = {Spot.LENGTH: (0, 4), Spot.HEADER: (8, body_at), Spot.BODY: (body_at, len(frame))}[spot]
    assert low <= at < high


def test_where_there_is_no_body_none_is_spoiled() -> None:
    frame = encode_frame(Header(code=1, opaque=2), b"")
    assert spoiled(frame, Spot.BODY, lambda _: 0) == frame
