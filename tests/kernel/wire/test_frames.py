"""Frames are cut as wire.connection cuts them."""

import struct
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from rocketwire._kernel import scan_frame
from rocketwire.wire.connection import FrameReader
from rocketwire.wire.facts.codes import MAX_FRAME_LENGTH
from rocketwire.wire.frame import FRAME
from tests.wire import golden

WHOLE, PART, BAD = range(3)


class Cut(NamedTuple):
    """The whole frames of a stream, how it went on behind them, and the size of the frame that is not whole."""

    frames: list[tuple[int, bytes, bytes]]
    state: int
    size: int


def cut(stream: bytes) -> Cut:
    frames: list[tuple[int, bytes, bytes]] = []
    at = 0
    while True:
        state, size, kind, (header_at, header), (body_at, body) = scan_frame(memoryview(stream)[at:])
        if state != WHOLE:
            return Cut(frames, state, size)
        header_at, body_at = at + header_at, at + body_at
        frames.append((kind, stream[header_at : header_at + header], stream[body_at : body_at + body]))
        assert body_at + body == at + size
        at += size


def check_equal(stream: bytes) -> Cut:
    reader = FrameReader()
    found, error = reader.receive(memoryview(stream))
    ours = cut(stream)
    assert ours.frames == [(kind, bytes(header), bytes(body)) for kind, header, body in found]
    assert (ours.state == BAD) is (error is not None)
    return ours


frames = st.builds(
    lambda kind, header, body: FRAME.build({"serialize_type": kind, "header": header, "body": body}),
    st.integers(0, 255),
    st.binary(max_size=40),
    st.binary(max_size=60),
)
lengths = st.sampled_from([-(2**31), -1, 0, 3, 4, 10, MAX_FRAME_LENGTH - 4, MAX_FRAME_LENGTH - 3, 2**31 - 1])


@given(st.lists(frames, min_size=1, max_size=4))
def test_a_stream_that_ends_anywhere_gives_the_frames_that_are_whole(sent: list[bytes]) -> None:
    stream = b"".join(sent)
    ends = [sum(map(len, sent[: number + 1])) for number in range(len(sent))]
    for end in range(len(stream) + 1):
        ours = check_equal(stream[:end])
        assert len(ours.frames) == sum(each <= end for each in ends)
        done = max((each for each in ends if each <= end), default=0)
        # Four bytes say how many there will be.
        assert ours.size == (len(sent[len(ours.frames)]) if end - done >= 4 else 0)


@given(st.lists(frames, max_size=3), st.binary(max_size=64))
def test_any_bytes_are_cut_as_python_cuts_them(sent: list[bytes], junk: bytes) -> None:
    check_equal(b"".join(sent) + junk)


@given(lengths | st.integers(-(2**31), 2**31 - 1), st.integers(0, 255), st.integers(0, 20) | st.just(0xFFFFFF))
def test_any_two_words_are_taken_as_python_takes_them(length: int, kind: int, header_length: int) -> None:
    words = struct.pack(">iI", length, kind << 24 | header_length)
    for end in range(9):
        ours = check_equal(words[:end])
        if end >= 4 and 4 <= length <= MAX_FRAME_LENGTH - 4:
            assert ours.size in {length + 4, 0}


def test_the_longest_frame_is_whole() -> None:
    frame = struct.pack(">iI", MAX_FRAME_LENGTH - 4, 0) + bytes(MAX_FRAME_LENGTH - 8)
    assert cut(frame[:-1]) == ([], PART, MAX_FRAME_LENGTH)
    assert [len(body) for _, _, body in cut(frame).frames] == [MAX_FRAME_LENGTH - 8]


def test_golden_captures_are_cut_as_recorded() -> None:
    for capture in golden.captures():
        rows = list(golden.frames(capture))
        stream = b"".join(data for _, data, _ in rows)
        ours = check_equal(stream)
        assert (ours.state, ours.size) == (PART, 0)
        assert len(ours.frames) == len(rows)
        for (kind, header, body), (_, _, row) in zip(ours.frames, rows, strict=True):
            assert (len(header), len(body)) == (row["headerLength"], row["bodyLength"])
            assert kind == (row["serializer"] == "ROCKETMQ")
