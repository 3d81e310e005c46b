"""A connection to another server: several requests may wait for their answers at the same time.

A request is written whole or not at all, even if its caller stops waiting for the answer; a task writes what the socket
does not take at once. The other server may send requests, too.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final, NamedTuple, Protocol, TypeAlias

import trio

from rocketwire.remoting.core.session import (
    LANGUAGE,
    ClientRequest,
    ClientSession,
    RequestReceived,
    Response,
    ResponseReceived,
    SignRequest,
)
from rocketwire.server.net.outbox import Outbox
from rocketwire.server.upstream.connecting import Connect, RequestNotSent, UpstreamConnectionError, connect_plain
from rocketwire.wire.addresses import Address
from rocketwire.wire.errors import WireError

log = logging.getLogger(__name__)

FORWARDED: Final = 1 << 30
"""The first opaque of requests that `ForwardedRequests` writes; the others have lower ones. As in kernel/forward."""
_READ: Final = 64 * 1024
_MOST_WAITING: Final = 50_000
_MOST_UNSENT: Final = 64 << 20
_NOT_SENT: Final = 0
"""Stands for the opaque of a request that was not sent: no request has it."""
_CANCELLED_AT_ONCE: Final = 64
"""So many requests are cancelled before other tasks run: a long poll of a 5.x client answers its call then."""
_FEW_WAITING: Final = 256
_SMALL_READ: Final = 16 << 10
"""While more requests wait, so many bytes are read at once: what is done with each answer takes some 0.1 ms, and the
shortest one has 60 bytes."""


OnAnswer: TypeAlias = Callable[[Response | UpstreamConnectionError], None]
"""Called once: with the answer, or with the reason why there is none."""
OnRequest: TypeAlias = "Callable[[BrokerConnection, RequestReceived], None]"
"""Called with a request of the other server's."""
OnAnswerTime: TypeAlias = Callable[[int, float], None]
"""Called with the code of a request and the seconds until its answer came."""


class ForwardedRequests(Protocol):
    """Requests that are written by frames, and counted and answered elsewhere; see `BrokerConnection.forward`."""

    @property
    def deadline(self) -> float | None:
        """The first deadline of one; None: none waits."""

    def take(self, data: memoryview) -> Iterable[tuple[int, int]]:
        """Take answers out of a read that begins with a frame; return the ranges that remain."""

    def answered(self, opaque: int, found: Response) -> None:
        """Handle an answer in a range that remained."""

    def expire(self, now: float, found: UpstreamConnectionError) -> None:
        """Cancel those whose deadline is over."""

    def connection_lost(self, found: UpstreamConnectionError) -> None:
        """Cancel all: the connection is closed."""


_read_buffer: Final = memoryview(bytearray(_READ))  # shared by all: each read is taken before the next begins
_small_buffer: Final = _read_buffer[:_SMALL_READ]


class _Waiting(NamedTuple):
    deadline: float
    done: OnAnswer
    code: int
    since: float


class BrokerConnection:
    """The connection, while it is open.

    Attributes:
        lost: Set once it has ended.
        address: The other server's.
        forwarded: The other requests on it, if there are any; their owner sets this.
    """

    def __init__(
        self,
        address: Address,
        sock: socket.socket,
        nursery: trio.Nursery,
        *,
        on_request: OnRequest | None = None,
        settled: Callable[[], None] = lambda: None,
        signing: SignRequest | None = None,
        on_answer_time: OnAnswerTime | None = None,
    ) -> None:
        self.closed = trio.Event()
        self.address = address
        self.forwarded: ForwardedRequests | None = None
        self._sock = sock
        self._nursery = nursery
        self._on_request = on_request
        self._settled = settled
        self._session = ClientSession(sign=signing, language=LANGUAGE, last_opaque=FORWARDED - 1)
        self._on_answer_time = on_answer_time
        self._waiting: dict[int, _Waiting] = {}
        self._outbox = Outbox(sock)
        self._writes = False
        self._timer: trio.CancelScope | None = None

    # --- requests

    def send(self, request: ClientRequest, *, seconds: float, done: OnAnswer) -> int:
        """Write a request, which `flush` sends; `done` may be called before this returns.

        Args:
            request: The request.
            seconds: For how long the answer is waited for.
            done: Gets the answer.

        Returns:
            What `forget` takes.

        Raises:
            WireError: it does not fit in a frame.
        """
        if self.closed.is_set():
            done(RequestNotSent(f"{self.address} closed the connection"))
            return _NOT_SENT
        if len(self._waiting) >= _MOST_WAITING or self._outbox.size > _MOST_UNSENT:
            done(RequestNotSent(f"{self.address} is too slow: too much waits for it"))
            return _NOT_SENT
        opaque, frame = self._session.request(request)
        self._outbox.put((frame,))
        now = trio.current_time()
        deadline = now + seconds
        self._waiting[opaque] = _Waiting(deadline, done, request.code, now)
        self._wake_at(deadline)
        return opaque

    def forward(self, frames: bytes, deadline: float) -> None:
        """Send requests of `forwarded`, of which the first is cancelled at the deadline."""
        self._outbox.put((frames,))
        self._wake_at(deadline)
        self.flush()

    def _wake_at(self, deadline: float) -> None:
        if self._timer is None:
            self._timer = trio.CancelScope(deadline=deadline)
            self._nursery.start_soon(self._watch)
        elif deadline < self._timer.deadline:
            self._timer.deadline = deadline

    def answer(self, request: RequestReceived, code: int, remark: str | None, body: bytes = b"") -> None:
        """Answer a request of the other server's, unless it wants none."""
        if request.oneway or self.closed.is_set():
            return
        self._outbox.put((self._session.reply(request, code=code, remark=remark, body=body),))
        self.flush()

    def forget(self, opaque: int) -> None:
        """Wait no more for an answer; its `done` is not called."""
        self._waiting.pop(opaque, None)

    async def _watch(self) -> None:
        """Cancel each request at its deadline, until none waits."""
        try:
            await self._cancel_late()
        except Exception:  # as in `receive`
            log.exception("requests that wait for %(peer)s", {"peer": self.address})
            self.close()
        finally:
            self._timer = None

    async def _cancel_late(self) -> None:
        while not self.closed.is_set() and (deadline := self._next_deadline()) is not None:
            with trio.CancelScope(deadline=deadline) as self._timer:
                await trio.sleep_forever()
            now = trio.current_time()
            late = [opaque for opaque, each in self._waiting.items() if each.deadline <= now]
            for number, opaque in enumerate(late, start=1):
                self._finish(opaque, UpstreamConnectionError(f"{self.address} does not answer"))
                if number % _CANCELLED_AT_ONCE == 0:
                    self._settled()
                    await trio.lowlevel.checkpoint()
            if self.forwarded is not None:
                self.forwarded.expire(now, UpstreamConnectionError(f"{self.address} does not answer"))
            self._settled()

    def _next_deadline(self) -> float | None:
        deadlines = [each.deadline for each in self._waiting.values()]
        forwarded = None if self.forwarded is None else self.forwarded.deadline
        if forwarded is not None:
            deadlines.append(forwarded)
        return min(deadlines, default=None)

    def _finish(self, opaque: int, found: Response | UpstreamConnectionError) -> None:
        waiting = self._waiting.pop(opaque, None)
        if waiting is not None:
            if self._on_answer_time is not None and isinstance(found, Response):
                self._on_answer_time(waiting.code, trio.current_time() - waiting.since)
            try:
                waiting.done(found)
            except Exception:  # a bug in what is done with one answer must not end the connection of all
                log.exception("an answer of %(peer)s", {"peer": self.address})

    # --- writing

    def flush(self) -> None:
        """Send what is written."""
        if not self._writes and not self.closed.is_set() and not self._send_some():
            self._writes = True
            self._nursery.start_soon(self._send_rest)

    def _send_some(self) -> bool:
        """Send what the socket takes; return whether that is all, or the connection ended."""
        try:
            self._outbox.send()
        except OSError:
            self.close()
        return not self._outbox.size

    async def _send_rest(self) -> None:
        try:
            while not self.closed.is_set() and not self._send_some():
                await trio.lowlevel.wait_writable(self._sock)
        except trio.ClosedResourceError:
            pass
        finally:
            self._writes = False

    def close(self) -> None:
        """End the connection; what waits for answers gets none."""
        if self.closed.is_set():
            return
        self.closed.set()
        trio.lowlevel.notify_closing(self._sock)
        self._sock.close()
        self._outbox.clear()
        if self._timer is not None:
            self._timer.cancel()
        if self.forwarded is not None:
            self.forwarded.connection_lost(UpstreamConnectionError(f"{self.address} closed the connection"))
        if self._cancel(_CANCELLED_AT_ONCE):
            self._nursery.start_soon(self._cancel_rest)

    def _cancel(self, most: int) -> bool:
        """Cancel some requests that wait, because the connection is closed; return whether more wait."""
        for opaque in list(islice(self._waiting, most)):
            self._finish(opaque, UpstreamConnectionError(f"{self.address} closed the connection"))
        self._settled()
        return bool(self._waiting)

    async def _cancel_rest(self) -> None:
        try:
            while self._cancel(_CANCELLED_AT_ONCE):
                await trio.lowlevel.checkpoint()
        except trio.Cancelled:  # the program ends
            self._cancel(len(self._waiting))
            raise

    # --- reading

    async def receive(self) -> None:
        """Receive what the other server sends until the connection ends."""
        try:
            while not self.closed.is_set():
                await trio.lowlevel.wait_readable(self._sock)
                few = len(self._waiting) <= _FEW_WAITING
                try:
                    size = self._sock.recv_into(_read_buffer if few else _small_buffer)
                except BlockingIOError:
                    continue
                if not size:
                    return
                whole = self._receive(_read_buffer[:size])
                self._settled()
                if not whole:
                    return
        except (trio.ClosedResourceError, OSError, WireError):
            return
        except Exception:  # whatever the other server sends, only this connection ends
            log.exception("closing the connection to %(peer)s", {"peer": self.address})
        finally:
            self.close()

    def _receive(self, data: memoryview) -> bool:
        """Handle the data of one read; return whether more can come."""
        ranges: Iterable[tuple[int, int]] = ((0, len(data)),)
        if self.forwarded is not None and not self._session.pending_bytes:
            ranges = self.forwarded.take(data)
        for start, end in ranges:
            found, broken = self._session.receive(data[start:end])
            for each in found:
                self._take(each)
            if broken is not None:
                return False
        return True

    def _take(self, found: ResponseReceived | RequestReceived) -> None:
        if isinstance(found, ResponseReceived):
            if found.opaque >= FORWARDED and self.forwarded is not None:
                self.forwarded.answered(found.opaque, found.answer)
            else:
                self._finish(found.opaque, found.answer)
        elif self._on_request is not None:
            try:
                self._on_request(self, found)
            except Exception:  # as in `_finish`
                log.exception("a request of %(peer)s", {"peer": self.address})


async def connect(
    address: Address,
    nursery: trio.Nursery,
    *,
    on_request: OnRequest | None = None,
    settled: Callable[[], None] = lambda: None,
    connecting: Connect | None = None,
    signing: SignRequest | None = None,
    on_answer_time: OnAnswerTime | None = None,
) -> BrokerConnection:
    """A connection to a server, whose answers a task of the nursery takes until it is closed.

    Args:
        address: The server's.
        nursery: Runs the connection.
        on_request: Called with each request of the server; None: such requests are dropped.
        settled: Called when all answers of a read have been passed on.
        connecting: Makes it; None: `connect_plain`.
        signing: Signs each request; None: they are not signed.
        on_answer_time: Gets the time of each answer; None: it is not measured.

    Raises:
        RequestNotSent: there is none within CONNECT_SECONDS.
    """
    connection = BrokerConnection(
        address,
        await (connecting or connect_plain)(address, nursery),
        nursery,
        on_request=on_request,
        settled=settled,
        signing=signing,
        on_answer_time=on_answer_time,
    )
    nursery.start_soon(connection.receive)
    return connection
