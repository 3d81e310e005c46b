"""One HTTP/2 connection of gRPC calls: passes calls to their methods, their requests to dispatch, and answers back.

All calls of a read are begun, their requests are served together, and what is answered then leaves with one write.
Back-pressure: while the client does not read its answers, or grants no window for them, no further call is begun.
"""

from __future__ import annotations

import logging
import socket
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from ipaddress import ip_address
from types import GeneratorType
from typing import Any, Final

import trio
from google.protobuf.message import DecodeError, Message

from rocketwire.server.core.long_tasks import PausedTask, Steps
from rocketwire.server.core.request import Reply, Request
from rocketwire.server.grpc.calls import Call, GrpcMethod, MethodKind, RpcSteps
from rocketwire.server.grpc.transport.answering import Answering
from rocketwire.server.grpc.transport.context import GrpcContext
from rocketwire.server.grpc.transport.fast_path import serve_on_fast_path
from rocketwire.server.grpc.transport.request_bounds import CALL_BYTES, REFUSED_CALL, RequestMalformed, request_bytes
from rocketwire.server.grpc.transport.streams import MessageStream, MessageStreams
from rocketwire.server.net.reader import Reader
from rocketwire.wire.grpc.checks import check_client_id
from rocketwire.wire.grpc.codes import GrpcStatus
from rocketwire.wire.header import Header
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
)

log = logging.getLogger(__name__)

_AT_ONCE: Final = 64
"""The most calls that are begun before their requests are served."""
_STREAMED_COUNTS: Final = 16
"""As so many of these counts a call that is answered with a stream: each may get 256 KiB of messages, or one of 4 MiB.
The answers of all that are served together are made before it is known whether the client reads them."""
_EVENT_BYTES: Final = 256
"""What an event costs that waits, beside its message."""
_ROUNDS: Final = 4
"""How often this is done before other tasks run."""
_SECONDS: Final = 0.002
"""How long other calls are begun before other tasks run: a large request alone may take that long."""

_ANSWERED: Final = frozenset({CALL, REFUSED_CALL})
"""Events that are answered at once, or soon."""
_WAITING: Final = _ANSWERED | {OPENED, MESSAGE}
"""Events that may lead to answers: they wait while too much waits for the client."""
_NO_METHOD: Final = GrpcMethod(bytes, Message, lambda *_: iter(()))  # type: ignore[arg-type]


class Connection(Answering):
    """A client's connection, from its preface on."""

    __slots__ = (
        "_events",
        "_later",
        "_on_close",
        "_place",
        "_reader",
        "_requests",
        "_served",
        "_should_yield",
        "_streams",
        "guarded",
    )

    def __init__(
        self,
        sock: socket.socket,
        remote: tuple[str, int],
        serving: GrpcContext,
        *,
        nursery: trio.Nursery,
        on_close: Callable[[Connection], None],
    ) -> None:
        super().__init__(sock, remote, serving, nursery=nursery)
        self._on_close = on_close
        self.guarded = serving.guarded
        self._events: deque[tuple[Any, ...]] = deque()
        self._streams = MessageStreams(self, serving)
        self._requests: list[Request[Any]] = []
        self._place: str | None = None
        self._served = False
        self._later = False
        self._should_yield = False
        self._reader = Reader(sock, self, self.in_flight, serving.rounds)

    async def run(self, first: bytes) -> None:
        """Read until either end closes the connection; `first` is what was read of it before."""
        await self._reader.run(first)

    # --- reading

    def receive(self, data: memoryview) -> None:
        """Serve what was read; `send_out` sends what comes of it."""
        self.last_activity = trio.current_time()
        events = self._http2.receive(data)
        self._serving.bounds.refuse_calls(events)
        if not (self._events or self._requests):
            events = serve_on_fast_path(events, self, self._serving.fast_paths)
        for event in events:
            self._events.append(event)
            self._queued += _size_of(event)
        self._serve()

    def serve(self) -> bool:
        """Begin calls, have their requests served, and send what is answered; return whether there is more to do."""
        if self._served:
            return False  # further down on the stack it is done already
        self._serve()
        self.send_out()
        return self.unserved

    async def serve_rest(self) -> None:
        """Serve what is left, one connection after the other with other tasks between them."""
        while self.unserved:
            async with self._serving.rest:
                self.serve()
                await trio.lowlevel.checkpoint()

    def send_out(self) -> None:
        """Send what is answered."""
        self.flush()
        self._serving.dispatch.settle()

    @property
    def full(self) -> bool:
        """Whether so much waits for the client that no further call is begun."""
        return self._waits

    @property
    def unserved(self) -> bool:
        """Whether something waits to be served, and may be now."""
        return (bool(self._requests) and not self._waits) or (self._next_event and not self._closed)

    def _serve(self) -> None:
        if self._served:
            return
        self._should_yield = False
        if not self._events and not self._requests:
            return  # as after most reads: all their calls were plain
        self._served = True
        until = trio.current_time() + _SECONDS
        try:
            for _ in range(_ROUNDS):
                self._begin_some(until)
                self._serve_requests()
                if self._requests or not self._next_event or self._should_yield:
                    break
        finally:
            self._served = False

    @property
    def _next_event(self) -> bool:
        """Whether an event is to be handled; none that may be answered while too much waits for the client."""
        events = self._events
        return bool(events) and (events[0][0] not in _WAITING or not self._waits)

    def _begin_some(self, until: float) -> None:
        """Handle events, until so many calls are begun that their requests are to be served first."""
        begun = 0
        while begun < _AT_ONCE and self._next_event:
            event = self._events.popleft()
            self._queued -= _size_of(event)
            method = self._serving.methods.get(event[2]) if event[0] == CALL else None
            begun += _STREAMED_COUNTS if method is not None and method.kind is MethodKind.STREAM else 1
            self._handle(*event)
            if trio.current_time() > until:
                self._should_yield = True
                break

    def _serve_requests(self) -> None:
        if not self._requests:
            return
        until = trio.current_time() + _SECONDS
        while self._requests and not self._waits:
            requests, self._requests = self._requests, []
            handled = self._serving.dispatch.serve_requests(self, requests)
            if handled < len(requests):
                self._requests[:0] = requests[handled:]
                return
            if trio.current_time() > until:
                self._should_yield = True  # calls of many steps ask for more with each answer
                return

    def _handle(self, kind: int, *said: Any) -> None:  # noqa: ANN401 - see Http2
        if kind in _ANSWERED:
            self._begin(*said)
        elif kind == OPENED:
            self._streams.open(*said)
        elif kind == MESSAGE:
            self._streams.message(*said)
        elif kind == ENDED:
            self._streams.ended(*said)
        elif kind == RESET:
            self._reset(said[0])
        elif kind == TOO_LONG:
            self.in_flight.limits.count_refusal(CALL_BYTES, self.remote_text)
        elif kind == FAILED:
            code, reason = said
            level = logging.DEBUG if code == NO_ERROR else logging.WARNING
            log.log(level, "closing %(peer)s: HTTP/2: %(reason)s", {"peer": self.remote_text, "reason": reason})
            self._ends = True
            self._reader.close()

    def _begin(self, stream: int, path: str, headers: Mapping[str, str], payload: bytes | Exception) -> None:
        """Begin a call; its request is an error if it is refused.

        Who calls is asked before the request is read: reading it may cost the most.
        """
        method = self._serving.methods.get(path)
        if method is None:
            self._http2.finish(stream, GrpcStatus.UNIMPLEMENTED, f"unknown method {path}")
            return
        call = self._calls[stream] = Call(self, stream, method, headers)
        try:
            if not method.anonymous:
                self._serving.identify_caller(path, headers, self.remote_text)
                check_client_id(call.client_id)
            made = method.carry_out(call, method.read(self._accepted(call, payload)))
        except (DecodeError, RequestMalformed) as error:
            self._take_out(stream)
            self._http2.finish(stream, GrpcStatus.INTERNAL, f"the request cannot be parsed: {error}")
        except Exception as error:  # noqa: BLE001 - an unforeseen one is logged; it must not take the connection
            self._refuse(call, error)
        else:
            if isinstance(made, GeneratorType):
                self._start(call, made)
            else:
                self._respond(call, made)  # type: ignore[arg-type] # every `RpcSteps` is a generator of Python's

    def _accepted(self, call: Call, payload: bytes | Exception) -> bytes:
        """The request of a call, which is counted until the call is answered; an error is raised."""
        if isinstance(payload, Exception):
            raise payload
        call.size = len(payload)
        self._held += call.size
        return payload

    def _start(self, call: Call, steps: RpcSteps) -> None:
        try:
            requests = call.begin(steps)
        except StopIteration as end:
            self._respond(call, end.value)
        except Exception as error:  # noqa: BLE001 - as in `_begin`
            self._refuse(call, error)
        else:
            self._ask(call, requests)

    def carry_out(self, stream: MessageStream, method: Callable[[Call], RpcSteps], done: Callable[[Any], None]) -> None:
        """Carry out what a message of a stream asks for; `done` gets what comes of it, or the error."""
        call = Call(self, stream.number, _NO_METHOD, stream.headers, done)
        self._start(call, method(call))
        self._go_on()

    # --- requests and replies

    def next_opaque(self) -> int:
        """A number for a request that no waiting one of the connection has."""
        return self._asked.next_opaque()

    def _ask(self, call: Call, requests: Sequence[Request[Any]]) -> None:
        self._asked.add(call, requests)
        self._requests += requests

    def send(self, requests: Sequence[Request[Any]]) -> None:
        """Have requests served whose replies nobody waits for."""
        self._requests += requests
        self._go_on()

    def carry_on(self, work: Steps[None]) -> None:
        """Do further work of an answer."""
        paused = self._serving.works.start(work)
        if isinstance(paused, PausedTask):
            self._nursery.start_soon(self._serving.works.finish, work, paused)

    @property
    def nursery(self) -> trio.Nursery:
        """Runs what waits for its client."""
        return self._nursery

    def _go_on(self) -> None:
        """Serve requests that did not come with a read: in a task, as another read may be being served."""
        if not self._served and not self._later:
            self._later = True
            self._nursery.start_soon(self._serve_later)

    async def _serve_later(self) -> None:
        self._later = False
        if self.serve():
            await self.serve_rest()

    def answer(self, request: Header, _serialize_type: int, reply: Reply) -> None:
        """Take the reply to a request; those of requests that nobody waits for are dropped."""
        asked = self._asked.take_call(request.opaque, reply)
        if asked is None:
            return
        call, index = asked
        try:
            requests = call.take_reply(index, reply)
        except StopIteration as end:
            self._respond(call, end.value)
        except Exception as error:  # noqa: BLE001 - as in `_begin`
            self._refuse(call, error)
        else:
            if requests:
                self._ask(call, requests)
                self._go_on()

    def _reset(self, stream: int) -> None:
        """The client cancels a stream."""
        self._streams.reset(stream)
        self._cancel(self._take_out(stream) or self._returns.pop(stream, None))

    def cancel_now(self, call: Call) -> None:
        """Drop the requests of a call that wait, and give back what it took."""
        try:
            self._serving.peer_closed(call)
            undo, call.undo = call.undo, None
            requests = [] if undo is None else undo()
            while requests:  # however much waits for the client: these are not answered to it
                requests = requests[self._serving.dispatch.serve_requests(self, requests) :]
            self._asked.forget_later(call)
            self._serving.dispatch.settle()
        except Exception as error:  # noqa: BLE001 - it is logged: others are to be cancelled, too
            self.failed(error)

    def disconnected(self) -> None:
        """Close: the other end has, or the connection is broken."""
        self.close()

    # --- the caller

    @property
    def pauses(self) -> bool:
        """Whether the rest of the requests must wait: other tasks are to run, or the client does not read."""
        return self._should_yield or self._waits

    def intercept(self, request: Header, take: Callable[[Reply], None]) -> None:
        """Pass the reply to one request to `take` instead of its call."""
        self._asked.intercept(request.opaque, take)

    def abort(self, request: Header) -> None:
        """End the call of a request without an answer."""
        call = self._asked.forget(request.opaque)
        if call is not None:
            self._http2.reset(call.stream, INTERNAL_ERROR)
            self._reset(call.stream)

    def request_yield(self) -> None:
        """Let other tasks run before more is served."""
        self._should_yield = True

    def run_long_request(self, task: Callable[[], Awaitable[None]], size: int) -> None:
        """Carry out a long request; others of the connection do not wait for it."""
        self._nursery.start_soon(self._carry_out, task, size)

    async def _carry_out(self, task: Callable[[], Awaitable[None]], size: int) -> None:
        self.in_flight.add(size)
        try:
            await task()
        except Exception as error:  # noqa: BLE001 - it is logged: a bug in one request must not end the others
            self.failed(error)
        finally:
            self.in_flight.add(-size)
        self.flush()

    # --- writing

    def forget(self, stream: int) -> None:
        """Forget a stream of messages, which this end has finished."""
        self._streams.forget(stream)

    def output_progressed(self) -> None:
        """See `OutputOwner`: read on, as the client reads."""
        self.last_activity = trio.current_time()
        if not self.stalled:
            self._reader.resume()

    def output_sent(self) -> None:
        """See `OutputOwner`."""
        self._nursery.start_soon(self._send_more)

    async def _send_more(self) -> None:
        await trio.lowlevel.checkpoint()
        self.flush()
        if self._events or self._requests:
            self._go_on()

    @property
    def place(self) -> str:
        """The client's address; empty: it is on this machine, whichever of its addresses it uses."""
        if self._place is None:
            here = ip_address(self.host).is_loopback or self._output.sock.getsockname()[0] == self.host
            self._place = "" if here else self.host
        return self._place

    @property
    def silent_since(self) -> float:
        """When bytes were last received or sent."""
        return self.last_activity

    @property
    def last_sign_of_life(self) -> float:
        """When the connection last made progress: since then it has been silent, or has let answers wait."""
        return min(self.last_activity, self._unread_since)

    def refuse(self, _error: Exception) -> None:
        """End the connection and drop what it holds."""
        self.close()

    def _leave_streams(self) -> None:
        self._streams.leaving()

    def close(self) -> None:
        """Say good-bye, as far as the socket takes it, and close; further calls do nothing."""
        if self._closed:
            return
        self._reader.close()
        super().close()
        for call in [*self._calls.values(), *self._unsent_calls(), *self._asked.stream_calls()]:
            self._cancel(call)
        self._calls.clear()
        self._held = 0
        self._events.clear()
        self._http2 = self._serving.no_http2  # the answers in it would stay until the collector finds the connection
        self._streams.close()
        self._serving.closed(self)
        self._on_close(self)


def _size_of(event: Event) -> int:
    """Bytes of memory of an event that waits."""
    return _EVENT_BYTES + request_bytes(event)
