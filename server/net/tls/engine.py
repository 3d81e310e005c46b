"""One side of a TLS connection, without a socket: encrypted bytes in and out, plain bytes in and out.

It is the server's side for clients; a proxy that encrypts what it sends to brokers has the client's.
"""

from __future__ import annotations

import contextlib
import ssl

from rocketwire.wire.frame import Buffer


class TlsFault(Exception):
    """A violation of TLS by the other side, or a failed handshake; the message has the reason."""


class TlsEngine:
    """One connection's state; the other side is called the client here.

    Attributes:
        ended: Whether the client has closed its side of TLS.
    """

    __slots__ = ("_incoming", "_outgoing", "_tls", "ended")

    def __init__(self, context: ssl.SSLContext, *, server_side: bool = True) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=server_side)
        self.ended = False

    @property
    def pending(self) -> int:
        """Bytes to send to the client."""
        return self._outgoing.pending

    def receive(self, data: Buffer) -> None:
        """Take bytes that the client sent."""
        self._incoming.write(data)

    def to_send(self) -> bytes:
        """Take the bytes to send to the client."""
        return self._outgoing.read()

    def shake_hands(self) -> bool:
        """Continue the handshake; return whether it is complete.

        Raises:
            TlsFault: it has failed; `to_send` has the alert for the client.
        """
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLError as error:
            raise _fault(error) from error
        return True

    def read_into(self, buffer: memoryview) -> int:
        """Decrypt received bytes into the buffer and return how many; 0: more are needed, or the client has ended.

        Raises:
            TlsFault: the received bytes cannot be decrypted.
        """
        at = 0
        try:
            while at < len(buffer):
                # One record at a time, at most 16 KiB. With a buffer, `read` returns a number, but the stub has bytes.
                size: int = self._tls.read(len(buffer) - at, buffer[at:])  # type: ignore[assignment]
                if not size:
                    self.ended = True
                    break
                at += size
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:  # both sides have closed theirs
            self.ended = True
        except ssl.SSLError as error:
            raise _fault(error) from error
        return at

    def write(self, data: memoryview) -> None:
        """Encrypt bytes for the client."""
        at = 0
        while at < len(data):
            at += self._tls.write(data[at:])

    def end(self) -> None:
        """Send the client TLS's close notification."""
        with contextlib.suppress(ssl.SSLError):  # the client has not closed its side, or the connection had failed
            self._tls.unwrap()


def _fault(error: ssl.SSLError) -> TlsFault:
    reason = error.reason.replace("_", " ").lower() if error.reason else str(error)
    return TlsFault(f"{reason}: {error.verify_message}" if isinstance(error, ssl.SSLCertVerificationError) else reason)
