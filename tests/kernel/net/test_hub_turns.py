"""The order of service in the kernel's hub: others first, or a client that must read its answers first."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from typing import Any

from rocketwire.wire.connection import RawFrame
from tests.kernel.net.hub_support import Session, frame, readable, serve


def test_the_rest_of_a_read_waits_for_the_others_turn(hub: Any, sessions: Callable[[], Session]) -> None:
    order: list[tuple[str, bytes]] = []
    long, other = sessions(), sessions()
    long.should_yield = True

    def one(name: str) -> Callable[[list[RawFrame]], int]:
        def note(frames: list[RawFrame]) -> int:
            order.append((name, bytes(frames[0].body)))
            return 1

        return note

    long.on_serve = one("long")
    other.on_serve = one("other")
    half = frame(b"half")
    long.far.send(frame(b"a") + frame(b"b") + frame(b"c") + half[:6])
    assert hub.ready()
    assert hub.round(0, 0.0) is False
    assert readable(hub)
    other.far.send(frame(b"d"))
    serve(hub)
    assert order == [("long", b"a"), ("other", b"d"), ("long", b"b"), ("long", b"c")]
    assert not readable(hub)
    long.far.send(half[6:])
    serve(hub)
    assert order[-1] == ("long", b"half")


def test_a_session_that_waits_for_others_may_be_closed(hub: Any, session: Session) -> None:
    session.should_yield = True
    session.on_serve = lambda _: 1
    session.far.send(frame(b"a") + frame(b"b"))
    hub.ready()
    hub.round(0, 0.0)
    session.close()
    serve(hub)
    assert session.runs == [1]


def test_a_client_that_does_not_read_is_not_read(hub: Any, session: Session) -> None:
    def fill(_: list[RawFrame]) -> int:
        session.channel.writing = session.stalled = True
        return 1

    session.on_serve = fill
    session.far.send(frame(b"a") + frame(b"b") + frame(b"c")[:9])
    serve(hub)
    assert session.channel.stalled
    session.far.send(frame(b"c")[9:] + frame(b"d"))
    session.far.shutdown(socket.SHUT_WR)
    assert not readable(hub)
    session.channel.writing = session.stalled = False
    session.on_serve = lambda _: None
    session.channel.resume()
    session.channel.resume()
    assert readable(hub)
    serve(hub)
    assert [body for _, _, body in session.frames] == [b"a", b"b", b"c", b"d"]
    assert session.events[-1] == "close"


def test_nothing_is_served_while_python_carries_out_a_long_request(hub: Any, session: Session) -> None:
    def run_long_request(_: list[RawFrame]) -> int:
        session.stalled = True
        return 1

    session.on_serve = run_long_request
    session.far.send(frame(b"a") + frame(b"b"))
    serve(hub)
    assert session.channel.stalled
    assert [body for _, _, body in session.frames] == [b"a"]
    session.far.send(frame(b"c"))
    session.channel.resume()
    session.channel.resume()
    serve(hub)
    assert session.channel.stalled
    assert [body for _, _, body in session.frames] == [b"a", b"b"]
    session.stalled = False
    session.on_serve = lambda _: None
    session.channel.resume()
    serve(hub)
    assert [body for _, _, body in session.frames] == [b"a", b"b", b"c"]


def test_who_came_to_wait_between_two_reads_is_not_read(hub: Any, session: Session) -> None:
    session.channel.writing = session.stalled = True
    session.far.send(frame(b"a"))
    serve(hub)
    assert session.channel.stalled
    assert session.frames == []
    session.channel.writing = session.stalled = False
    session.channel.resume()
    serve(hub)
    assert session.frames == [(0, b"h", b"a")]


def test_more_answers_than_the_session_wants_are_flushed_first(hub: Any, session: Session) -> None:
    session.on_serve = lambda _: 1
    session.far.send(frame(b"a") + frame(b"b") + frame(b"c"))
    serve(hub)
    assert [body for _, _, body in session.frames] == [b"a", b"b", b"c"]
    assert session.runs == [1, 1, 1]


def test_a_flood_does_not_keep_others_waiting(hub: Any, sessions: Callable[[], Session]) -> None:
    flood, quiet = sessions(), sessions()
    block = frame(bytes(1000)) * 300
    served: list[str] = []

    def note(name: str) -> Callable[[list[RawFrame]], None]:
        return lambda _: served.append(name)

    def more(_: list[RawFrame]) -> None:
        served.append("flood")
        with contextlib.suppress(BlockingIOError):
            flood.far.send(block)

    flood.on_serve, quiet.on_serve = more, note("quiet")
    flood.far.send(block)
    for _ in range(50):
        quiet.far.send(frame(b"x"))
        before = len(served)
        while "quiet" not in served[before:]:
            assert hub.ready()
            hub.round(0, 0.0)
        assert served[before:].count("flood") <= 2


def test_many_connections(hub: Any, sessions: Callable[[], Session]) -> None:
    made = [sessions() for _ in range(2000)]
    for number, each in enumerate(made):
        each.far.send(frame(b"%d" % number))
    assert serve(hub) >= 2  # not all at once
    assert [each.frames for each in made] == [[(0, b"h", b"%d" % number)] for number in range(2000)]


def test_a_round_that_takes_long_is_served_in_parts(hub: Any, sessions: Callable[[], Session]) -> None:
    made = [sessions() for _ in range(3)]

    def slow(_: list[RawFrame]) -> None:
        sum(range(200_000))

    for each in made:
        each.on_serve = slow
        each.far.send(frame(b"x"))
    assert hub.ready()
    assert hub.round(0, 0.0) is False
    assert hub.unfinished
    assert sum(len(each.runs) for each in made) == 1
    assert serve(hub) == 2
    assert not hub.unfinished


def test_a_hub_with_frames_left_is_readable(hub: Any, sessions: Callable[[], Session]) -> None:
    made = [sessions() for _ in range(3)]
    for each in made:
        each.should_yield = True
        each.on_serve = lambda _: 1
        each.far.send(frame(b"a") + frame(b"b"))
    assert hub.ready()
    while hub.round(0, 0.0) is None or hub.unfinished:
        continue

    def slow(_: list[RawFrame]) -> None:
        sum(range(200_000))

    for each in made:
        each.should_yield = False
        each.on_serve = slow
    for served in (1, 2, 3):
        assert readable(hub)
        assert hub.ready()
        hub.round(0, 0.0)
        assert sum(len(each.runs) - 1 for each in made) == served
    serve(hub)
    assert not readable(hub)


def test_rounds_are_not_nested(hub: Any, session: Session) -> None:
    def nest(_: list[RawFrame]) -> None:
        hub.round(0, 0.0)

    session.on_serve = nest
    session.far.send(frame(b"x"))
    serve(hub)
    assert [str(error) for error in session.errors] == ["a round is being served"]
