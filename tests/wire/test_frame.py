import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.errors import (
    FrameError,
    FrameLengthInvalid,
    FrameTooLong,
    HeaderInvalid,
    HeaderLengthInvalid,
    SerializeTypeUnknown,
)
from rocketwire.wire.facts.codes import MAX_FRAME_LENGTH
from rocketwire.wire.frame import (
    FRAME,
    FRAME_PREFIX,
    decode_frame,
    encode_frame,
    encode_frame_head,
    frame_size,
)
from rocketwire.wire.header import Header, encode_header
from tests.wire.test_header import binary_headers

HEADER = Header(code=34, opaque=1)


@given(binary_headers, st.binary(max_size=100), st.sampled_from([0, 1]))
def test_round_trip_and_equal_to_the_declaration(header: Header, body: bytes, serialize_type: int) -> None:
    data = encode_frame(header, body, serialize_type)
    assert decode_frame(data) == (header, body, serialize_type)
    assert decode_frame(memoryview(data)) == (header, body, serialize_type)
    raw = encode_header(header, serialize_type)
    assert FRAME.build({"serialize_type": serialize_type, "header": raw, "body": body}) == data
    declared = FRAME.parse(data)
    assert (declared.serialize_type, declared.header, declared.body) == (serialize_type, raw, body)


def test_a_head_is_the_frame_without_its_body() -> None:
    assert encode_frame_head(HEADER, 3) + b"abc" == encode_frame(HEADER, memoryview(b"abc"))


opaques = st.integers(-(2**31), 2**31 - 1)
texts = st.text(max_size=20) | st.sampled_from(['"opaque":0,', 'x"opaque', "opaque", '":0,'])


@given(st.binary(max_size=100))
def test_any_bytes_give_a_frame_or_a_frame_error(data: bytes) -> None:
    try:
        decode_frame(struct.pack(">i", len(data)) + data)
        decode_frame(data)
    except FrameError as error:
        assert str(error)


def test_the_longest_frame() -> None:
    room = MAX_FRAME_LENGTH - FRAME_PREFIX.size - len(encode_header(HEADER, 0))
    assert len(encode_frame(HEADER, bytes(room))) == MAX_FRAME_LENGTH
    with pytest.raises(FrameTooLong, match="16777217 bytes is longer than the limit of 16777216") as caught:
        encode_frame(HEADER, bytes(room + 1))
    assert (caught.value.length, caught.value.limit) == (MAX_FRAME_LENGTH + 1, MAX_FRAME_LENGTH)


@pytest.mark.parametrize(("length", "size"), [(4, 8), (100, 104), (MAX_FRAME_LENGTH - 4, MAX_FRAME_LENGTH)])
def test_frame_size(length: int, size: int) -> None:
    assert frame_size(length) == size


@pytest.mark.parametrize(("length", "reason"), [(-1, "negative"), (-(2**31), "negative"), (3, "no room")])
def test_impossible_lengths(length: int, reason: str) -> None:
    with pytest.raises(FrameLengthInvalid, match=reason) as caught:
        frame_size(length)
    assert caught.value.length == length


def test_lengths_over_the_limit() -> None:
    with pytest.raises(FrameTooLong):
        frame_size(MAX_FRAME_LENGTH - 3)
    with pytest.raises(FrameTooLong):
        frame_size(0x47455420)  # "GET "
    with pytest.raises(FrameTooLong, match="longer than the limit of 64"):
        frame_size(61, 64)


@pytest.mark.parametrize("data", [b"", b"\0\0\0\4", struct.pack(">iI", 5, 0), encode_frame(HEADER) + b"x"])
def test_data_that_is_not_one_frame(data: bytes) -> None:
    with pytest.raises(FrameLengthInvalid):
        decode_frame(data)


def test_a_header_beyond_its_frame() -> None:
    with pytest.raises(HeaderLengthInvalid, match="3 is beyond the 2 bytes") as caught:
        decode_frame(struct.pack(">iI", 6, 3) + b"{}")
    assert caught.value.header_length == 3


def test_headers_that_cannot_be_read() -> None:
    with pytest.raises(HeaderInvalid):
        decode_frame(struct.pack(">iI", 6, 2) + b"xx")
    with pytest.raises(SerializeTypeUnknown):
        decode_frame(struct.pack(">iI", 6, 2 << 24 | 2) + b"{}")
