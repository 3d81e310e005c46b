"""One connection: hands frames to the dispatcher, takes what is no frame, ends, and asks its client.

What reads the socket is the session's driver: the kernel's hub, or a task (`server.net.reader`). What leaves it is in
`server.net.outgoing`, and answers are in `server.net.answering`. While more than `HIGH_WATER` bytes of answers wait, no
further request of this connection is read or handled, so a client that never reads its answers costs a bounded amount
of memory and nobody else's time.
"""

from __future__ import annotations

import contextlib
import logging
import socket
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Final, Protocol

import trio

from rocketwire.server.core.errors import ServerError
from rocketwire.server.core.guard_errors import FrameRefused, LimitExceeded
from rocketwire.server.core.request import Answer
from rocketwire.server.core.works import Steps
from rocketwire.server.net.answering import Answering
from rocketwire.server.net.client_calls import ClientCalls
from rocketwire.server.net.descriptors import Room
from rocketwire.server.net.in_flight import InFlight
from rocketwire.server.net.outgoing import HIGH_WATER
from rocketwire.server.net.refusals import drain, first_header, refusal_frame
from rocketwire.wire.codes import FLAG_ONEWAY, VERSION_4_9_7
from rocketwire.wire.connection import FrameReader, RawFrame
from rocketwire.wire.errors import FrameError, FrameTooLong
from rocketwire.wire.frame import Buffer, encode_frame
from rocketwire.wire.header import Header

log = logging.getLogger(__name__)

TLS_HANDSHAKE: Final = 0x16
"""What a TLS client's first message begins with, and no frame: its length would be over 16 MiB."""
_NOTHING: Final = -1
_JSON: Final = 0
_INT_MAX: Final = 2**31 - 1

_opaques = count(1)


class Dispatcher(Protocol):
    """Takes the frames of one read."""

    def serve(self, session: Session, frames: list[RawFrame]) -> int:
        """Handle frames in order; return how many were handled before the session had to pause.

        Raises:
            FrameError: a frame's header cannot be read; those before it were handled.
        """

    def settle(self) -> None:
        """Do what may wait until the answers are on their way."""

    def ask(self, session: Session, header: Header, frame: bytes) -> None:
        """Write a request of the server's own, with this header, to a session."""


class Session(Answering):
    """A client's connection to one listener."""

    __slots__ = (
        "__weakref__",
        "_calls",
        "_dispatcher",
        "_drains",
        "_ends",
        "_engaged",
        "_engaged_bytes",
        "_farewells",
        "_most_waiting",
        "_on_close",
        "_on_tls",
    )

    def __init__(
        self,
        sock: socket.socket,
        remote: tuple[str, int],
        *,
        dispatcher: Dispatcher,
        nursery: trio.Nursery,
        on_close: Callable[[Session], None],
        in_flight: InFlight,
        farewells: Room | None = None,
        on_tls: Callable[[Session, bytes, trio.Nursery], None] | None = None,
    ) -> None:
        """Make the session of an accepted socket.

        Args:
            sock: The connection's.
            remote: The client's host and port.
            dispatcher: Serves its frames.
            nursery: Where its writing task runs.
            on_close: Told once when it is closed.
            in_flight: The account of bytes of all connections.
            farewells: The descriptors for those that are told why they are closed; None: as many as it takes.
            on_tls: Told, with what came and the nursery, that the client begins TLS. Nothing is read any more then:
                it is to close the session or to move it. None: such a client is closed.
        """
        super().__init__(sock, remote, nursery=nursery, in_flight=in_flight)
        self._dispatcher = dispatcher
        self._on_close = on_close
        self._on_tls = on_tls
        self._calls = ClientCalls(nursery, in_flight)
        self._most_waiting = HIGH_WATER
        self._ends = False
        self._drains = False
        self._engaged = 0
        self._engaged_bytes = 0
        self._farewells = farewells or Room()

    @property
    def pauses(self) -> bool:
        """Whether the rest of this read's requests is to wait.

        The client does not read, it is others' turn, or a long request is being carried out.
        """
        return self._outbox.size > self._most_waiting or self._engaged > 0

    @property
    def stalled(self) -> bool:
        """Whether no further request is to be read now: too many answers wait, or a long request is carried out."""
        return self.congested or self._engaged > 0

    def let_others(self) -> None:
        """Handle no further request of this read before others had their turn: what this one asked for was long."""
        self._most_waiting = _NOTHING

    @property
    def lets_others(self) -> bool:
        """Whether others are to have their turn before more of this read is served."""
        return self._most_waiting == _NOTHING

    @property
    def held(self) -> int:
        """Bytes in the account: the driver's, the outbox's, long requests', and what is kept for the client."""
        return super().held + self._calls.size + self._engaged_bytes

    @property
    def silent_since(self) -> float:
        """When bytes last went either way."""
        return self.driver.last_activity

    @property
    def stuck_since(self) -> float:
        """When the connection last got on: since then it is silent, or is within one frame."""
        return min(self.driver.last_activity, self.driver.frame_started)

    def engage(self, task: Callable[[], Awaitable[None]], size: int) -> None:
        """Carry out a long request of so many bytes: what the client asked for after it waits until it is done."""
        self._engaged += 1
        self._engaged_bytes += size
        self.in_flight.add(size)
        self._nursery.start_soon(self._carry_out, task, size)

    async def _carry_out(self, task: Callable[[], Awaitable[None]], size: int) -> None:
        try:
            await task()
        except Exception as error:  # noqa: BLE001 - it is logged: a bug in one request must not end the others
            self.failed(error)
        finally:
            self._engaged -= 1
            self._engaged_bytes -= size
            self.in_flight.add(-size)
        self.flush()
        if not self._closed and not self.stalled:
            self.driver.resume()

    def serve(self, frames: list[RawFrame]) -> int:
        """Handle frames of one read in order; give how many were handled before the session had to pause.

        None is said to be handled where a header cannot be read: nothing behind it will be.
        """
        self._most_waiting = HIGH_WATER
        try:
            return self._dispatcher.serve(self, frames)
        except FrameError as bad_header:
            self.end(bad_header)
            return 0

    def misread(self, rest: Buffer) -> None:
        """Take what begins with no frame, or with the byte that TLS begins with: it, or the end of the connection."""
        if rest[0] == TLS_HANDSHAKE and not self.driver.began:
            self.begin_tls(bytes(rest))
        else:
            longest, _ = self.in_flight.limits.longest_frame
            _, error = FrameReader(longest).receive(memoryview(rest))
            self.end(error, rest)

    def begin_tls(self, first: bytes) -> None:
        """Have the connection served by TLS, whose first bytes these are. TLS does not begin again within TLS."""
        self.driver.close()
        begin, self._on_tls = self._on_tls, None
        if begin is None:
            log.warning("closing %s: it begins TLS where none may begin", self.remote_text, extra=self.who())
            self.close()
        else:
            begin(self, first, self._nursery)

    def end(self, error: FrameError | None, start: Buffer = b"") -> None:
        """Read no further because of this error, and close once what was asked before is answered.

        A request that is too long is answered, too, if the bytes that it starts with hold its header.
        """
        log.warning("closing %s: %s", self.remote_text, error, extra=self.who())
        self._ends = True
        self.driver.close()
        if isinstance(error, FrameTooLong):
            limits = self.in_flight.limits
            most, key = limits.longest_frame
            limits.metrics.limited[key] += 1
            self._answer_first(start, FrameRefused(error.length, key, most))
        self.flush()
        if not self._outbox.size:
            self._finish()

    def refuse(self, error: ServerError) -> None:
        """End the connection: what it holds is not waited for. Answer the request it is within, if it reads answers."""
        if self._outbox.size:
            self.close()
            return
        beginning = self.driver.beginning()
        self._ends = True
        self.driver.close()
        self._answer_first(beginning, error)
        self.flush()
        if not self._outbox.size:
            self._finish()

    def _answer_first(self, start: Buffer, error: ServerError) -> None:
        """Answer the request that begins with these bytes, if they hold its header."""
        try:
            found = first_header(start)
        except FrameError:
            found = None
        if found is not None:
            self._drains = True
            self.write(refusal_frame(*found, error))

    def _sent(self) -> None:
        if self._ends:
            self._finish()

    def _finish(self) -> None:
        """Close, as everything is sent; who was told why is let read that first, if there are not many of those."""
        if self._drains and self._farewells.take():
            self._nursery.start_soon(self._drain)
        else:
            self.close()

    async def _drain(self) -> None:
        try:
            # A driver's task may still wait for the socket: this waits for a duplicate.
            with contextlib.suppress(OSError, trio.ClosedResourceError), self._sock.dup() as sock:
                await drain(sock)
        finally:
            self._farewells.give_back()
            self.close()

    def failed(self, error: Exception) -> None:
        """Close the connection, for there is a bug in serving it; it must not end the others."""
        log.error("closing %s", self.remote_text, exc_info=error, extra=self.who())
        self.close()

    def close(self) -> None:
        """Close the connection and tell the owner; further calls do nothing."""
        if not self._closed:
            super().close()
            self._calls.close()
            self._on_close(self)

    def limited(self, error: LimitExceeded) -> None:
        """Count that a limit refused a request of the client."""
        self.in_flight.limits.refused(error.key, self.remote_text)

    def push(self, code: int, ext: dict[str, str], body: bytes = b"") -> None:
        """Send a one-way request of the server's own, with an opaque of its own, to a client that reads."""
        if self.congested:
            log.warning(
                "request %d is not sent to %s, which does not read", code, self.remote_text, extra=self.who(code)
            )
        else:
            self._ask(code, ext, body, flag=FLAG_ONEWAY)

    def call(
        self,
        code: int,
        ext: dict[str, str],
        body: bytes,
        *,
        seconds: float,
        done: Callable[[Answer | None], Steps[None] | None],
    ) -> None:
        """Send a request of the server's own; `done` gets the client's answer, or None if there is none."""
        if self.congested or self._calls.full:
            done(None)
            return
        opaque, size = self._ask(code, ext, body, flag=0)
        if self._closed:
            done(None)
        else:
            self._calls.add(opaque, size=size, seconds=seconds, done=done)

    def answered(self, header: Header, body: Buffer) -> Steps[None] | None:
        """Take the client's answer to a call; others are dropped. `body` is copied.

        Gives what is to be done with it, if that may take long.
        """
        answer = Answer(code=header.code, remark=header.remark, ext=dict(header.ext or {}), body=bytes(body))
        return self._calls.answered(header.opaque, answer)

    def _ask(self, code: int, ext: dict[str, str], body: bytes, *, flag: int) -> tuple[int, int]:
        """Send a request; give its opaque and its bytes."""
        opaque = next(_opaques) & _INT_MAX
        header = Header(code=code, opaque=opaque, flag=flag, version=VERSION_4_9_7, ext=ext)
        frame = encode_frame(header, body, _JSON)
        self._dispatcher.ask(self, header, frame)
        self.flush()
        return opaque, len(frame)
