import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.codes import MAX_FRAME_LENGTH
from rocketwire.wire.connection import FrameReader
from rocketwire.wire.errors import FrameError, FrameLengthInvalid, FrameTooLong, HeaderLengthInvalid
from rocketwire.wire.frame import FRAME

frames = st.builds(
    lambda kind, header, body: FRAME.build({"serialize_type": kind, "header": header, "body": body}),
    st.integers(0, 255),
    st.binary(max_size=40),
    st.binary(max_size=60),
)


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(stream) + 1) for place in places), len(stream)]
    return [stream[a:b] for a, b in pairwise(edges)]


@given(st.lists(frames, max_size=8), st.lists(st.integers(0, 10_000), max_size=6))
def test_frames_come_out_whole_however_the_stream_is_cut(sent: list[bytes], places: list[int]) -> None:
    reader = FrameReader()
    got = []
    for chunk in cut(b"".join(sent), places):
        found, error = reader.receive(memoryview(chunk))
        assert error is None
        got += [(kind, bytes(header), bytes(body)) for kind, header, body in found]
    parsed = [FRAME.parse(frame) for frame in sent]
    assert got == [(frame.serialize_type, frame.header, frame.body) for frame in parsed]
    assert reader.pending == 0


@given(st.lists(st.binary(max_size=64), max_size=8))
def test_random_bytes_give_frames_or_one_error(chunks: list[bytes]) -> None:
    reader = FrameReader()
    for chunk in chunks:
        found, error = reader.receive(memoryview(chunk))
        for frame in found:
            assert len(frame.header) + len(frame.body) <= MAX_FRAME_LENGTH
        if error is not None:
            assert isinstance(error, FrameError)
            return


@pytest.mark.parametrize(
    ("prefix", "error"),
    [
        (struct.pack(">iI", -1, 0), FrameLengthInvalid),
        (struct.pack(">iI", 3, 0), FrameLengthInvalid),
        (struct.pack(">iI", MAX_FRAME_LENGTH - 3, 0), FrameTooLong),
        (struct.pack(">iI", 2**31 - 1, 0), FrameTooLong),
        (struct.pack(">iI", 10, 7), HeaderLengthInvalid),
        (b"GET / HTTP/1.1\r\n", FrameTooLong),
    ],
)
def test_impossible_lengths_end_the_stream(prefix: bytes, error: type[FrameError]) -> None:
    good = FRAME.build({"serialize_type": 0, "header": b"{}", "body": b"x"})
    found, raised = FrameReader().receive(memoryview(good + prefix))
    assert [bytes(frame.body) for frame in found] == [b"x"]
    assert isinstance(raised, error)


def test_the_longest_frame_is_taken() -> None:
    reader = FrameReader()
    body = bytes(MAX_FRAME_LENGTH - 8)
    frame = struct.pack(">iI", MAX_FRAME_LENGTH - 4, 0) + body
    chunks = [frame[at : at + 1_000_000] for at in range(0, len(frame), 1_000_000)]
    for chunk in chunks[:-1]:
        assert reader.receive(memoryview(chunk)) == ([], None)
    found, error = reader.receive(memoryview(chunks[-1]))
    assert error is None
    assert len(found[0].body) == len(body)


def test_an_impossible_length_is_refused_in_the_middle_of_a_partial_frame() -> None:
    reader = FrameReader()
    assert reader.receive(memoryview(b"\xff\xff")) == ([], None)
    found, error = reader.receive(memoryview(b"\xff\xff\x00\x00\x00\x00"))
    assert found == []
    assert isinstance(error, FrameLengthInvalid)
