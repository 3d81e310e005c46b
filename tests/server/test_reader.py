"""The task that reads one connection; how it serves sessions: test_session, for both drivers."""

from __future__ import annotations

import socket
import struct
from typing import Any

import trio

from rocketwire.server.reader import Reader
from rocketwire.server.session import Session
from tests.server.harness import settle


async def test_being_woken_for_nothing_is_no_matter(nursery: trio.Nursery) -> None:
    class Spurious(socket.socket):
        woken = 0

        def recv_into(self, *args: Any) -> int:
            self.woken += 1
            if self.woken == 1:
                raise BlockingIOError
            return super().recv_into(*args)

    class Nobody:
        served = 0

        def serve(self, session: Session, frames: list[Any]) -> int:
            self.served += len(frames)
            return len(frames)

        def settle(self) -> None:
            pass

    here, there = socket.socketpair()
    sock = Spurious(fileno=here.detach())
    sock.settimeout(0)
    nobody = Nobody()
    session = Session(sock, ("::1", 5), dispatcher=nobody, nursery=nursery, on_close=lambda _: None)
    assert session.remote_text == "[::1]:5"
    session.driver = reader = Reader(sock, session, settle=nobody.settle)
    nursery.start_soon(reader.run)
    with there:
        there.send(struct.pack(">iI", 4, 0))
        await settle()
        assert (sock.woken, nobody.served) == (2, 1)
    await settle()
    assert session._closed
