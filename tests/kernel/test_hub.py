"""The kernel's hub and its channels, with sessions that only note what they are asked. Whole servers: tests/server."""

from __future__ import annotations

import contextlib
import gc
import math
import random
import select
import socket
import struct
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rocketwire import native
from rocketwire.wire.connection import FrameReader, RawFrame

kernel = native.kernel
assert kernel is not None

HOST = b"\x7f\0\0\x01\0\0\x03\xe8"
KIB = 1 << 10
MIB = 1 << 20


def frame(body: bytes = b"", header: bytes = b"h", kind: int = 0) -> bytes:
    return struct.pack(">iI", 4 + len(header) + len(body), kind << 24 | len(header)) + header + body


class Session:
    """Notes the frames it is given, and answers as told."""

    def __init__(self, hub: Any) -> None:
        self.near, self.far = socket.socketpair()
        self.near.setblocking(False)
        self.far.setblocking(False)
        self.events: list[str] = []
        self.frames: list[tuple[int, bytes, bytes]] = []
        self.runs: list[int] = []
        self.errors: list[Exception] = []
        self.outbox = b""
        self.congested = False
        self.lets_others = False
        self.on_serve: Callable[[list[RawFrame]], int | None] = lambda _: None
        self.channel = hub.add(self.near.fileno(), self, HOST)

    @property
    def unsent(self) -> int:
        return len(self.outbox)

    def serve(self, frames: list[RawFrame]) -> int:
        assert all(type(each) is RawFrame for each in frames)
        taken = self.on_serve(frames)
        handled = len(frames) if taken is None else taken
        self.frames += [(kind, bytes(header), bytes(body)) for kind, header, body in frames[:handled]]
        self.runs.append(handled)
        return handled

    def write(self, *chunks: bytes) -> None:
        self.outbox += b"".join(chunks)

    def flush(self) -> None:
        self.events.append("flush")

    def misread(self, start: bytes) -> None:
        self.events.append(f"misread {start.hex()}")
        self.close()

    def failed(self, error: Exception) -> None:
        self.errors.append(error)
        self.close()

    def close(self) -> None:
        self.events.append("close")
        self.channel.close()
        self.near.close()


@pytest.fixture
def hub() -> Iterator[Any]:
    assert kernel is not None
    made = kernel.Hub(None, None, RawFrame, int)
    yield made
    made.close()


@pytest.fixture
def sessions(hub: Any) -> Iterator[Callable[[], Session]]:
    made: list[Session] = []

    def session() -> Session:
        made.append(Session(hub))
        return made[-1]

    yield session
    for each in made:
        each.channel.close()
        each.near.close()
        each.far.close()


@pytest.fixture
def session(sessions: Callable[[], Session]) -> Session:
    return sessions()


def serve(hub: Any, now: float = 1.0) -> int:
    """Serve until nothing is there; how many rounds it took."""
    rounds = 0
    while hub.ready():
        hub.round(1_700_000_000_000, now)
        rounds += 1
    return rounds


def descriptors() -> int:
    """How many this process has."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def readable(hub: Any) -> bool:
    return bool(select.select([hub.fileno()], [], [], 0)[0])


def feed(hub: Any, session: Session, data: bytes) -> None:
    """Send all of it, serving whenever the socket is full."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[session.far.send(rest) :]
        except BlockingIOError:
            serve(hub)
    serve(hub)


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
    session.far.send(frame(b"good") + b"GET / HTTP/1.1\r\n" + frame(b"never"))
    serve(hub)
    assert [body for _, _, body in session.frames] == [b"good"]
    assert session.events == ["flush", f"misread {b'GET / HT'.hex()}", "close"]


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


def test_the_rest_of_a_read_waits_for_the_others_turn(hub: Any, sessions: Callable[[], Session]) -> None:
    order: list[tuple[str, bytes]] = []
    long, other = sessions(), sessions()
    long.lets_others = True

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
    session.lets_others = True
    session.on_serve = lambda _: 1
    session.far.send(frame(b"a") + frame(b"b"))
    hub.ready()
    hub.round(0, 0.0)
    session.close()
    serve(hub)
    assert session.runs == [1]


def test_who_does_not_read_is_not_read(hub: Any, session: Session) -> None:
    def fill(_: list[RawFrame]) -> int:
        session.channel.writing = session.congested = True
        return 1

    session.on_serve = fill
    session.far.send(frame(b"a") + frame(b"b") + frame(b"c")[:9])
    serve(hub)
    assert session.channel.stalled
    session.far.send(frame(b"c")[9:] + frame(b"d"))
    session.far.shutdown(socket.SHUT_WR)
    assert not readable(hub)
    session.channel.writing = session.congested = False
    session.on_serve = lambda _: None
    session.channel.resume()
    session.channel.resume()
    assert readable(hub)
    serve(hub)
    assert [body for _, _, body in session.frames] == [b"a", b"b", b"c", b"d"]
    assert session.events[-1] == "close"


def test_who_came_to_wait_between_two_reads_is_not_read(hub: Any, session: Session) -> None:
    session.channel.writing = session.congested = True
    session.far.send(frame(b"a"))
    serve(hub)
    assert session.channel.stalled
    assert session.frames == []
    session.channel.writing = session.congested = False
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


def test_rounds_are_not_nested(hub: Any, session: Session) -> None:
    def nest(_: list[RawFrame]) -> None:
        hub.round(0, 0.0)

    session.on_serve = nest
    session.far.send(frame(b"x"))
    serve(hub)
    assert [str(error) for error in session.errors] == ["a round is being served"]


def test_nothing_stays_of_connections_that_are_gone(hub: Any, sessions: Callable[[], Session]) -> None:
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
    assert descriptors() == before


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
    assert descriptors() == before


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
