"""One HTTP/2 connection of gRPC calls: passes calls to their methods, their requests to dispatch, and answers back.

All calls of a read are begun, their requests are served together, and what is answered then leaves with one write.
Back-pressure: while the client does not read its answers, or grants no window for them, no further call is begun.
"""

from __future__ import annotations

import contextlib
import logging
import socket
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import ip_address
from typing import Any

import trio

from rocketwire.remoting.core.steps import Operation
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.long_tasks import PausedTask
from rocketwire.server.core.request import Reply, Request
from rocketwire.server.grpc.calls import Call
from rocketwire.server.grpc.transport.answer_output import AnswerOutput
from rocketwire.server.grpc.transport.call_queue import CallQueue
from rocketwire.server.grpc.transport.call_steps import CallSteps
from rocketwire.server.grpc.transport.context import GrpcContext
from rocketwire.server.grpc.transport.fast_path import serve_on_fast_path
from rocketwire.server.grpc.transport.request_bounds import CALL_BYTES, REFUSED_CALL
from rocketwire.server.grpc.transport.streams import MessageStream, MessageStreams
from rocketwire.server.grpc.transport.unanswered_calls import UnansweredCalls
from rocketwire.server.limits.limits import CONNECTION_BYTES_KEY
from rocketwire.server.net.long_requests import LongRequests
from rocketwire.server.net.output import HIGH_WATER, Output
from rocketwire.server.net.reader import Reader
from rocketwire.wire.addresses import Address
from rocketwire.wire.header import Header
from rocketwire.wire.hosts import encode_host
from rocketwire.wire.http2.events import (
    CALL,
    ENDED,
    FAILED,
    INTERNAL_ERROR,
    MESSAGE,
    NO_ERROR,
    OPENED,
    RESET,
    TOO_LONG,
    Event,
    Http2,
)

log = logging.getLogger(__name__)


class GrpcConnection:
    """A client's connection, from its preface on: what dispatch, the listener and calls know of it.

    Attributes:
        host: The client's address.
        remote: The client's address and port.
        remote_text: The client's ``host:port``.
        born_host: The client's address as records hold it.
        guarded: Whether guards check the client's account.
        has_accounts: Whether one of them knows its account.
        in_flight: The bytes in flight of all connections.
        nursery: Runs what waits for its client.
        closed: Whether the connection is closed.
    """

    def __init__(
        self,
        sock: socket.socket,
        remote: tuple[str, int],
        context: GrpcContext,
        *,
        nursery: trio.Nursery,
        on_close: Callable[[GrpcConnection], None],
    ) -> None:
        host, port = self.remote = remote
        self.host = host
        self.remote_text = str(Address(host=host, port=port))
        self.born_host = encode_host(host, port)
        self.guarded = context.guarded
        self.has_accounts = context.accounts is not None
        self.in_flight = context.in_flight
        self.nursery = nursery
        self.closed = False
        self._context = context
        self._on_close = on_close
        self._place: str | None = None
        self._ends = False  # whether it closes once all is sent
        self._counted = 0  # bytes counted as in flight beside the output
        self._last_activity = trio.current_time()
        self._long = LongRequests(nursery, self.in_flight)
        self._reader = Reader(sock, self, self.in_flight, context.rounds)
        self._output = Output(sock, self, nursery=nursery, in_flight=self.in_flight)
        self._sent = AnswerOutput(context.http2(), self._output)
        self._answers = UnansweredCalls(self._sent, cancel=self._cancel, count_refusal=self.limited)
        self._queue = CallQueue(
            handle=self._handle,
            serve_requests=self._serve_requests,
            waits=lambda: self._sent.waits,
            schedule=lambda: nursery.start_soon(self._serve_soon),
        )
        self._steps = CallSteps(self, context, self._answers, self._queue.add_requests)
        self._streams = MessageStreams(self, context)

    async def run(self, first: bytes) -> None:
        """Read until either end closes the connection; `first` is what was read of it before."""
        await self._reader.run(first)

    # --- reading

    def receive(self, data: memoryview) -> None:
        """Serve what was read; `send_out` sends what comes of it."""
        self._last_activity = trio.current_time()
        events = self.http2.receive(data)
        self._context.bounds.refuse_calls(events)
        if not self._queue:
            events = serve_on_fast_path(events, self, self._context.fast_paths)
        self._queue.add_events(events)
        self._queue.serve()

    def send_out(self) -> None:
        """Send what is answered."""
        self.flush()
        self._context.dispatch.settle()

    async def serve_rest(self) -> None:
        """Serve the rest of a read, one connection after the other with other tasks between them."""
        while self.unserved:
            async with self._context.rest:
                self._serve()
                await trio.lowlevel.checkpoint()

    @property
    def unserved(self) -> bool:
        """Whether something waits to be served, and may be now."""
        return self._queue.may_be_served

    @property
    def stalled(self) -> bool:
        """Whether to read no further requests now; a client that closed its windows is read: it may open them."""
        return self._output.size > HIGH_WATER

    def disconnected(self) -> None:
        """Close: the other end has, or the connection is broken."""
        self.close()

    def failed(self, error: Exception) -> None:
        """Close the connection because of a bug in serving it, which must not end the others."""
        log.error("closing %(peer)s", {"peer": self.remote_text}, exc_info=error)
        self.close()

    def _serve(self) -> None:
        self._queue.serve()
        self.send_out()

    async def _serve_soon(self) -> None:
        self._serve()
        await self.serve_rest()

    def _serve_requests(self, requests: Sequence[Request[Any]]) -> int:
        return self._context.dispatch.serve_requests(self, requests)

    def _handle(self, event: Event) -> int:
        """Handle an event; return how many calls it counts as."""
        kind, *details = event
        if kind in {CALL, REFUSED_CALL}:
            return self._steps.begin(*details)
        if kind == OPENED:
            self._streams.open(*details)
        elif kind == MESSAGE:
            self._streams.message(*details)
        elif kind == ENDED:
            self._streams.ended(*details)
        elif kind == RESET:
            self._reset(details[0])
        elif kind == TOO_LONG:
            self.in_flight.limits.count_refusal(CALL_BYTES, self.remote_text)
        elif kind == FAILED:
            code, reason = details
            level = logging.DEBUG if code == NO_ERROR else logging.WARNING
            log.log(level, "closing %(peer)s: HTTP/2: %(reason)s", {"peer": self.remote_text, "reason": reason})
            self._ends = True
            self._reader.close()
        return 1

    def _reset(self, stream: int) -> None:
        """The client cancels a stream."""
        self._streams.reset(stream)
        self._answers.cancel(stream)

    def _cancel(self, call: Call) -> None:
        call.closed = True
        self._context.cancelling.add(self, call)

    def cancel_now(self, call: Call) -> None:
        """Drop the requests of a call that wait, and give back what it took."""
        try:
            self._steps.cancel(call, self._serve_requests)
            self._context.dispatch.settle()
        except Exception as error:  # noqa: BLE001 - it is logged: others are to be cancelled, too
            self.failed(error)

    # --- the caller of requests

    @property
    def pauses(self) -> bool:
        """Whether the rest of the requests must wait: other tasks are to run, or the client does not read."""
        return self._queue.should_yield or self._sent.waits

    def request_yield(self) -> None:
        """Let other tasks run before more is served."""
        self._queue.should_yield = True

    def next_opaque(self) -> int:
        """A number for a request that no waiting one of the connection has."""
        return self._steps.pending.next_opaque()

    def answer(self, request: Header, _serialize_type: int, reply: Reply) -> None:
        """Take the reply to a request."""
        self._steps.reply(request.opaque, reply)

    def intercept(self, request: Header, take: Callable[[Reply], None]) -> None:
        """Pass the reply to one request to `take` instead of its call."""
        self._steps.pending.intercept(request.opaque, take)

    def abort(self, request: Header) -> None:
        """End the call of a request without an answer."""
        call = self._steps.pending.forget(request.opaque)
        if call is not None:
            self.http2.reset(call.stream, INTERNAL_ERROR)
            self._reset(call.stream)

    def run_long_request(self, task: Callable[[], Awaitable[None]], size: int) -> None:
        """Carry out a long request; others of the connection do not wait for it."""
        self._long.run(task, size, self)

    def go_on(self) -> None:
        """Send the answer of a long request, which has ended."""
        self.flush()

    def limited(self, error: LimitExceeded) -> None:
        """Count that a limit refused a request of this client."""
        self.in_flight.limits.count_refusal(error.key, self.remote_text)

    # --- the fast path, and streams of messages

    def answer_unary_calls(self, answers: list[tuple[int, bytes]]) -> None:
        """Answer plain calls, each by its stream; `flush` sends that. Nothing happens to those that are over."""
        self.http2.unary_each(answers)

    def answer_stream(self, call: Call, payloads: list[bytes]) -> None:
        """Answer a call with all messages of its stream; `flush` sends them, and if they do not go out, undoes it."""
        self._answers.answer_stream(call, payloads)

    @property
    def http2(self) -> Http2:
        """The protocol's state; that of a closed connection has no calls."""
        return self._sent.http2

    def carry_out(
        self, stream: MessageStream, method: Callable[[Call], Operation[Any]], done: Callable[[Any], None]
    ) -> None:
        """Carry out the request in a message of a stream; `done` gets the result, or the error."""
        self._steps.carry_out(stream.number, stream.headers, method, done)

    def carry_on(self, work: Operation[None]) -> None:
        """Do further work of an answer."""
        paused = self._context.works.start(work)
        if isinstance(paused, PausedTask):
            self.nursery.start_soon(self._context.works.finish, work, paused)

    def forget(self, stream: int) -> None:
        """Forget a stream of messages, which this end has finished."""
        self._streams.forget(stream)

    # --- writing

    def flush(self) -> None:
        """Send what may be sent now: the client's windows allow it."""
        if self.closed:
            return
        if not self.stalled:
            self._sent.move()
        self._count()
        self._output.flush()
        self._sent.forget_sent()
        if self._ends and not self._output.size:
            self.close()

    def _count(self) -> None:
        """Count what calls hold; close the connection if that is more than one may hold."""
        bounded, kept = self._sent.held + self._queue.size, self._answers.kept
        more, self._counted = bounded + kept - self._counted, bounded + kept
        self.in_flight.add(more)
        limits = self.in_flight.limits
        if more > 0 and bounded > limits.keys.current.max_in_flight_bytes_per_connection:
            limits.count_refusal(CONNECTION_BYTES_KEY, self.remote_text)
            self.close()

    def output_waits(self, *, waits: bool) -> None:
        """See `OutputOwner`."""

    def output_progressed(self) -> None:
        """See `OutputOwner`: read on, as the client reads."""
        self._last_activity = trio.current_time()
        if not self.stalled:
            self._reader.resume()

    def output_sent(self) -> None:
        """See `OutputOwner`."""
        self.nursery.start_soon(self._send_more)

    async def _send_more(self) -> None:
        await trio.lowlevel.checkpoint()
        self.flush()
        if self._queue:
            self._queue.wake()

    # --- for others

    @property
    def congested(self) -> bool:
        """Whether more answers wait than those of a client that reads."""
        return self._sent.waits

    @property
    def held(self) -> int:
        """Bytes in flight, with what is kept for its clients until they are gone."""
        return self._output.held + self._counted + self._context.kept_of(self)

    @property
    def place(self) -> str:
        """The client's address; empty: it is on this machine, whichever of its addresses it uses."""
        if self._place is None:
            is_local = ip_address(self.host).is_loopback or self._output.sock.getsockname()[0] == self.host
            self._place = "" if is_local else self.host
        return self._place

    @property
    def silent_since(self) -> float:
        """When bytes were last received or sent."""
        return self._last_activity

    @property
    def last_sign_of_life(self) -> float:
        """When the connection last made progress: since then it has been silent, or has let answers wait."""
        return min(self._last_activity, self._sent.unread_since)

    # --- the end

    def refuse(self, _error: Exception) -> None:
        """End the connection and drop what it holds."""
        self.close()

    def close(self) -> None:
        """Send GOAWAY, as far as the socket takes it, and close; further calls do nothing."""
        if self.closed:
            return
        self._reader.close()
        self._send_goaway()
        self.closed = True
        self._output.close()
        self.in_flight.add(-self._counted)
        self._counted = 0
        self._sent.http2 = self._context.no_http2  # the answers in it would stay until the collector finds them
        self._queue.clear()
        for call in [*self._answers.take_all(), *self._sent.take_unsent(), *self._steps.pending.stream_calls()]:
            self._cancel(call)
        self._streams.close()
        self._context.closed(self)
        self._on_close(self)

    def _send_goaway(self) -> None:
        """Send the answers and GOAWAY, as far as the socket takes them."""
        if not self._ends:
            self._ends = True
            self._streams.leaving()
            self._sent.move()  # else GOAWAY may overtake it
            self.http2.goaway(0)
            self._sent.move()
        with contextlib.suppress(OSError):
            self._output.send_now()
        self._sent.forget_sent()
