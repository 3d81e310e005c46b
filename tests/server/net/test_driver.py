"""The task that reads one connection. The service of sessions under both drivers: test_session."""

from __future__ import annotations

import contextlib
import math
import socket
import struct
from collections.abc import Iterator
from typing import Any

import trio

from rocketwire.server.net.driver import FrameDriver
from rocketwire.server.net.session import Session
from tests.server.harness import WokenForNothing, account, settle


class Serves:
    """Serves at most so many of the frames that it is offered."""

    def __init__(self, most: int = 1000) -> None:
        self._most = most
        self.offered = 0
        self.served: list[bytes] = []

    def serve(self, session: Session, frames: list[Any]) -> int:
        self.offered = max(self.offered, len(frames))
        self.served += [bytes(body) for _, _, body in frames[: self._most]]
        return min(self._most, len(frames))

    def send_request(self, session: Session, _header: Any, frame: bytes) -> None:
        session.write(frame)

    def settle(self) -> None:
        pass


def driven(sock: socket.socket, dispatcher: Serves, nursery: trio.Nursery) -> tuple[Session, FrameDriver]:
    """A session whose socket a task reads."""
    drivers: list[FrameDriver] = []

    def drive(sock: socket.socket, session: Session) -> FrameDriver:
        drivers.append(FrameDriver(sock, session, settle=dispatcher.settle))
        nursery.start_soon(drivers[0].run)
        return drivers[0]

    session = Session(
        sock,
        ("::1", 5),
        dispatcher=dispatcher,
        drive=drive,
        nursery=nursery,
        on_close=lambda _: None,
        in_flight=account(),
    )
    return session, drivers[0]


@contextlib.contextmanager
def reading(dispatcher: Serves, nursery: trio.Nursery, data: bytes) -> Iterator[FrameDriver]:
    """A connection with these bytes, and the task that reads it."""
    near, far = socket.socketpair()
    near.setblocking(False)
    far.sendall(data)
    session, driver = driven(near, dispatcher, nursery)
    with far:
        yield driver
        session.close()


async def test_a_spurious_wakeup_is_harmless(nursery: trio.Nursery) -> None:
    here, there = socket.socketpair()
    sock = WokenForNothing(fileno=here.detach())
    sock.settimeout(0)
    dispatcher = Serves()
    session, _ = driven(sock, dispatcher, nursery)
    assert session.remote_text == "[::1]:5"
    with there:
        there.send(struct.pack(">iI", 4, 0))
        await settle()
        assert (sock.woken, len(dispatcher.served)) == (2, 1)
    await settle()
    assert session.closed


async def test_others_are_served_between_and_waiting_frames_are_not_overwritten(nursery: trio.Nursery) -> None:
    """Two connections are read into one buffer; waiting frames count with all their bytes."""
    bodies = [b"%04d" % number for number in range(2000)]
    here, there = Serves(), Serves(100)
    stream = b"".join(struct.pack(">iI", 8, 0) + body for body in bodies)
    with reading(here, nursery, stream) as first, reading(there, nursery, stream + stream[:5]) as second:
        while len(there.served) < 200:
            await trio.lowlevel.checkpoint()
            assert abs(len(here.served) // 256 - len(there.served) // 100) <= 1
        assert (here.offered, there.offered) == (256, 256)
        assert first.held == 12 * (2000 - len(here.served))
        assert second.held == 12 * (2000 - len(there.served)) + 5
        await settle()
        assert here.served == there.served == bodies
        assert (first.held, second.held) == (0, 5)
        assert first.frame_started == math.inf
        assert second.frame_started < math.inf


async def test_a_connection_closed_while_frames_wait_is_not_served_any_more(nursery: trio.Nursery) -> None:
    serves = Serves(1)
    with reading(serves, nursery, (struct.pack(">iI", 4, 0)) * 10) as driver:
        while not serves.served:
            await trio.lowlevel.checkpoint()
        served = len(serves.served)  # two, if the reader ran before this task
        driver.close()
        await settle()
    assert (len(serves.served), driver.held) == (served, 0)
    assert served < 10
