"""Accepted connections that nothing is read of yet: each costs a socket, and no session before its client speaks.

A connection that its client has closed is dropped before anything is made for it. The others begin a few at a time, one
address after the other, and of each address no more than its rate allows: those beyond it wait. So however fast
connections come, those that are served already do not wait for them.
"""

from __future__ import annotations

import fcntl
import math
import select
import socket
import sys
import termios
from collections import deque
from collections.abc import Callable
from typing import Final, TypeAlias

import trio

from rocketwire.server.net.admission.admission import Admission, rate_group
from rocketwire.server.net.driver import HTTP2_PREFACE, TLS_HANDSHAKE
from rocketwire.wire.addresses import Address
from rocketwire.wire.frame import FRAME_PREFIX

STEP_SECONDS: Final = 0.002
"""How long connections are accepted, or their events handled, in one pass of the event loop."""
_BEGUN_MOST: Final = 8
"""How many connections begin to be served in one pass: one of HTTP/2 takes 0.3 ms, mostly in tasks that follow."""
_POLLED_MOST: Final = 256
_HALF_CLOSED_MOST: Final = 256
"""How many half-closed connections wait: their clients have sent a whole request and will send no more."""
_LOOK_BYTES: Final = 4096
_TLS_PAUSE: Final = 0.01
"""After how many seconds it is checked again whether a client may begin TLS."""
_LENGTH_BYTES: Final = 4
_CLOSED: Final = select.EPOLLHUP | select.EPOLLERR if hasattr(select, "epoll") else 0
_HALF_CLOSED: Final = select.EPOLLRDHUP if hasattr(select, "epoll") else 0
_ANY: Final = select.EPOLLIN | _HALF_CLOSED | select.EPOLLET if hasattr(select, "epoll") else 0
_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_HEADERS: Final = 1  # a frame's type in HTTP/2
_FRAME_HEAD: Final = 9

_Queue: TypeAlias = tuple[str | bytes, bool]
"""Those that may begin: the address, and whether the clients begin TLS."""


class Arrival:
    """A connection that nothing was read of.

    Attributes:
        sock: Its socket.
        remote: The client's host and port.
        host: The client's host.
        remote_text: The client's ``host:port``.
        silent_since: When it was accepted, in seconds of the event loop.
        last_sign_of_life: The same.
        waits: Whether its client has spoken.
        is_half_closed: Whether its client sends nothing more.
    """

    __slots__ = (
        "_drop",
        "host",
        "is_half_closed",
        "last_sign_of_life",
        "remote",
        "remote_text",
        "silent_since",
        "sock",
        "waits",
    )

    held: Final = 0

    def __init__(self, sock: socket.socket, remote: tuple[str, int], drop: Callable[[Arrival], None]) -> None:
        self.sock = sock
        self.remote = remote
        self.host = remote[0]
        self.remote_text = str(Address(host=remote[0], port=remote[1]))
        self.silent_since = self.last_sign_of_life = trio.current_time()
        self.waits = False
        self.is_half_closed = False
        self._drop = drop

    def refuse(self, _error: Exception) -> None:
        """Close it: no client waits for an answer."""
        self.close()

    def close(self) -> None:
        """Close it; further calls do nothing."""
        if self.sock.fileno() >= 0:
            self._drop(self)


class Arrivals:
    """The connections of one listener that nothing was read of.

    Args:
        admission: Has the rates of addresses, and the turn that all listeners share.
        begin: Serves a connection from now on.
        dropped: Called with a connection that is closed instead.
        may_begin_tls: Whether a client of this address may begin TLS now.
    """

    def __init__(
        self,
        admission: Admission,
        begin: Callable[[Arrival], None],
        dropped: Callable[[Arrival], None],
        may_begin_tls: Callable[[str | bytes], bool],
    ) -> None:
        self._admission = admission
        self._begin = begin
        self._dropped = dropped
        self._may_begin_tls = may_begin_tls
        self._epoll = select.epoll()
        self._all: dict[int, Arrival] = {}
        self._events: list[tuple[Arrival | None, int]] = []
        self._more = False  # whether the last step had no time for some that may begin
        self._queues: dict[_Queue, deque[Arrival]] = {}
        self._turn: deque[_Queue] = deque()
        self._half_closed = 0

    def add(self, sock: socket.socket, remote: tuple[str, int]) -> Arrival | None:
        """Take an accepted connection; None: its client has closed it already."""
        arrival = Arrival(sock, remote, self._drop)
        try:
            if not sock.recv(1, socket.MSG_PEEK):
                return None
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            return None
        self._all[sock.fileno()] = arrival
        self._epoll.register(sock.fileno(), _ANY)
        return arrival

    async def run(self) -> None:
        """Have connections served; never returns."""
        try:
            while True:
                with trio.move_on_at(self._next()):
                    await trio.lowlevel.wait_readable(self._epoll.fileno())
                async with self._admission.opening:
                    self._step()
                    await trio.lowlevel.checkpoint()
        finally:
            self._epoll.close()

    def _next(self) -> float:
        """When the next connection may begin that waits."""
        if self._events or self._more:
            return -math.inf
        now, rate = trio.current_time(), self._admission.rate
        return min(
            (
                now + _TLS_PAUSE if tls and not self._may_begin_tls(address) else rate.allowed_at(address)
                for address, tls in self._queues
            ),
            default=math.inf,
        )

    def _step(self) -> None:
        """Handle the events of some connections, and begin some."""
        until = trio.current_time() + STEP_SECONDS
        events, at = self._events or self._poll_events(), 0
        for arrival, flags in events:
            at += 1
            if arrival is not None and self._all.get(arrival.sock.fileno()) is arrival:
                self._look(arrival, flags)
            if trio.current_time() > until:
                break
        self._events = events[at:]
        begun, tried = 0, 0
        while begun < _BEGUN_MOST and tried < len(self._turn) and trio.current_time() <= until:
            tried = 0 if self._begin_next() else tried + 1
            begun += not tried
        self._more = tried < len(self._turn)

    def _poll_events(self) -> list[tuple[Arrival | None, int]]:
        """The events, with their connections: descriptors may belong to others by the time the events are handled."""
        return [(self._all.get(descriptor), flags) for descriptor, flags in self._epoll.poll(0, _POLLED_MOST)]

    def _look(self, arrival: Arrival, flags: int) -> None:
        """Handle the events of a connection."""
        if flags & _CLOSED:
            self._drop(arrival)
            return
        try:
            first = arrival.sock.recv(_LOOK_BYTES if flags & _HALF_CLOSED else 1, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            first = b""
        if flags & _HALF_CLOSED and not arrival.is_half_closed:
            if self._half_closed >= _HALF_CLOSED_MOST or not holds_request(arrival.sock, first):
                first = b""
            else:
                arrival.is_half_closed = True
                self._half_closed += 1
        if not first:
            self._drop(arrival)
        elif not arrival.waits:
            arrival.waits = True
            self._wait(arrival, tls=first[0] == TLS_HANDSHAKE)

    def _wait(self, arrival: Arrival, *, tls: bool) -> None:
        """Let it begin when it is its turn."""
        queue = (rate_group(arrival.host), tls)
        if queue not in self._queues:
            self._queues[queue] = deque()
            self._turn.append(queue)
        self._queues[queue].append(arrival)

    def _begin_next(self) -> bool:
        """Begin a connection of the address whose turn it is; false: it has none that may begin."""
        queue = self._turn[0]
        self._turn.rotate(-1)
        address, tls = queue
        waiting, now = self._queues[queue], trio.current_time()
        while waiting and waiting[0].sock.fileno() < 0:
            waiting.popleft()  # it was dropped
        may = self._admission.rate.allowed_at(address) <= now and (not tls or self._may_begin_tls(address))
        if waiting and may:
            arrival = waiting.popleft()
            self._admission.rate.count(address, now)
            self._forget(arrival)
            self._begin(arrival)
        if not waiting:
            del self._queues[queue]
            self._turn.pop()  # it went to the end
        return may

    def _forget(self, arrival: Arrival) -> None:
        del self._all[arrival.sock.fileno()]
        if not self._epoll.closed:
            self._epoll.unregister(arrival.sock.fileno())
        self._half_closed -= arrival.is_half_closed

    def _drop(self, arrival: Arrival) -> None:
        self._forget(arrival)
        arrival.sock.close()
        self._dropped(arrival)


def holds_request(sock: socket.socket, first: bytes) -> bool:
    """Whether a half-closed connection has a whole request; `first`: its first bytes.

    The client of such a connection sends nothing more, and may still read the answer.
    """
    if len(first) < _LENGTH_BYTES or first[0] == TLS_HANDSHAKE:
        return False
    if first[0] == HTTP2_PREFACE:
        return _holds_call(first)
    there = int.from_bytes(fcntl.ioctl(sock, termios.FIONREAD, bytes(_LENGTH_BYTES)), sys.byteorder)
    return there >= FRAME_PREFIX.size and there >= _LENGTH_BYTES + int.from_bytes(first[:_LENGTH_BYTES])


def _holds_call(first: bytes) -> bool:
    """Whether the first frames of HTTP/2 have the headers of a call."""
    at = len(_PREFACE)
    while at + _FRAME_HEAD <= len(first):
        if first[at + 3] == _HEADERS:
            return True
        at += _FRAME_HEAD + int.from_bytes(first[at : at + 3])
    return False
