"""The kernel's hub and its channels: frames, and connections that come and go. Whole servers: tests/server."""

from __future__ import annotations

import gc
import math
import random
import socket
import struct
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire import native
from rocketwire.wire.connection import FrameReader, RawFrame
from tests.kernel.net.hub_support import HOST, KIB, MIB, Session, feed, frame, readable, serve
from tests.store.support import descriptors

kernel = native.kernel
assert kernel is not None


def test_frames_come_to_the_session_in_runs(hub: Any, session: Session) -> None:
    assert not hub.ready()
    assert not readable(hub)
    session.far.send(frame(b"one", kind=1) + frame(b"two", b"") + frame())
    assert readable(hub)
    assert hub.ready()
    assert hub.round(0, 7.5) is True
    assert session.frames == [(1, b"h", b"one"), (0, b"", b"two"), (0, b"h", b"")]
    assert session.runs == [3]
    assert session.events == ["flush"]
    assert session.channel.last_activity == 7.5
    assert session.channel.frame_started == math.inf
    assert not readable(hub)


def test_frames_may_be_cut_anywhere(hub: Any, sessions: Callable[[], Session]) -> None:
    data = frame(b"first", kind=3) + frame(b"", b"") + frame(b"x" * 40)
    for cut in range(1, len(data)):
        session = sessions()
        session.far.send(data[:cut])
        serve(hub)
        session.far.send(data[cut:])
        serve(hub)
        assert session.frames == [(3, b"h", b"first"), (0, b"", b""), (0, b"h", b"x" * 40)], cut


def test_a_frame_may_come_byte_by_byte(hub: Any, session: Session) -> None:
    data = frame(b"slow") + frame(b"er")
    for at, byte in enumerate(data):
        session.far.send(bytes([byte]))
        serve(hub, float(at))
        last = len(frame(b"slow")) - 1
        expected = math.inf if at in {last, len(data) - 1} else 0 if at < last else last + 1
        assert session.channel.frame_started == expected
    assert [body for _, _, body in session.frames] == [b"slow", b"er"]


def test_a_frame_that_begins_where_another_ends_begins_then(hub: Any, session: Session) -> None:
    data = frame(b"whole")
    session.far.send(data[:5])
    serve(hub, 1.0)
    session.far.send(data[5:] + data[:5])
    serve(hub, 2.0)
    assert session.channel.frame_started == 2.0
    session.far.send(data[5:7])
    serve(hub, 3.0)
    assert (session.channel.frame_started, session.channel.last_activity) == (2.0, 3.0)


@pytest.mark.parametrize("seed", range(4))
def test_any_frames_in_any_pieces_are_what_the_twin_cuts(hub: Any, session: Session, seed: int) -> None:
    chosen = random.Random(seed)
    sizes = [0, 1, 100, 16 * KIB, 17 * KIB, 100 * KIB, 256 * KIB - 9, 256 * KIB, 300 * KIB, 2 * MIB]
    data = b"".join(
        frame(chosen.randbytes(chosen.choice(sizes)), chosen.randbytes(chosen.randrange(50)), chosen.randrange(256))
        for _ in range(60)
    )
    expected = [(kind, bytes(header), bytes(body)) for kind, header, body in FrameReader().receive(memoryview(data))[0]]
    while data:
        cut = chosen.choice([1, 7, 1000, 20_000, 300_000, 1_000_000])
        feed(hub, session, data[:cut])
        data = data[cut:]
    assert session.frames == expected
    assert session.events == ["flush"] * len(session.runs)


words = st.builds(
    lambda length, kind, header: struct.pack(">iI", length, kind << 24 | header),
    st.sampled_from([-(2**31), -1, 0, 3, 4, 10, 16 * MIB - 4, 16 * MIB - 3, 2**31 - 1]) | st.integers(-300, 300),
    st.integers(0, 255),
    st.integers(0, 300) | st.just(0xFFFFFF),
)
whole_frames = st.builds(frame, st.binary(max_size=60), st.binary(max_size=40), st.integers(0, 255))


@given(st.lists(whole_frames, max_size=3).map(b"".join), words | st.binary(max_size=9), st.binary(max_size=40))
def test_any_bytes_behind_frames_are_cut_as_the_twin_cuts_them(frames: bytes, head: bytes, rest: bytes) -> None:
    assert kernel is not None
    hub = kernel.Hub(None, None, RawFrame, int)
    session = Session(hub)
    session.far.send(frames + head + rest)
    serve(hub)
    found, error = FrameReader().receive(memoryview(frames + head + rest))
    assert session.frames == [(kind, bytes(header), bytes(body)) for kind, header, body in found]
    assert ("close" in session.events) is (error is not None)
    for each in (session.channel, session.far, hub):
        each.close()
    session.near.close()


def test_views_that_are_kept_may_change_but_stay_memory(hub: Any, session: Session) -> None:
    kept: list[RawFrame] = []
    session.on_serve = kept.extend
    for size in (10, 100 * KIB, 3 * MIB):
        feed(hub, session, frame(bytes(size)))
    session.close()
    hub.close()
    assert [len(each.body) for each in kept] == [10, 100 * KIB, 3 * MIB]
    assert sum(bytes(kept[-1].body)) == 0


def test_what_is_no_frame_comes_after_those_before_it(hub: Any, session: Session) -> None:
    bad = b"GET / HTTP/1.1\r\n" + frame(b"never")
    session.far.send(frame(b"good") + bad)
    serve(hub)
    assert [body for _, _, body in session.frames] == [b"good"]
    assert session.events == ["flush", f"misread {bad.hex()}", "close"]


def test_it_reports_whether_a_frame_has_come(hub: Any, session: Session) -> None:
    reported: list[bool] = []
    session.far.send(frame(b"cut")[:-1])
    serve(hub)
    reported.append(session.channel.began)
    session.far.send(frame(b"cut")[-1:])
    serve(hub)
    reported.append(session.channel.began)
    assert reported == [False, True]


def test_all_that_came_of_another_protocol_is_handed_over(hub: Any, session: Session) -> None:
    hello = b"\x16\x03\x01" + bytes(20 * KIB)
    session.far.send(hello[:5])
    serve(hub)
    session.far.send(hello[5:])
    serve(hub)
    assert session.events == [f"misread {hello.hex()}", "close"]
    assert not session.channel.began


def test_the_other_end_may_leave(hub: Any, session: Session) -> None:
    session.far.send(frame(b"last") + frame(b"cut")[:-1])
    session.far.shutdown(socket.SHUT_WR)
    serve(hub)
    assert session.frames == [(0, b"h", b"last")]
    assert session.events == ["flush", "close"]
    assert not readable(hub)


def test_a_bug_in_serving_one_does_not_touch_others(hub: Any, sessions: Callable[[], Session]) -> None:
    broken, good = sessions(), sessions()

    def bug(_: list[RawFrame]) -> int:
        raise ZeroDivisionError

    broken.on_serve = bug
    for each in (broken, good):
        each.far.send(frame(b"x"))
    serve(hub)
    (error,) = broken.errors
    assert isinstance(error, ZeroDivisionError)
    assert error.__traceback__ is not None
    assert broken.events == ["close"]
    assert good.frames == [(0, b"h", b"x")]


def test_what_is_to_end_everything_does(hub: Any, session: Session) -> None:
    def interrupted(_: list[RawFrame]) -> int:
        raise KeyboardInterrupt

    session.on_serve = interrupted
    session.far.send(frame(b"x"))
    assert hub.ready()
    with pytest.raises(KeyboardInterrupt):
        hub.round(0, 0.0)
    assert session.errors == []


def test_a_session_may_be_closed_while_it_is_served(hub: Any, sessions: Callable[[], Session]) -> None:
    one, other = sessions(), sessions()

    def close_both(frames: list[RawFrame]) -> int:
        for each in (one, other):
            each.close()
        return len(frames)

    one.on_serve = other.on_serve = close_both
    one.far.send(frame())
    other.far.send(frame())
    serve(hub)
    assert len(one.runs) + len(other.runs) == 1
    assert "flush" not in one.events + other.events


def test_a_session_may_be_added_while_another_is_served(hub: Any, sessions: Callable[[], Session]) -> None:
    first = sessions()
    added: list[Session] = []

    def add(_: list[RawFrame]) -> None:
        first.close()
        added.append(sessions())  # may well get the same descriptor
        added[0].far.send(frame(b"new"))

    first.on_serve = add
    first.far.send(frame())
    serve(hub)
    assert added[0].frames == [(0, b"h", b"new")]


def test_nothing_stays_of_closed_connections(hub: Any, sessions: Callable[[], Session]) -> None:
    before = descriptors()
    gone = Session(hub)
    seen = weakref.ref(gone)
    gone.far.send(frame(b"x")[:-1])
    serve(hub)
    gone.close()
    gone.far.close()
    del gone
    gc.collect()
    assert seen() is None
    assert not descriptors() - before


def test_a_closed_hub_reads_nothing_more(session: Session) -> None:
    assert kernel is not None
    before = descriptors()
    hub = kernel.Hub(None, None, RawFrame, int)
    late = Session(hub)
    late.far.send(frame(b"x"))
    hub.close()
    hub.close()
    assert not hub.ready()
    assert hub.fileno() == -1
    later = Session(hub)
    for each in (late, later):
        each.close()
        each.far.close()
    assert not descriptors() - before


def test_arguments_are_checked(hub: Any) -> None:
    assert kernel is not None
    with pytest.raises(TypeError):
        kernel.Hub(None, None, 5, int)
    with pytest.raises(TypeError):
        hub.add(0, None, "text")
    with pytest.raises(OSError, match="Bad file descriptor"):
        hub.add(-1, None, HOST)
    with pytest.raises(TypeError):
        hub.round(0)
    with pytest.raises(TypeError):
        kernel.Channel()


def test_what_is_held_is_counted(hub: Any, sessions: Callable[[], Session]) -> None:
    one, other = sessions(), sessions()
    long, short = frame(bytes(MIB)), frame(b"short")
    feed(hub, one, short + long[:-1])
    feed(hub, other, short[:-1])
    assert (one.channel.held, other.channel.held, hub.held) == (len(long) - 1, len(short) - 1, len(long + short) - 2)
    assert one.channel.beginning() == long[: 64 * KIB]
    assert other.channel.beginning() == short[:-1]
    feed(hub, one, long[-1:])
    assert (one.channel.held, hub.held, one.channel.beginning()) == (0, len(short) - 1, b"")
    other.close()
    assert (other.channel.held, hub.held) == (0, 0)


def test_frames_that_wait_are_counted_from_the_next_one(hub: Any, session: Session) -> None:
    session.on_serve = lambda _: 1
    session.should_yield = True
    session.far.send(frame(b"first") + frame(b"second") + frame(b"third")[:-1])
    assert hub.ready()
    hub.round(0, 0.0)
    assert session.channel.beginning() == frame(b"second") + frame(b"third")[:-1]
    assert session.channel.held == hub.held == len(session.channel.beginning())
    session.should_yield = False
    serve(hub)
    assert session.channel.held == hub.held == len(frame(b"third")) - 1


def test_a_frame_beyond_the_limit_is_none(hub: Any, sessions: Callable[[], Session]) -> None:
    assert hub.max_frame == 16 * MIB
    hub.max_frame = len(frame(bytes(100)))
    long = frame(bytes(101))
    for sent, reported in ((long, long), (long[:20], long[:20]), (long[:8], long[:8])):
        session = sessions()
        session.far.send(frame(bytes(100)) + sent)
        serve(hub)
        assert [len(body) for _, _, body in session.frames] == [100]
        assert session.events == ["flush", f"misread {reported.hex()}", "close"]
    session = sessions()
    session.far.send(long[:7])
    serve(hub)
    assert session.events == []
    session.far.send(long[7:])
    serve(hub)
    assert session.events == [f"misread {long.hex()}", "close"]
