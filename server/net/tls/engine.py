"""The server's end of one TLS connection, without a socket: encrypted bytes in and out, plain bytes in and out."""

from __future__ import annotations

import contextlib
import ssl

from rocketwire.wire.frame import Buffer


class TlsFault(Exception):
    """The other end does not speak TLS as agreed; the text says what was wrong."""


class Engine:
    """One connection's state.

    Attributes:
        ended: Whether the client said that it sends no more.
    """

    __slots__ = ("_incoming", "_outgoing", "_tls", "ended")

    def __init__(self, context: ssl.SSLContext) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self.ended = False

    @property
    def pending(self) -> int:
        """Bytes that wait to be sent to the client."""
        return self._outgoing.pending

    def receive(self, data: Buffer) -> None:
        """Take bytes that the client sent."""
        self._incoming.write(data)

    def to_send(self) -> bytes:
        """Give the bytes that the client is to be sent next; they are the caller's then."""
        return self._outgoing.read()

    def shake_hands(self) -> bool:
        """Go on with the handshake; whether it is over.

        Raises:
            TlsFault: it has failed; what is to be sent says so to the client.
        """
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLError as error:
            raise _fault(error) from error
        return True

    def read_into(self, buffer: memoryview) -> int:
        """Decrypt what has come into the buffer; how many bytes. 0: more must come first, or nothing will.

        Raises:
            TlsFault: what has come is not what the client encrypted.
        """
        at = 0
        try:
            while at < len(buffer):
                # A record at a time, 16 KiB at most. Given a buffer, it returns a number, which its stub does not know.
                size: int = self._tls.read(len(buffer) - at, buffer[at:])  # type: ignore[assignment]
                if not size:
                    self.ended = True
                    break
                at += size
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as error:
            raise _fault(error) from error
        return at

    def write(self, data: memoryview) -> None:
        """Encrypt bytes for the client."""
        at = 0
        while at < len(data):
            at += self._tls.write(data[at:])

    def end(self) -> None:
        """Tell the client that nothing more will come."""
        with contextlib.suppress(ssl.SSLError):  # it has not said so itself, or the connection had failed before
            self._tls.unwrap()


def _fault(error: ssl.SSLError) -> TlsFault:
    return TlsFault(error.reason.replace("_", " ").lower() if error.reason else str(error))
