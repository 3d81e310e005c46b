"""The writing part of a gRPC connection: what HTTP/2 may send now, and which answers have gone out."""

from __future__ import annotations

import contextlib
import math
import socket
from collections import deque
from typing import Final

import trio

from rocketwire.server.grpc.calls import Call
from rocketwire.server.limits.limits import CONNECTION_BYTES_KEY
from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.server.net.output import HIGH_WATER, Output
from rocketwire.wire.addresses import Address
from rocketwire.wire.hosts import encode_host
from rocketwire.wire.http2.events import Http2

_KEPT_EACH: Final = 512
"""Bytes that a call keeps until it is answered, beside what it holds of the request."""


class Writing:
    """What a connection sends: answers wait in HTTP/2 for the client's windows, then in the outbox for its socket."""

    __slots__ = (
        "_calls",
        "_closed",
        "_ends",
        "_held",
        "_http2",
        "_leaving",
        "_nursery",
        "_output",
        "_put",
        "_queued",
        "_returns",
        "_taken",
        "_unread_since",
        "born_host",
        "host",
        "in_flight",
        "last_activity",
        "remote",
        "remote_text",
    )

    def __init__(
        self,
        sock: socket.socket,
        remote: tuple[str, int],
        http2: Http2,
        *,
        nursery: trio.Nursery,
        in_flight: InFlight,
    ) -> None:
        host, port = self.remote = remote
        self.host = host
        self.remote_text = str(Address(host=host, port=port))
        self.born_host = encode_host(host, port)
        self.in_flight = in_flight
        self.last_activity = trio.current_time()
        self._nursery = nursery
        self._output = Output(sock, self, nursery=nursery, in_flight=in_flight)
        self._closed = False
        self._http2 = http2
        self._calls: dict[int, Call] = {}
        self._queued = 0  # bytes of calls that are read and not begun
        self._held = 0  # bytes of the requests of calls that are begun and not answered
        # Answered calls that are undone if the answer does not go out: those with HTTP/2, and those in the outbox, each
        # with how many bytes were put there by then.
        self._returns: dict[int, Call] = {}
        self._leaving: deque[tuple[int, Call]] = deque()
        self._put = 0
        self._taken = 0  # bytes counted as in flight beside the outbox
        self._ends = False
        self._unread_since = math.inf  # when the client last made room for answers that wait

    @property
    def closed(self) -> bool:
        """Whether the connection is closed."""
        return self._closed

    @property
    def http2(self) -> Http2:
        """The protocol's state; that of a closed connection has no calls."""
        return self._http2

    @property
    def _waits(self) -> bool:
        """Whether so much waits for the client that no further call is begun, and no request of one served."""
        return self._output.size + self._http2.waiting > HIGH_WATER and not self._closed

    @property
    def congested(self) -> bool:
        """Whether more answers wait than those of a client that reads."""
        return self._waits

    @property
    def stalled(self) -> bool:
        """Whether to read no further requests now; a client that closed its windows is read: it may open them."""
        return self._output.size > HIGH_WATER

    def keep(self, size: int) -> None:
        """Count about so many bytes of memory as kept for the client until its connection ends."""
        if not self._closed:
            self._output.keep(size)

    def output_progressed(self) -> None:
        """See `OutputOwner` and `Connection`."""

    def output_sent(self) -> None:
        """See `OutputOwner` and `Connection`."""

    def output_waits(self, *, waits: bool) -> None:
        """See `OutputOwner`."""

    def flush(self) -> None:
        """Send what may be sent now: the client's windows allow it."""
        if self._closed:
            return
        if self._output.size <= HIGH_WATER:
            self._put_out()
        self._count_taken()
        self._output.flush()
        self._forget_sent()
        if self._ends and not self._output.size:
            self.close()

    def _put_out(self) -> None:
        """Put what HTTP/2 has to say now into the outbox."""
        waiting = self._http2.waiting
        data = self._http2.output(HIGH_WATER)
        left = self._http2.waiting
        if not left:
            self._unread_since = math.inf
        elif left < waiting or self._unread_since == math.inf:
            self._unread_since = trio.current_time()
        if data:
            self._put += len(data)
            self._output.write(data)
        if self._returns and not self._http2.waiting:
            self._leaving.extend((self._put, call) for call in self._returns.values())
            self._returns.clear()

    def _forget_sent(self) -> None:
        """Forget the answers that the socket has taken."""
        leaving, sent = self._leaving, self._put - self._output.size
        while leaving and leaving[0][0] <= sent:
            _, call = leaving.popleft()
            call.undo = None  # it holds the call and all messages: a cycle, which only the collector would find

    def _count_taken(self) -> None:
        http2 = self._http2
        kept = self._held + _KEPT_EACH * max(len(self._calls), http2.streams)  # unfinished requests are no calls yet
        # What is popped is kept beside the answer, to be given back if that does not go out.
        waiting = 2 * http2.waiting if self._returns else http2.waiting
        taken = waiting + http2.held + http2.heads + self._queued + kept
        more, self._taken = taken - self._taken, taken
        self.in_flight.add(more)
        limits = self.in_flight.limits
        if more > 0 and taken - kept > limits.keys.current.max_in_flight_bytes_per_connection:
            limits.count_refusal(CONNECTION_BYTES_KEY, self.remote_text)
            self.close()

    @property
    def held(self) -> int:
        """Bytes in flight."""
        return self._output.held + self._taken

    def _say_goodbye(self) -> None:
        """Send what is answered and the good-bye, as far as the socket takes them."""
        if not self._ends:
            self._ends = True
            self._leave_streams()
            self._put_out()  # else the good-bye may overtake it
            self._http2.goaway(0)
            self._put_out()
        with contextlib.suppress(OSError):
            self._output.send_now()
        self._forget_sent()

    def _leave_streams(self) -> None:
        """Called before the good-bye; what streams send now goes out before it."""

    def close(self) -> None:
        """Say good-bye, as far as the socket takes it, and close; further calls do nothing."""
        if self._closed:
            return
        self._say_goodbye()
        self._closed = True
        self._output.close()
        self.in_flight.add(-self._taken)
        self._taken = 0

    def _unsent_calls(self) -> list[Call]:
        """The answered calls that are undone since their answers did not go out; they are forgotten."""
        unsent = [*self._returns.values(), *(call for _, call in self._leaving)]
        self._returns.clear()
        self._leaving.clear()
        return unsent
