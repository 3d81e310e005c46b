"""Sends of the kernel and frames for Python in one read of a hub's channel: nothing is lost, and the order is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rocketwire import native
from rocketwire.wire.connection import RawFrame
from tests.kernel.net.hub_support import MIB, NOW, Session, frame, serve
from tests.kernel.send.test_sends import Rig, send


class Mixed:
    """A connection of a hub that has sends; its clock is `now`, what its frames for Python do `served`."""

    def __init__(self) -> None:
        kernel = native.kernel
        assert kernel is not None
        self.now = NOW
        self.rig = Rig()
        self.hub: Any = kernel.Hub(self.rig.sends, None, RawFrame, lambda: self.now)
        self.session = Session(self.hub)

    @property
    def stored(self) -> list[bytes]:
        """The bodies of what the kernel stored."""
        return [record.body for record in self.rig.records()]

    @property
    def handed_over(self) -> list[bytes]:
        """The bodies of what Python was given."""
        return [body for _, _, body in self.session.frames]

    def receive(self, *frames: bytes) -> None:
        """Serve frames that come at once."""
        self.session.far.send(b"".join(frames))
        serve(self.hub)

    def on(self, body: bytes, action: Callable[[], None]) -> None:
        """Have the frame of this body do something."""

        def each(frames: list[RawFrame]) -> None:
            if any(frame.body == body for frame in frames):
                action()

        self.session.on_serve = each


@pytest.fixture
def mixed() -> Iterator[Mixed]:
    made = Mixed()
    yield made
    made.session.close()
    made.session.far.close()
    made.hub.close()


def congest(session: Session) -> None:
    """Have so much wait that the client is to read first."""
    session.outbox = bytes(5 * MIB)
    session.stalled = session.channel.writing = True


def relieve(session: Session) -> None:
    """Have the client read it."""
    session.outbox = b""
    session.stalled = session.channel.writing = False
    session.channel.resume()


def test_frames_of_both_kinds_are_served_in_order(mixed: Mixed) -> None:
    order: list[list[bytes]] = []
    mixed.session.on_serve = lambda _: order.append(mixed.stored)
    mixed.receive(send(b"one", 1), frame(b"a"), send(b"two", 2), send(b"three", 3), frame(b"b"))
    assert order == [[b"one"], [b"one", b"two", b"three"]]
    assert mixed.handed_over == [b"a", b"b"]


@pytest.mark.parametrize("plan", ["kernel", "python"])
def test_a_send_behind_unread_answers_waits(mixed: Mixed, plan: str) -> None:
    if plan == "python":
        mixed.rig.answer = lambda: None
    mixed.on(b"one", lambda: congest(mixed.session))
    mixed.receive(frame(b"one"), send(b"two", 2), frame(b"three"))
    assert mixed.session.channel.stalled
    assert (mixed.handed_over, mixed.stored) == ([b"one"], [])
    relieve(mixed.session)
    serve(mixed.hub)
    if plan == "python":
        assert mixed.handed_over == [b"one", b"two", b"three"]
    else:
        assert (mixed.handed_over, mixed.stored) == ([b"one", b"three"], [b"two"])


def test_a_send_that_does_not_wait_for_the_disk_is_answered_in_its_round(mixed: Mixed) -> None:
    mixed.rig.sends.deferred = True
    waits, does_not = (send(properties=f"WAIT\x01{value}") for value in ("true", "false"))
    mixed.receive(waits, does_not, frame(b"between"), does_not)
    assert [answers.count(b'"msgId"') for _, answers, _ in mixed.rig.waiting] == [1]
    assert mixed.session.outbox.count(b'"msgId"') == 2


def test_time_does_not_go_back_within_a_round(mixed: Mixed) -> None:
    def set_clock(now: int) -> Callable[[], None]:
        return lambda: setattr(mixed, "now", now)

    mixed.on(b"back", set_clock(NOW - 60_000))
    mixed.receive(send(b"one", 1), frame(b"back"), send(b"two", 2))
    mixed.on(b"on", set_clock(NOW + 5))
    mixed.receive(frame(b"on"), send(b"three", 3))
    assert [record.store_timestamp - NOW for record in mixed.rig.records()] == [0, 0, 5]


def test_what_was_received_before_a_close_is_served(mixed: Mixed) -> None:
    mixed.on(b"closes", mixed.session.close)
    mixed.receive(send(b"one", 1), frame(b"closes"), send(b"two", 2), frame(b"last"))
    assert mixed.stored == [b"one", b"two"]
    assert mixed.handed_over == [b"closes", b"last"]
    assert mixed.session.events == ["close"]


@pytest.mark.parametrize("why", ["pauses", "yields"])
def test_what_would_have_waited_goes_with_the_connection(mixed: Mixed, why: str) -> None:
    def close(_: list[RawFrame]) -> int:
        mixed.session.close()
        mixed.session.should_yield = why == "yields"
        return 1

    mixed.session.on_serve = close
    mixed.receive(frame(b"closes"), *([frame(b"waits")] * (why == "pauses")), send(b"two", 2))
    assert mixed.handed_over == [b"closes"]
    assert mixed.stored == []
