"""The guard; `scenarios` has whole connections."""

from itertools import pairwise

import pytest
from hyperframe.frame import ContinuationFrame, DataFrame, HeadersFrame, PingFrame, RstStreamFrame, SettingsFrame
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.http2.events import ENHANCE_YOUR_CALM, FRAME_SIZE_ERROR, PROTOCOL_ERROR
from rocketwire.wire.http2.frames import PREFACE
from rocketwire.wire.http2.guard import MOST_CREDIT, FrameGuard, Http2Violation
from tests.wire.http2.script import frame

BEGIN = PREFACE + SettingsFrame(0).serialize()


def passed(guard: FrameGuard, data: bytes) -> list[bytes]:
    return [frame(*each) for each in guard.split_frames(data)]


def begun() -> FrameGuard:
    guard = FrameGuard(1000)
    assert passed(guard, BEGIN) == [SettingsFrame(0).serialize()]
    return guard


def violation(guard: FrameGuard, data: bytes) -> int:
    with pytest.raises(Http2Violation) as raised:
        list(guard.split_frames(data))
    return raised.value.code


@given(
    st.lists(
        st.builds(
            lambda size, end: DataFrame(1, bytes(size), flags=["END_STREAM"] * end), st.integers(0, 99), st.booleans()
        )
    ),
    st.lists(st.integers(0, 500), max_size=5),
)
def test_frames_come_out_whole_however_they_are_cut(frames: list[DataFrame], places: list[int]) -> None:
    expected = [SettingsFrame(0).serialize(), *(each.serialize() for each in frames)]
    data = PREFACE + b"".join(expected)
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    guard = FrameGuard(1000)
    assert [found for a, b in pairwise(edges) for found in passed(guard, data[a:b])] == expected


def test_frames_that_say_nothing_are_left_out() -> None:
    unknown = frame(0x77, 0, 9, b"what?")
    priority = frame(2, 0, 1, bytes(5))
    ping = PingFrame(0, bytes(8)).serialize()
    assert passed(begun(), unknown + priority + ping + unknown) == [ping]


@pytest.mark.parametrize(
    ("kind", "flags", "stream", "length", "code"),
    [
        (0, 0, 0, 1, PROTOCOL_ERROR),
        (1, 4, 0, 1, PROTOCOL_ERROR),
        (1, 4, 2, 1, PROTOCOL_ERROR),
        (4, 0, 1, 0, PROTOCOL_ERROR),
        (5, 4, 1, 4, PROTOCOL_ERROR),
        (9, 4, 1, 1, PROTOCOL_ERROR),
        (0, 0, 1, 16_385, FRAME_SIZE_ERROR),
        (3, 0, 1, 5, FRAME_SIZE_ERROR),
        (4, 0, 0, 7, FRAME_SIZE_ERROR),
        (4, 1, 0, 6, FRAME_SIZE_ERROR),
        (4, 0, 0, 33 * 6, ENHANCE_YOUR_CALM),
    ],
)
def test_a_header_is_enough_to_see_what_is_wrong(kind: int, flags: int, stream: int, length: int, code: int) -> None:
    guard = begun()
    assert violation(guard, frame(kind, flags, stream, bytes(length))[:9]) == code


def test_settings_come_first() -> None:
    for first in (PingFrame(0, bytes(8)), SettingsFrame(0, flags=["ACK"])):
        assert violation(FrameGuard(1000), PREFACE + first.serialize()) == PROTOCOL_ERROR


def test_a_block_of_headers_is_not_interrupted() -> None:
    head = HeadersFrame(3, b"\x82").serialize()
    end = ContinuationFrame(3, b"\x82", flags=["END_HEADERS"]).serialize()
    guard = begun()
    assert passed(guard, head + ContinuationFrame(3, b"").serialize() + end + head + end)[-1] == end
    for other in (PingFrame(0, bytes(8)), ContinuationFrame(5, b""), HeadersFrame(3, b"")):
        assert violation(begun(), head + other.serialize()) == PROTOCOL_ERROR
    assert violation(begun(), head + ContinuationFrame(3, bytes(1000)).serialize()) == ENHANCE_YOUR_CALM
    assert violation(begun(), head + ContinuationFrame(3, b"").serialize() * 9) == ENHANCE_YOUR_CALM


def test_credit_is_used_up_and_given_back() -> None:
    ping, reset = PingFrame(0, bytes(8)).serialize(), RstStreamFrame(1).serialize()
    guard = begun()
    for _ in range(3 * MOST_CREDIT):
        assert passed(guard, ping) == [ping]
    guard = begun()
    for _ in range(MOST_CREDIT // 4 - 10):
        guard.charge_reset()
    assert violation(guard, ping * 50) == ENHANCE_YOUR_CALM
    guard = begun()
    list(guard.split_frames(reset * (MOST_CREDIT // 4 - 10)))
    for _ in range(100):
        guard.restore_credit()
    list(guard.split_frames(ping * 400))
    assert violation(guard, ping * 50) == ENHANCE_YOUR_CALM


def test_who_has_no_credit_gets_no_request_through() -> None:
    guard = begun()
    for _ in range(MOST_CREDIT // 4 + 10):
        guard.charge_reset()
    assert violation(guard, HeadersFrame(1, b"\x82", flags=["END_HEADERS"]).serialize()) == ENHANCE_YOUR_CALM
