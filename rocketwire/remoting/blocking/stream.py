"""The bytes of a connection, plain or encrypted. One thread may receive while others send."""

from __future__ import annotations

import socket
import ssl
import threading
from struct import Struct
from typing import Final, Protocol

from rocketwire.wire.addresses import Address

_READ: Final = 1 << 18
_TIMEVAL: Final = Struct("ll")  # seconds and microseconds


class SocketStream(Protocol):
    """A connection; everything raises OSError when it fails."""

    own_host: str

    def send(self, data: bytes) -> None:
        """Send all."""
        ...

    def receive(self) -> bytes:
        """The next bytes; none at the end."""
        ...

    def close(self) -> None:
        """Close it; whoever receives then gets the end, or an error."""
        ...


def connect(address: Address, tls: ssl.SSLContext | None, timeout: float) -> SocketStream:
    """A connection to an address.

    Raises:
        OSError, UnicodeError: it cannot be reached within so many seconds, or the handshake fails.
    """
    connection = socket.create_connection((address.host, address.port), timeout)
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stream = _Plain(connection) if tls is None else _Encrypted(connection, tls, address.host)
        connection.settimeout(None)  # of receiving; a peer that reads nothing must not stop who sends
        until_error = _TIMEVAL.pack(int(timeout), int(timeout % 1 * 1e6))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, until_error)
    except BaseException:
        connection.close()
        raise
    return stream


class _Plain:
    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._sending = threading.Lock()
        self.own_host: str = connection.getsockname()[0]

    def send(self, data: bytes) -> None:
        with self._sending:
            self._socket.sendall(data)

    def receive(self) -> bytes:
        return self._socket.recv(_READ)

    def close(self) -> None:
        try:
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes who receives
        except OSError:
            pass
        finally:
            self._socket.close()


class _Encrypted(_Plain):
    """TLS over memory: OpenSSL's connections may not be used by two threads at once, so a lock protects it.

    The lock is not held while a thread waits for bytes, so sends pass a thread that receives.
    """

    def __init__(self, connection: socket.socket, context: ssl.SSLContext, host: str) -> None:
        super().__init__(connection)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        self._state = threading.Lock()
        while True:
            try:
                self._tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self._flush()
                self._fill()
        self._flush()

    def send(self, data: bytes) -> None:
        with self._sending:
            with self._state:
                rest = memoryview(data)
                while rest:
                    rest = rest[self._tls.write(rest) :]
                encrypted = self._outgoing.read()
            self._socket.sendall(encrypted)

    def receive(self) -> bytes:
        while True:
            with self._state:
                try:
                    return self._tls.read(_READ)
                except ssl.SSLWantReadError:
                    pass
                except ssl.SSLZeroReturnError:
                    return b""
            if not self._fill():
                return b""
            with self._sending:
                self._flush()

    def _fill(self) -> bool:
        """Wait for bytes; false at the end."""
        data = self._socket.recv(_READ)
        with self._state:
            if data:
                self._incoming.write(data)
            else:
                self._incoming.write_eof()
        return bool(data)

    def _flush(self) -> None:
        """Send what TLS itself has to say."""
        with self._state:
            encrypted = self._outgoing.read()
        if encrypted:
            self._socket.sendall(encrypted)
