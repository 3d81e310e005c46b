"""How connections to other servers are made: plain ones, or encrypted ones.

An encrypted connection is one end of a socket pair here; a task in between encrypts and decrypts, as for TLS clients
(`net/tls`). So every user of it, be it a connection of calls, a tunnel or the kernel's relay, has a socket with plain
bytes.
"""

from __future__ import annotations

import logging
import socket
import ssl
from typing import Final

import trio

from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.server.net.tls.client import client_context, read_client_settings
from rocketwire.server.net.tls.connection import BufferedBytes, TlsConnection
from rocketwire.server.net.tls.engine import TlsEngine, TlsFault
from rocketwire.server.net.tls.settings import TlsInvalid
from rocketwire.server.upstream.connecting import CONNECT_SECONDS, Connect, RequestNotSent
from rocketwire.server.upstream.keys import UpstreamKeys
from rocketwire.wire.addresses import Address

log = logging.getLogger(__name__)

DESCRIPTORS: Final = 3
"""How many an encrypted connection takes: its own, and those of the pair."""


def upstream_context(keys: UpstreamKeys) -> ssl.SSLContext | None:
    """The context for keys; None: connections are not encrypted. Blocking.

    Raises:
        TlsInvalid: a file is missing or has the wrong content, or is named without `upstreamTls`.
    """
    path = keys.upstream_tls_config_file
    if keys.upstream_tls:
        return client_context(read_client_settings(path, "upstreamTlsConfigFile"))
    if path:
        raise TlsInvalid(f"upstreamTlsConfigFile={path}: upstreamTls is not true, so nothing would be encrypted")
    return None


class TlsConnector:
    """Makes encrypted connections.

    Args:
        context: Decides which certificates are accepted.
        in_flight: Counts what waits in them.
        connecting: Makes the connections that are then encrypted.
    """

    def __init__(self, context: ssl.SSLContext, in_flight: InFlight, connecting: Connect) -> None:
        self._context = context
        self._connecting = connecting
        self._in_flight = in_flight
        self._held: set[BufferedBytes] = set()
        in_flight.register_holders(self._held)
        self._turn = trio.Lock()
        self._failed: dict[Address, str] = {}

    async def connect(self, address: Address, nursery: trio.Nursery) -> socket.socket:
        """The plain end of an encrypted connection, which a task of the nursery carries.

        Raises:
            RequestNotSent: there is none within twice CONNECT_SECONDS.
        """
        outer = await self._connecting(address, nursery)
        try:
            inner, end = socket.socketpair()
        except OSError as error:
            outer.close()
            raise RequestNotSent(f"{address} cannot be reached: no sockets for TLS: {error.strerror}") from error
        inner.settimeout(0)
        end.settimeout(0)
        held = BufferedBytes(self._in_flight, str(address))
        connection = TlsConnection(outer, inner, TlsEngine(self._context, server_side=False), held, peer="the server")
        try:
            await self._shake_hands(address, connection)
        except BaseException:
            for each in (outer, inner, end):
                each.close()
            raise
        nursery.start_soon(self._carry, address, connection, held, (outer, inner))
        return end

    async def _shake_hands(self, address: Address, connection: TlsConnection) -> None:
        try:
            with trio.fail_after(CONNECT_SECONDS):
                await connection.shake_hands(b"", self._turn)
        except (TlsFault, OSError, trio.TooSlowError) as error:
            reason = "the handshake was not over in time" if isinstance(error, trio.TooSlowError) else str(error)
            if self._failed.get(address) != reason:
                log.warning("%(peer)s cannot be reached: TLS: %(reason)s", {"peer": address, "reason": reason})
            self._failed[address] = reason
            raise RequestNotSent(f"{address} cannot be reached: TLS: {reason}") from error
        self._failed.pop(address, None)

    async def _carry(
        self,
        address: Address,
        connection: TlsConnection,
        held: BufferedBytes,
        sockets: tuple[socket.socket, socket.socket],
    ) -> None:
        outer, inner = sockets
        self._held.add(held)
        try:
            with outer, inner, held.scope:
                await connection.pump()
        except TlsFault as fault:
            log.warning("closing the connection to %(peer)s: TLS: %(reason)s", {"peer": address, "reason": fault})
        except OSError as error:
            log.debug("the connection to %(peer)s broke: %(reason)s", {"peer": address, "reason": error})
        except Exception:  # a bug in carrying one must not end the others
            log.exception("closing the connection to %(peer)s", {"peer": address})
        finally:
            self._held.discard(held)
            held.release()
