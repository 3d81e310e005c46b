"""Listening sockets: binds them, accepts connections, closes idle ones."""

from __future__ import annotations

import errno
import logging
import select
import socket
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

import trio

from rocketwire.server.core.clocks.waiting import ExpiryRounds
from rocketwire.server.net.admission.admission import Admission
from rocketwire.server.net.admission.in_flight import ByteHolder
from rocketwire.server.net.admission.refusals import ConnectionRefuser
from rocketwire.server.net.arrivals import STEP_SECONDS, Arrival, Arrivals
from rocketwire.server.net.driver import ConnectionDriver, FrameDriver
from rocketwire.server.net.hub import Hub
from rocketwire.server.net.session import Dispatcher, Session, TakeOver
from rocketwire.server.net.tls.gate import RemoteEnd, TlsGate
from rocketwire.wire.addresses import Address

log = logging.getLogger(__name__)

_BACKLOG: Final = 4096
"""Connections that the system keeps until they are accepted, if it allows so many (`net.core.somaxconn`)."""
_ACCEPTS_PER_STEP: Final = 64
_NO_DESCRIPTORS: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_NO_DESCRIPTORS_PAUSE: Final = 0.1
_SWEEP_SECONDS: Final = 10.0
IDLE_KEY: Final = "serverChannelMaxIdleTimeSeconds"


class AddressInUse(Exception):
    """The server cannot listen on an address; the message is one line for the person who started it."""


def bind(host: str, port: int, *, option: str) -> socket.socket:
    """Listen on `host`:`port` (port 0: any free one). `option` names the setting in the error.

    Raises:
        AddressInUse: the address is taken, not this machine's, or not an address at all.
    """
    text = str(Address(host=host, port=port))
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        sock = socket.socket(family, kind, protocol)
    except UnicodeError as error:
        raise AddressInUse(f"cannot listen on {text} ({option}): not a host name") from error
    except OSError as error:
        raise AddressInUse(f"cannot listen on {text} ({option}): {error.strerror or error}") from error
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1 if host not in {"", "::"} else 0)
        sock.bind(address)
        sock.listen(_BACKLOG)
    except OSError as error:
        sock.close()
        raise AddressInUse(f"cannot listen on {text} ({option}): {error.strerror or error}") from error
    sock.settimeout(0)
    return sock


def listened_address(sock: socket.socket, wanted: Address) -> Address:
    """Where a socket listens: the host as it was configured."""
    return Address(host=wanted.host, port=sock.getsockname()[1])


class OpenConnection(ByteHolder, Protocol):
    """A connection, of whatever protocol."""

    @property
    def host(self) -> str:
        """The client's address."""

    def close(self) -> None:
        """Close it."""


class Http2Server(Protocol):
    """What serves connections that begin with the preface of HTTP/2."""

    @property
    def is_prepared(self) -> bool:
        """Whether connections can be taken."""

    async def prepare(self) -> None:
        """Make what all connections need."""

    def serve_connection(
        self,
        sock: socket.socket,
        remote: tuple[str, int],
        first: bytes,
        *,
        nursery: trio.Nursery,
        on_close: Callable[[OpenConnection], None],
    ) -> OpenConnection:
        """Serve a connection of which `first` was read; `on_close` is called once it is closed."""


ReturnConnection = Callable[[OpenConnection, socket.socket, tuple[str, int], bytes, bytes], Session]
"""Opens a session for a connection that was served without one: that connection, its socket and remote address, bytes
that were not sent yet, and bytes that were received."""


class ConnectionTakeover(Protocol):
    """What may serve new connections without a session."""

    async def take(
        self,
        sock: socket.socket,
        remote: tuple[str, int],
        on_close: Callable[[OpenConnection], None],
        back: ReturnConnection,
    ) -> OpenConnection | None:
        """Serve a connection; `on_close` is called once it is closed, or `back` to open a session for it.

        None: it needs a session from the beginning.

        Raises:
            OSError: the connection is broken.
        """


class Listener:
    """One listening socket and its connections, which a hub reads, or a task each."""

    def __init__(
        self,
        sock: socket.socket,
        dispatcher: Dispatcher,
        on_close: Callable[[Session], None],
        *,
        admission: Admission,
        tls: TlsGate,
        hub: Hub | None = None,
        http2: Http2Server | None = None,
        early: ConnectionTakeover | None = None,
    ) -> None:
        self._sock = sock
        self._early = early
        self._admission = admission
        self._refusals = ConnectionRefuser(admission.linger_budget)
        self._tls = tls
        self._http2 = http2
        self._hub = hub
        self._dispatcher = dispatcher
        self._notify_closed = on_close
        self._short_of_descriptors = False
        self._nursery: trio.Nursery
        self._arrivals = (
            Arrivals(admission, self._begin, self._leaves, tls.may_begin) if hasattr(select, "epoll") else None
        )
        self.sessions: set[OpenConnection] = set()
        admission.in_flight.register_holders(self.sessions)

    @property
    def port(self) -> int:
        """The bound port."""
        port: int = self._sock.getsockname()[1]
        return port

    @property
    def accepts(self) -> bool:
        """Whether connections are accepted: false while all descriptors are in use."""
        return not self._short_of_descriptors and not self._admission.descriptors.full

    async def run(self) -> None:
        """Accept until cancelled; then close every session and the socket."""
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                nursery.start_soon(self._sweep)
                if self._arrivals is not None:
                    nursery.start_soon(self._arrivals.run)
                while True:
                    await trio.lowlevel.wait_readable(self._sock)
                    async with self._admission.opening:
                        goes_on = self._accept_waiting()
                        await trio.lowlevel.checkpoint()
                    if not goes_on:
                        await trio.sleep(_NO_DESCRIPTORS_PAUSE)
        finally:
            for session in list(self.sessions):
                session.close()
            self._admission.in_flight.unregister_holders(self.sessions)
            self._sock.close()

    def _accept_waiting(self) -> bool:
        """Accept waiting connections, for 2 ms at most. False: the process has no free descriptors."""
        until = trio.current_time() + STEP_SECONDS
        for _ in range(_ACCEPTS_PER_STEP):
            try:
                sock, address = self._sock.accept()
            except OSError as error:
                if error.errno in _NO_DESCRIPTORS:
                    self._note_shortage(error)
                    return False
                if self._short_of_descriptors:
                    log.info("all connections that waited are accepted")
                    self._short_of_descriptors = False
                return True  # no client waits any more
            self._take(sock, _remote(address))
            if trio.current_time() > until:
                break
        return True

    def _take(self, sock: socket.socket, remote: tuple[str, int]) -> None:
        """Have an accepted connection wait for its client, or refuse it."""
        sock.settimeout(0)
        refusal = self._admission.enter(remote[0])
        if refusal is not None:
            self._refusals.refuse(sock, refusal, self._nursery)
            return
        if self._arrivals is None:
            self._serve(sock, remote)
            return
        arrival = self._arrivals.add(sock, remote)
        if arrival is None:
            self._drop(sock, remote)
        else:
            self.sessions.add(arrival)

    def _begin(self, arrival: Arrival) -> None:
        """Serve a connection whose client has spoken."""
        self.sessions.discard(arrival)
        self._serve(arrival.sock, arrival.remote)

    def _serve(self, sock: socket.socket, remote: tuple[str, int]) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._tls.enforcing:
            self._begin_tls(sock, remote, b"")
        elif self._early is not None:
            self._nursery.start_soon(self._take_early, self._early, sock, remote)
        else:
            self._open_session(sock, remote, on_tls=self._tls_begins)

    async def _take_early(self, early: ConnectionTakeover, sock: socket.socket, remote: tuple[str, int]) -> None:
        """Have a connection served without a session, if that can be."""
        made = None
        try:
            with trio.move_on_after(self._admission.limits.keys.current.server_channel_max_idle_time_seconds) as idle:
                made = await early.take(sock, remote, self._leaves, self._back)
        except OSError:
            idle.cancel()
        if made is not None:
            self.sessions.add(made)
        elif idle.cancel_called:
            trio.lowlevel.notify_closing(sock)
            self._drop(sock, remote)
        else:
            self._open_session(sock, remote, on_tls=self._tls_begins)

    def _back(
        self, former: OpenConnection, sock: socket.socket, remote: tuple[str, int], unsent: bytes, received: bytes
    ) -> Session:
        """Open a session for a connection that was served without one."""
        self.sessions.discard(former)
        session = self._open_session(sock, remote, received=received)
        if unsent:
            session.write(unsent)
            session.flush()
        return session

    def _open_session(
        self, sock: socket.socket, remote: tuple[str, int], *, received: bytes = b"", on_tls: TakeOver | None = None
    ) -> Session:
        session = Session(
            sock,
            remote,
            dispatcher=self._dispatcher,
            drive=partial(self._drive, received),
            nursery=self._nursery,
            on_close=self._closed,
            on_tls=on_tls,
            on_http2=None if self._http2 is None else self._http2_begins,
            in_flight=self._admission.in_flight,
            linger_budget=self._admission.linger_budget,
        )
        self.sessions.add(session)
        return session

    def _take_over(self, session: Session) -> socket.socket:
        self.sessions.discard(session)
        return session.hand_over()

    def _tls_begins(self, session: Session, first: bytes) -> None:
        self._begin_tls(self._take_over(session), session.remote, first)

    def _begin_tls(self, sock: socket.socket, remote: tuple[str, int], first: bytes) -> None:
        """Serve a connection over TLS: a session has the inner end; `first` is what the client has sent."""
        host, text = remote[0], str(Address(host=remote[0], port=remote[1]))
        if not self._admission.begin_tls(host):
            self._drop(sock, remote)
            return
        ends = self._tls.pair(text)
        if ends is None:
            self._admission.end_tls()
            self._drop(sock, remote)
            return
        inner, far = ends
        self._open_session(inner, remote)
        self._nursery.start_soon(self._serve_tls, sock, far, RemoteEnd(host, text), first)

    async def _serve_tls(self, outer: socket.socket, far: socket.socket, remote: RemoteEnd, first: bytes) -> None:
        try:
            await self._tls.serve(outer, far, remote, first)
        finally:
            self._admission.end_tls()

    def _http2_begins(self, session: Session, first: bytes) -> None:
        """Serve a session's connection as one of HTTP/2, of which `first` has been read."""
        assert self._http2 is not None  # noqa: S101 - else sessions would not call this
        http2, sock = self._http2, self._take_over(session)
        if http2.is_prepared:
            self._take_http2(http2, sock, session.remote, first)
        else:
            self._nursery.start_soon(self._take_first_http2, http2, sock, session.remote, first)

    def _take_http2(self, http2: Http2Server, sock: socket.socket, remote: tuple[str, int], first: bytes) -> None:
        self.sessions.add(http2.serve_connection(sock, remote, first, nursery=self._nursery, on_close=self._leaves))

    async def _take_first_http2(
        self, http2: Http2Server, sock: socket.socket, remote: tuple[str, int], first: bytes
    ) -> None:
        """Serve one of the first connections, which wait while all that they need is imported."""
        try:
            await http2.prepare()
        except BaseException:
            self._drop(sock, remote)
            raise
        self._take_http2(http2, sock, remote, first)

    def _drop(self, sock: socket.socket, remote: tuple[str, int]) -> None:
        """Close an admitted connection that nothing serves."""
        sock.close()
        self._admission.leave(remote[0])

    def _drive(self, received: bytes, sock: socket.socket, session: Session) -> ConnectionDriver:
        if self._hub is not None:
            try:
                return self._hub.drive(sock, session)
            except OSError as error:  # the system limits how many files a user may watch
                log.warning(
                    "the hub cannot read %(peer)s: %(reason)s", {"peer": session.remote_text, "reason": error.strerror}
                )
        driver = FrameDriver(sock, session, settle=self._dispatcher.settle)
        self._nursery.start_soon(driver.run, received)
        return driver

    def _note_shortage(self, error: OSError) -> None:
        """Log that connections wait, once until none does: accepting is retried many times a second."""
        if not self._short_of_descriptors:
            log.warning("cannot accept a connection: %(reason)s", {"reason": error.strerror})
            self._short_of_descriptors = True

    def _closed(self, session: Session) -> None:
        self._leaves(session)
        self._notify_closed(session)

    def _leaves(self, connection: OpenConnection) -> None:
        self.sessions.discard(connection)
        self._admission.leave(connection.host)

    async def _sweep(self) -> None:
        """Close sessions that were silent for too long, or take too long over one frame."""
        limits, rounds = self._admission.limits, ExpiryRounds()
        while True:
            await rounds.pause(min(_SWEEP_SECONDS, limits.keys.current.server_channel_max_idle_time_seconds / 2))
            limit = rounds.limit(limits.keys.current.server_channel_max_idle_time_seconds)
            for session in list(self.sessions):
                if session.last_sign_of_life < limit:
                    limits.metrics.limited[IDLE_KEY] += 1
                    log.info("closing idle connection %(peer)s", {"peer": session.remote_text})
                    session.close()


def _remote(address: tuple[str, int]) -> tuple[str, int]:
    """Host and port of the other end; an IPv4 peer of an IPv6 socket is shown as IPv4."""
    host, port = address[0], address[1]
    return host.removeprefix("::ffff:").partition("%")[0], port
