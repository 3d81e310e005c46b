import struct
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.connection import FrameReader
from rocketwire.wire.errors import FrameError, FrameLengthInvalid, FrameTooLong, HeaderLengthInvalid
from rocketwire.wire.facts.codes import MAX_FRAME_LENGTH
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
    assert reader.pending_bytes == 0


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


def test_a_shorter_limit_may_be_set_and_the_rest_is_kept_to_be_refused() -> None:
    good = FRAME.build({"serialize_type": 0, "header": b"{}", "body": bytes(90)})
    long = FRAME.build({"serialize_type": 0, "header": b"{}", "body": bytes(91)})
    reader = FrameReader(len(good))
    found, error = reader.receive(memoryview(good + long))
    assert [len(frame.body) for frame in found] == [90]
    assert isinstance(error, FrameTooLong)
    assert (error.length, error.limit) == (len(long), len(good))
    assert reader.invalid_bytes == long
    later = FrameReader(len(good))
    assert later.receive(memoryview(long[:7])) == ([], None)
    assert later.first_pending() == long[:7]
    _, error = later.receive(memoryview(long[7:] + bytes(70_000)))
    assert isinstance(error, FrameTooLong)
    assert later.invalid_bytes == (long + bytes(70_000))[: 64 * 1024]


def test_what_is_held_can_be_let_go() -> None:
    reader = FrameReader()
    assert reader.receive(memoryview(struct.pack(">ii", 1000, 100) + bytes(50))) == ([], None)
    assert reader.pending_bytes == 58
    reader.discard_pending()
    assert (reader.pending_bytes, reader.first_pending()) == (0, b"")


@given(st.lists(frames, max_size=8), st.lists(st.integers(0, 10_000), max_size=6), st.data())
def test_frames_that_are_put_back_are_read_again_from_separate_memory(
    sent: list[bytes], places: list[int], data: st.DataObject
) -> None:
    reader = FrameReader()
    got = []
    for chunk in cut(b"".join(sent), places):
        buffer = bytearray(chunk)
        reader.feed(memoryview(buffer))
        found, error = reader.next_frames(3)
        while found:
            assert error is None
            served = data.draw(st.integers(1, len(found)))
            got += [(kind, bytes(header), bytes(body)) for kind, header, body in found[:served]]
            reader.put_back(found[served:])
            reader.copy_pending()
            buffer[:] = b"\xff" * len(buffer)
            found, error = reader.next_frames(3)
        reader.copy_pending()
    assert got == [(frame.serialize_type, frame.header, frame.body) for frame in map(FRAME.parse, sent)]
    assert reader.pending_bytes == 0


def test_an_error_is_found_again_behind_frames_that_are_put_back() -> None:
    good = FRAME.build({"serialize_type": 0, "header": b"{}", "body": b"x"})
    reader = FrameReader()
    reader.feed(memoryview(good * 2 + b"GET / HTTP/1.1\r\n"))
    assert reader.next_frames(1)[1] is None
    (frame,), error = reader.next_frames(2)
    assert isinstance(error, FrameTooLong)
    reader.put_back([frame])
    reader.copy_pending()
    assert (reader.pending_bytes, reader.first_pending()) == (len(good) + 16, good + b"GET / HTTP/1.1\r\n")
    (frame,), error = reader.next_frames(2)
    assert isinstance(error, FrameTooLong)
    assert reader.invalid_bytes == b"GET / HTTP/1.1\r\n"


def test_what_is_kept_of_much_takes_less_than_twice_itself() -> None:
    long = FRAME.build({"serialize_type": 0, "header": b"", "body": bytes(1 << 20)})
    reader = FrameReader()
    stream = long + long[:40]
    assert reader.receive(memoryview(stream[:100])) == ([], None)
    tracemalloc.start()
    try:
        reader.feed(memoryview(stream)[100:])
        assert len(reader.next_frames(9)[0]) == 1
        assert tracemalloc.get_traced_memory()[0] > 1 << 20
        reader.copy_pending()
        assert tracemalloc.get_traced_memory()[0] < 1 << 10
    finally:
        tracemalloc.stop()
    assert reader.pending_bytes == 40


def test_the_remaining_bytes_are_all_that_are_no_frame() -> None:
    reader = FrameReader()
    reader.receive(memoryview(b"\0\0"))
    assert reader.all_pending() == b"\0\0"
    _, error = reader.receive(memoryview(b"\0\0" + b"x" * 100_000))
    assert error is not None
    assert reader.all_pending() == b"\0\0\0\0" + b"x" * 100_000
