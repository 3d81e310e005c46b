"""The guard; `scenarios` has whole connections."""

from itertools import pairwise

import pytest
from hyperframe.frame import ContinuationFrame, DataFrame, HeadersFrame, PingFrame, RstStreamFrame, SettingsFrame
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.http2.events import ENHANCE_YOUR_CALM, FRAME_SIZE_ERROR, PROTOCOL_ERROR
from rocketwire.wire.http2.guard import MOST_CREDIT, PREFACE, FrameGuard, Http2Violation
from tests.wire.http2.script import frame

BEGIN = PREFACE + SettingsFrame(0).serialize()


def passed(guard: FrameGuard, data: bytes) -> list[bytes]:
    return [found for _, found in guard.split_frames(data)]


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


@pytest.mark.parametrize(("kind", "length", "code"), [(0, 16_385, FRAME_SIZE_ERROR), (4, 33 * 6, ENHANCE_YOUR_CALM)])
def test_a_header_is_enough_to_see_that_a_frame_is_too_long(kind: int, length: int, code: int) -> None:
    assert violation(begun(), frame(kind, 0, 0, bytes(length))[:9]) == code


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


def test_without_credit_no_request_gets_through() -> None:
    guard = begun()
    for _ in range(MOST_CREDIT // 4 + 10):
        guard.charge_reset()
    assert violation(guard, HeadersFrame(1, b"\x82", flags=["END_HEADERS"]).serialize()) == ENHANCE_YOUR_CALM
