"""One connection: passes frames to the dispatcher, sends the server's own requests, handles invalid input and the end.

A driver reads the socket (`server.net.driver`). Writing is in `server.net.output`, encoding answers in
`server.net.answers`. Back-pressure: while more than `HIGH_WATER` bytes of answers wait, no further request of this
connection is read or handled, so a client that never reads costs a bounded amount of memory and delays no other.
"""

from __future__ import annotations

import contextlib
import logging
import socket
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any, Final, Protocol, TypeAlias

import trio

from rocketwire.remoting.core.session import Response
from rocketwire.remoting.core.steps import Operation
from rocketwire.server.core.errors import ServerError
from rocketwire.server.core.guard_errors import FrameRefused, LimitExceeded
from rocketwire.server.core.request import OnClientAnswer, Reply, Request
from rocketwire.server.net.admission.descriptors import DescriptorBudget
from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.server.net.admission.refusals import drain, first_header, refusal_frame
from rocketwire.server.net.answers import Answers
from rocketwire.server.net.client_calls import ClientCalls
from rocketwire.server.net.driver import HTTP2_PREFACE, TLS_HANDSHAKE, ConnectionDriver
from rocketwire.server.net.long_requests import LongRequests
from rocketwire.server.net.output import HIGH_WATER, Output
from rocketwire.wire.addresses import Address
from rocketwire.wire.connection import FrameReader, RawFrame
from rocketwire.wire.errors import FrameError, FrameTooLong
from rocketwire.wire.facts.codes import FLAG_ONEWAY, VERSION_4_9_7
from rocketwire.wire.frame import Buffer, encode_frame
from rocketwire.wire.header import Header
from rocketwire.wire.hosts import encode_host
from rocketwire.wire.java import INT32_MAX

log = logging.getLogger(__name__)

_NOTHING: Final = -1
_JSON: Final = 0

_opaques = count(1)

TakeOver: TypeAlias = "Callable[[Session, bytes], None]"
"""Takes the socket of a session by `hand_over` and serves it in another form; the bytes are what was read of it."""


class Dispatcher(Protocol):
    """Serves the frames of one read."""

    def serve(self, session: Session, frames: list[RawFrame]) -> int:
        """Handle frames in order; return how many were handled before the session had to pause.

        Raises:
            FrameError: a frame's header cannot be read; those before it were handled.
        """

    def settle(self) -> None:
        """Called when the answers are sent."""

    def send_request(self, session: Session, header: Header, frame: bytes) -> None:
        """Write one of the server's requests, with this header, to a session."""


class Session:
    """A client's connection to one listener.

    Attributes:
        driver: Reads the connection.
        host: The client's address.
        remote: The client's address and port.
        in_flight: The bytes in flight of all connections.
        remote_text: The client's ``host:port``.
        born_host: The client's address as records hold it.
        closed: Whether the connection is closed.
    """

    __slots__ = (
        "__weakref__",
        "_answers",
        "_calls",
        "_dispatcher",
        "_drains",
        "_ends",
        "_linger_budget",
        "_long",
        "_most_waiting",
        "_nursery",
        "_on_close",
        "_on_http2",
        "_on_tls",
        "_output",
        "born_host",
        "closed",
        "driver",
        "host",
        "in_flight",
        "remote",
        "remote_text",
    )

    def __init__(
        self,
        sock: socket.socket,
        remote: tuple[str, int],
        *,
        dispatcher: Dispatcher,
        drive: Callable[[socket.socket, Session], ConnectionDriver],
        nursery: trio.Nursery,
        on_close: Callable[[Session], None],
        in_flight: InFlight,
        linger_budget: DescriptorBudget | None = None,
        on_tls: TakeOver | None = None,
        on_http2: TakeOver | None = None,
    ) -> None:
        """Make the session of an accepted socket.

        Args:
            sock: The socket.
            remote: The client's host and port.
            dispatcher: Serves its frames.
            drive: Gives what reads the socket for the session.
            nursery: Runs its writing task.
            on_close: Called once when it is closed.
            in_flight: The bytes in flight of all connections.
            linger_budget: The descriptors reserved for answering refusals; None: not limited.
            on_tls: Takes the socket over when the client begins TLS; None: such a client is closed.
            on_http2: The same for a client that begins HTTP/2; None: its input is no frame, and the connection ends.
        """
        host, port = self.remote = remote
        self.host = host
        self.remote_text = str(Address(host=host, port=port))
        self.born_host = encode_host(host, port)
        self.in_flight = in_flight
        self.closed = False
        self._dispatcher = dispatcher
        self._nursery = nursery
        self._on_close = on_close
        self._on_tls = on_tls
        self._on_http2 = on_http2
        self._output = Output(sock, self, nursery=nursery, in_flight=in_flight)
        self._answers = Answers(self.remote_text)
        self._long = LongRequests(nursery, in_flight)
        self._calls = ClientCalls(nursery, in_flight)
        self._most_waiting = HIGH_WATER
        self._ends = False
        self._drains = False
        self._linger_budget = linger_budget or DescriptorBudget()
        self.driver = drive(sock, self)

    # --- what waits

    @property
    def pauses(self) -> bool:
        """Whether the rest of this read's requests must wait.

        The client does not read, other tasks are to run, or a long request is being carried out.
        """
        return self._output.size > self._most_waiting or self._long.count > 0

    @property
    def stalled(self) -> bool:
        """Whether to read no further requests now: too many answers wait, or a long request is carried out."""
        return self._output.congested or self._long.count > 0

    @property
    def congested(self) -> bool:
        """Whether more answers wait than those of a client that reads."""
        return self._output.congested

    async def drained(self) -> None:
        """Wait until it is no longer congested, or is closed; for one task at a time."""
        await self._output.drained()

    @property
    def unsent(self) -> int:
        """Bytes of unsent answers."""
        return self._output.size

    def request_yield(self) -> None:
        """Let other tasks run before the rest of this read is handled: the last request took long."""
        self._most_waiting = _NOTHING

    @property
    def should_yield(self) -> bool:
        """Whether other tasks are to run before more of this read is served."""
        return self._most_waiting == _NOTHING

    @property
    def held(self) -> int:
        """Bytes in flight: the driver's, the outbox's, long requests', and what is kept for the client."""
        return self.driver.held + self._output.held + self._calls.size + self._long.size

    def keep(self, size: int) -> None:
        """Count about so many bytes of memory as kept for the client until its connection ends."""
        if not self.closed:
            self._output.keep(size)

    @property
    def silent_since(self) -> float:
        """When bytes were last received or sent."""
        return self.driver.last_activity

    @property
    def last_sign_of_life(self) -> float:
        """When the connection last made progress: since then it has been silent, or within one frame."""
        return min(self.driver.last_activity, self.driver.frame_started)

    # --- long requests

    @property
    def has_long_request(self) -> bool:
        """Whether a long request is being carried out, for which later ones wait."""
        return self._long.count > 0

    def run_long_request(self, task: Callable[[], Awaitable[None]], size: int) -> None:
        """Carry out a long request of `size` bytes; the client's later requests wait until it is done."""
        self._long.run(task, size, self)

    def begin_long_request(self, start: Callable[[Callable[[], None]], None], size: int) -> None:
        """As `run_long_request`, but without a task.

        `start` begins the request, and gets what is called once it is answered.
        """
        self._long.begin(start, size, self)

    def go_on(self) -> None:
        """Serve the requests that waited for the long one, which has ended."""
        self.flush()
        if not self.closed and not self.stalled:
            self.driver.resume()

    # --- writing

    def write(self, *chunks: Buffer) -> None:
        """Put bytes in the outbox; `flush` sends them. Nothing happens once the connection is closed."""
        if not self.closed:
            self._output.write(*chunks)

    def flush(self) -> None:
        """Send what is buffered; the rest follows as the socket takes it."""
        self._output.flush()

    def output_waits(self, *, waits: bool) -> None:
        """See `OutputOwner`."""
        self.driver.writing = waits

    def output_progressed(self) -> None:
        """See `OutputOwner`: read on, as the client reads."""
        self.driver.last_activity = trio.current_time()
        if not self.stalled:
            self.driver.resume()

    def output_sent(self) -> None:
        """See `OutputOwner`."""
        if self._ends:
            self._finish()

    # --- answers

    def reply(self, request: Request[Any], reply: Reply) -> None:
        """Answer a held request."""
        self.answer(request.header, request.serialize_type, reply)

    def answer(self, request: Header, serialize_type: int, reply: Reply) -> None:
        """Answer a request in its own serialisation; nothing is written for a one-way request.

        An answer that does not fit in a frame is replaced by an error.
        """
        if not self.closed:
            self._output.write(*self._answers.encode(request, serialize_type, reply))

    @property
    def intercepts(self) -> bool:
        """Whether some answers are intercepted: then all must be written by `answer` or `reply`."""
        return self._answers.intercepts

    def intercept(self, request: Header, take: Callable[[bytes], None]) -> None:
        """Pass the whole frame of the answer to one request to `take` instead of the client."""
        self._answers.intercept(request, take)

    def take_intercepted(self, opaque: int, frame: bytes) -> bool:
        """Pass the whole frame of an answer on if it is intercepted; return whether it is."""
        return self._answers.take_intercepted(opaque, frame)

    # --- reading

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
        first = None if self.driver.began else rest[0]
        if first == TLS_HANDSHAKE and self._on_tls is None:
            log.warning("closing %(peer)s: it begins TLS where none may begin", {"peer": self.remote_text})
            self.close()
        elif first == TLS_HANDSHAKE and self._on_tls is not None:
            self._on_tls(self, bytes(rest))
        elif first == HTTP2_PREFACE and self._on_http2 is not None:
            self._on_http2(self, bytes(rest))
        else:
            longest, _ = self.in_flight.limits.longest_frame
            _, error = FrameReader(longest).receive(memoryview(rest))
            self.end(error, rest)

    def hand_over(self) -> socket.socket:
        """Give the socket away: the connection continues in another form, and this session sends nothing more.

        For a connection on which nothing was served.
        """
        self.driver.close()
        self.closed = True
        return self._output.sock

    # --- the end

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
        if not self._output.size:
            self._finish()

    def refuse(self, error: ServerError) -> None:
        """End the connection and drop what it holds; answer its incomplete request if the client reads."""
        if self._output.size:
            self.close()
            return
        beginning = self.driver.beginning()
        self._ends = True
        self.driver.close()
        self._answer_first(beginning, error)
        self.flush()
        if not self._output.size:
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

    def _finish(self) -> None:
        """Close, as everything is sent; if not too many do so, let the client read a refusal first."""
        if self._drains and self._linger_budget.take():
            self._nursery.start_soon(self._drain)
        else:
            self.close()

    async def _drain(self) -> None:
        try:
            # A driver's task may still wait for the socket, so this waits for a duplicate.
            with contextlib.suppress(OSError, trio.ClosedResourceError), self._output.sock.dup() as sock:
                await drain(sock)
        finally:
            self._linger_budget.give_back()
            self.close()

    def failed(self, error: Exception) -> None:
        """Close the connection because of a bug in serving it, which must not end the others."""
        log.error("closing %(peer)s", {"peer": self.remote_text}, exc_info=error)
        self.close()

    def close(self) -> None:
        """Close the connection and notify its owner; further calls do nothing."""
        if self.closed:
            return
        self.closed = True
        self.driver.close()
        self._output.close()
        self._answers.forget()
        self._calls.close()
        self._on_close(self)

    # --- requests of the server's own

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
            self._send_request(code, ext, body, flag=FLAG_ONEWAY)

    def call(self, code: int, ext: dict[str, str], body: bytes, *, seconds: float, done: OnClientAnswer) -> None:
        """Send a request of the server's own; `done` gets the client's answer, or None if there is none."""
        if self.congested or self._calls.full:
            done(None)
            return
        opaque, size = self._send_request(code, ext, body, flag=0)
        if self.closed:
            done(None)
        else:
            self._calls.add(opaque, size=size, seconds=seconds, done=done)

    def match_answer(self, header: Header, body: Buffer) -> Operation[None] | None:
        """Match the client's answer to a waiting request; others are dropped. `body` is copied.

        Returns further work, if that may take long.
        """
        answer = Response(code=header.code, remark=header.remark, ext=dict(header.ext or {}), body=bytes(body))
        return self._calls.match_answer(header.opaque, answer)

    def _send_request(self, code: int, ext: dict[str, str], body: bytes, *, flag: int) -> tuple[int, int]:
        """Send a request; return its opaque and its size in bytes."""
        opaque = next(_opaques) & INT32_MAX
        header = Header(code=code, opaque=opaque, flag=flag, version=VERSION_4_9_7, ext=ext)
        frame = encode_frame(header, body, _JSON)
        self._dispatcher.send_request(self, header, frame)
        self.flush()
        return opaque, len(frame)
