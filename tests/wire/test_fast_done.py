"""The short way of answers without anything in them against the general encoder."""

from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.fast_done import DoneAnswers
from rocketwire.wire.frame import encode_frame
from rocketwire.wire.header import Header
from rocketwire.wire.java import INT32_MAX, INT32_MIN


@given(st.integers(INT32_MIN, INT32_MAX))
def test_an_answer_has_the_bytes_of_the_general_encoder(opaque: int) -> None:
    header = Header(code=0, opaque=opaque, flag=1, version=407)
    assert DoneAnswers(version=407).encode(opaque) == encode_frame(header, b"", 0)
