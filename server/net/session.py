"""One connection: passes frames to the dispatcher, sends the server's own requests, handles invalid input and the end.

A driver reads the socket: the kernel's hub, or a task (`server.net.reader`). Writing is in `server.net.outgoing`,
answering in `server.net.answering`. Back-pressure: while more than `HIGH_WATER` bytes of answers wait, no further
request of this connection is read or handled, so a client that never reads costs a bounded amount of memory and delays
nobody.
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
from rocketwire.server.core.long_tasks import Steps
from rocketwire.server.core.request import ClientAnswer
from rocketwire.server.net.admission.descriptors import DescriptorBudget
from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.server.net.admission.refusals import drain, first_header, refusal_frame
from rocketwire.server.net.answering import Answering
from rocketwire.server.net.client_calls import ClientCalls
from rocketwire.server.net.outgoing import HIGH_WATER
from rocketwire.wire.connection import FrameReader, RawFrame
from rocketwire.wire.errors import FrameError, FrameTooLong
from rocketwire.wire.facts.codes import FLAG_ONEWAY, VERSION_4_9_7
from rocketwire.wire.frame import Buffer, encode_frame
from rocketwire.wire.header import Header
from rocketwire.wire.java import INT32_MAX

log = logging.getLogger(__name__)

TLS_HANDSHAKE: Final = 0x16
"""The first byte of a TLS client's first message, and of no frame: its length would be over 16 MiB."""
HTTP2_PREFACE: Final = ord("P")
"""The first byte of the preface of HTTP/2, and of no frame: its length would be over 1 GiB."""
_NOTHING: Final = -1
_JSON: Final = 0

_opaques = count(1)


class Dispatcher(Protocol):
    """Serves the frames of one read."""

    def serve(self, session: Session, frames: list[RawFrame]) -> int:
        """Handle frames in order; return how many were handled before the session had to pause.

        Raises:
            FrameError: a frame's header cannot be read; those before it were handled.
        """

    def settle(self) -> None:
        """Called when the answers are sent."""

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
        "_on_http2",
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
        linger_budget: DescriptorBudget | None = None,
        on_tls: Callable[[Session, bytes, trio.Nursery], None] | None = None,
        on_http2: Callable[[Session, bytes, trio.Nursery], None] | None = None,
    ) -> None:
        """Make the session of an accepted socket.

        Args:
            sock: The socket.
            remote: The client's host and port.
            dispatcher: Serves its frames.
            nursery: Runs its writing task.
            on_close: Called once when it is closed.
            in_flight: The bytes in flight of all connections.
            linger_budget: The descriptors reserved for answering refusals; None: not limited.
            on_tls: Called with the first bytes and the nursery when the client begins TLS; reading has stopped, and it
                must close the session or move it. None: such a client is closed.
            on_http2: The same for a client that begins HTTP/2; it must take the socket over.
        """
        super().__init__(sock, remote, nursery=nursery, in_flight=in_flight)
        self._dispatcher = dispatcher
        self._on_close = on_close
        self._on_tls = on_tls
        self._on_http2 = on_http2
        self._calls = ClientCalls(nursery, in_flight)
        self._most_waiting = HIGH_WATER
        self._ends = False
        self._drains = False
        self._engaged = 0
        self._engaged_bytes = 0
        self._farewells = linger_budget or DescriptorBudget()

    @property
    def pauses(self) -> bool:
        """Whether the rest of this read's requests must wait.

        The client does not read, other tasks are to run, or a long request is being carried out.
        """
        return self._outbox.size > self._most_waiting or self._engaged > 0

    @property
    def stalled(self) -> bool:
        """Whether to read no further requests now: too many answers wait, or a long request is carried out."""
        return self.congested or self._engaged > 0

    def request_yield(self) -> None:
        """Let other tasks run before the rest of this read is handled: the last request took long."""
        self._most_waiting = _NOTHING

    @property
    def has_long_request(self) -> bool:
        """Whether a long request is being carried out, for which later ones wait."""
        return self._engaged > 0

    @property
    def should_yield(self) -> bool:
        """Whether other tasks are to run before more of this read is served."""
        return self._most_waiting == _NOTHING

    @property
    def held(self) -> int:
        """Bytes in flight: the driver's, the outbox's, long requests', and what is kept for the client."""
        return super().held + self._calls.size + self._engaged_bytes

    @property
    def silent_since(self) -> float:
        """When bytes were last received or sent."""
        return self.driver.last_activity

    @property
    def last_sign_of_life(self) -> float:
        """When the connection last made progress: since then it has been silent, or within one frame."""
        return min(self.driver.last_activity, self.driver.frame_started)

    def run_long_request(self, task: Callable[[], Awaitable[None]], size: int) -> None:
        """Carry out a long request of `size` bytes; the client's later requests wait until it is done."""
        self._begin(size)
        self._nursery.start_soon(self._carry_out, task, size)

    def begin_long_request(self, start: Callable[[Callable[[], None]], None], size: int) -> None:
        """As `run_long_request`, but without a task.

        `start` begins the request, and gets what is called once it is answered.
        """
        self._begin(size)
        starts = True

        def ended() -> None:
            self._end(size)
            if not starts:
                self._go_on()

        start(ended)
        starts = False

    async def _carry_out(self, task: Callable[[], Awaitable[None]], size: int) -> None:
        try:
            await task()
        except Exception as error:  # noqa: BLE001 - it is logged: a bug in one request must not end the others
            self.failed(error)
        finally:
            self._end(size)
        self._go_on()

    def _begin(self, size: int) -> None:
        self._engaged += 1
        self._engaged_bytes += size
        self.in_flight.add(size)

    def _end(self, size: int) -> None:
        self._engaged -= 1
        self._engaged_bytes -= size
        self.in_flight.add(-size)

    def _go_on(self) -> None:
        self.flush()
        if not self._closed and not self.stalled:
            self.driver.resume()

    def serve(self, frames: list[RawFrame]) -> int:
        """Handle the frames of one read in order; return how many were handled before the session had to pause.

        Returns 0 if a header cannot be read: nothing behind it will be handled.
        """
        self._most_waiting = HIGH_WATER
        try:
            return self._dispatcher.serve(self, frames)
        except FrameError as bad_header:
            self.end(bad_header)
            return 0

    def misread(self, rest: Buffer) -> None:
        """Handle input that begins with no frame: TLS, HTTP/2, or the end of the connection."""
        began = self.driver.began
        if rest[0] == TLS_HANDSHAKE and not began:
            self.begin_tls(bytes(rest))
        elif rest[0] == HTTP2_PREFACE and not began and self._on_http2 is not None:
            self.driver.close()
            self._on_http2(self, bytes(rest), self._nursery)
        else:
            longest, _ = self.in_flight.limits.longest_frame
            _, error = FrameReader(longest).receive(memoryview(rest))
            self.end(error, rest)

    def begin_tls(self, first: bytes) -> None:
        """Continue over TLS, of which `first` are the first bytes. TLS within TLS is refused."""
        self.driver.close()
        begin, self._on_tls = self._on_tls, None
        if begin is None:
            log.warning("closing %(peer)s: it begins TLS where none may begin", {"peer": self.remote_text})
            self.close()
        else:
            begin(self, first, self._nursery)

    def end(self, error: FrameError | None, start: Buffer = b"") -> None:
        """Stop reading because of this error, and close once earlier requests are answered.

        A request that is too long is answered, too, if `start` contains its header.
        """
        log.warning("closing %(peer)s: %(reason)s", {"peer": self.remote_text, "reason": error})
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
        """End the connection and drop what it holds; answer its incomplete request if the client reads."""
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
        """Answer the request that begins with these bytes, if they contain its header."""
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
        """Close, as everything is sent; if not too many do so, let the client read a refusal first."""
        if self._drains and self._farewells.take():
            self._nursery.start_soon(self._drain)
        else:
            self.close()

    async def _drain(self) -> None:
        try:
            # A driver's task may still wait for the socket, so this waits for a duplicate.
            with contextlib.suppress(OSError, trio.ClosedResourceError), self._sock.dup() as sock:
                await drain(sock)
        finally:
            self._farewells.give_back()
            self.close()

    def failed(self, error: Exception) -> None:
        """Close the connection because of a bug in serving it, which must not end the others."""
        log.error("closing %(peer)s", {"peer": self.remote_text}, exc_info=error)
        self.close()

    def close(self) -> None:
        """Close the connection and notify its owner; further calls do nothing."""
        if not self._closed:
            super().close()
            self._calls.close()
            self._on_close(self)

    def limited(self, error: LimitExceeded) -> None:
        """Count that a limit refused a request of this client."""
        self.in_flight.limits.count_refusal(error.key, self.remote_text)

    def push(self, code: int, ext: dict[str, str], body: bytes = b"") -> None:
        """Send a one-way request of the server's own, unless the client does not read."""
        if self.congested:
            log.warning(
                "request %(code)d is not sent to %(peer)s, which does not read",
                {"code": code, "peer": self.remote_text},
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
        done: Callable[[ClientAnswer | None], Steps[None] | None],
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

    def match_answer(self, header: Header, body: Buffer) -> Steps[None] | None:
        """Match the client's answer to a waiting request; others are dropped. `body` is copied.

        Returns further work, if that may take long.
        """
        answer = ClientAnswer(code=header.code, remark=header.remark, ext=dict(header.ext or {}), body=bytes(body))
        return self._calls.match_answer(header.opaque, answer)

    def _ask(self, code: int, ext: dict[str, str], body: bytes, *, flag: int) -> tuple[int, int]:
        """Send a request; return its opaque and its size in bytes."""
        opaque = next(_opaques) & INT32_MAX
        header = Header(code=code, opaque=opaque, flag=flag, version=VERSION_4_9_7, ext=ext)
        frame = encode_frame(header, body, _JSON)
        self._dispatcher.ask(self, header, frame)
        self.flush()
        return opaque, len(frame)
