"""TLS for the listeners of one process: admits clients to TLS, and limits and counts handshakes."""

from __future__ import annotations

import logging
import socket
from collections import Counter
from typing import Final, NamedTuple

import trio

from rocketwire.server.net.admission.admission import rate_group
from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.server.net.driver import TLS_HANDSHAKE
from rocketwire.server.net.tls.connection import BufferedBytes, TlsConnection, receive
from rocketwire.server.net.tls.contexts import TlsContexts
from rocketwire.server.net.tls.engine import TlsEngine, TlsFault
from rocketwire.server.net.tls.settings import TlsMode

log = logging.getLogger(__name__)

HANDSHAKES_MOST: Final = 1000
HANDSHAKES_OF_ADDRESS_MOST: Final = 250
_BEGINNING_MOST: Final = 16
"""How many clients may have been admitted whose handshake is not counted yet."""
_LIMIT: Final = "tlsHandshakes"
_FIRST_BYTES: Final = 4096


class RemoteEnd(NamedTuple):
    """A client's host, and its ``host:port``."""

    host: str
    text: str


class TlsGate:
    """Takes connections from listeners and gives each session a socket with plain bytes."""

    def __init__(self, contexts: TlsContexts, in_flight: InFlight) -> None:
        self._contexts = contexts
        self._in_flight = in_flight
        self._limits = in_flight.limits
        self._held: set[BufferedBytes] = set()
        in_flight.register_holders(self._held)
        self._handshakes: Counter[str | bytes] = Counter()
        self._turn = trio.Lock()

    @property
    def enforcing(self) -> bool:
        """Whether TLS is required of every connection."""
        return self._contexts.mode is TlsMode.ENFORCING

    def may_begin(self, address: str | bytes) -> bool:
        """Whether a client may begin TLS now; otherwise it had better wait. `address`: as `rate_group` has it."""
        of_address, of_all = self._handshakes[address], self._handshakes.total()
        return max(of_address - HANDSHAKES_OF_ADDRESS_MOST, of_all - HANDSHAKES_MOST) < -_BEGINNING_MOST

    def pair(self, remote_text: str) -> tuple[socket.socket, socket.socket] | None:
        """A socket pair for TLS: the session's end and the one for `serve`; None: close the connection."""
        if self._contexts.mode is TlsMode.DISABLED:
            log.warning("closing %(peer)s: it begins TLS, and tls.server.mode is disabled", {"peer": remote_text})
            return None
        try:
            ends = socket.socketpair()
        except OSError as error:
            log.warning(
                "closing %(peer)s: no sockets for TLS: %(reason)s", {"peer": remote_text, "reason": error.strerror}
            )
            return None
        for each in ends:
            each.settimeout(0)
        return ends

    async def serve(self, outer: socket.socket, inner: socket.socket, remote: RemoteEnd, first: bytes) -> None:
        """Serve one connection to its end, and close both sockets.

        Args:
            outer: The client's socket.
            inner: One end of a pair; its session has the other.
            remote: The client.
            first: What the client has sent, if anything.
        """
        with outer, inner:
            try:
                await self._serve(outer, inner, remote, first)
            except TlsFault as fault:
                level = logging.WARNING if self._limits.may_log(f"TLS: {fault}") else logging.DEBUG
                log.log(level, "closing %(peer)s: TLS: %(reason)s", {"peer": remote.text, "reason": fault})
            except OSError as error:
                log.debug("%(peer)s broke: %(reason)s", {"peer": remote.text, "reason": error})
            except Exception:  # a bug in serving one must not end the others
                log.exception("closing %(peer)s", {"peer": remote.text})

    async def _serve(self, outer: socket.socket, inner: socket.socket, remote: RemoteEnd, first: bytes) -> None:
        first = first or await _first_bytes(outer, self._limits.keys.current.server_channel_max_idle_time_seconds)
        if not first:
            return
        if first[0] != TLS_HANDSHAKE:
            raise TlsFault("the client does not begin it, and tls.server.mode is enforcing")
        address, handshakes = rate_group(remote.host), self._handshakes
        if handshakes[address] >= HANDSHAKES_OF_ADDRESS_MOST or handshakes.total() >= HANDSHAKES_MOST:
            self._limits.count_refusal(_LIMIT, remote.text)
            return
        held = BufferedBytes(self._in_flight, remote.text)
        self._held.add(held)
        try:
            with held.scope:
                await self._pump(await self._shake_hands(outer, inner, address, first, held))
        finally:
            self._held.discard(held)
            held.release()

    async def _pump(self, connection: TlsConnection) -> None:
        metrics = self._limits.metrics
        metrics.tls_connections += 1
        try:
            await connection.pump()
        finally:
            metrics.tls_connections -= 1

    async def _shake_hands(
        self, outer: socket.socket, inner: socket.socket, address: str | bytes, first: bytes, held: BufferedBytes
    ) -> TlsConnection:
        self._handshakes[address] += 1
        try:
            connection = TlsConnection(outer, inner, TlsEngine(await self._contexts.current()), held)
            await connection.shake_hands(first, self._turn)
        except (TlsFault, OSError):
            self._limits.metrics.tls_failures += 1
            raise
        finally:
            self._handshakes[address] -= 1
            if not self._handshakes[address]:
                del self._handshakes[address]
        return connection


async def _first_bytes(outer: socket.socket, seconds: float) -> bytes:
    """The client's first bytes; none if they take too long."""
    buffer = bytearray(_FIRST_BYTES)
    with trio.move_on_after(seconds):
        return bytes(buffer[: await receive(outer, memoryview(buffer))])
    return b""
