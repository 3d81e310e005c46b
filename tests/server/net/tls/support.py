"""Helpers for the tests of TLS: certificates, `tls.properties`, a client that speaks TLS."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import trio
import trustme

from rocketwire.server.config.java_properties import format_java_properties
from rocketwire.wire.addresses import Address
from tests.server.harness import Client, Server, settle

HOST = "broker.test"


def trusting_any_certificate() -> ssl.SSLContext:
    """A client that accepts any certificate, as the official client's test mode does."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def trusting_authority(authority: trustme.CA, own: trustme.LeafCert | None = None) -> ssl.SSLContext:
    """A client that checks the server's certificate, and has one itself."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority.configure_trust(context)
    if own is not None:
        own.configure_cert(context)
    return context


class Files:
    """A folder with a server's certificate, its key, and the authority of the clients' certificates."""

    def __init__(self, folder: Path, authority: trustme.CA, certificate: trustme.LeafCert) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.certificate = folder / "server.pem"
        self.key = folder / "server.key"
        self.trust = folder / "ca.pem"
        self.write(certificate)
        authority.cert_pem.write_to_path(self.trust)

    def write(self, certificate: trustme.LeafCert) -> None:
        """Replace the certificate and key in the folder."""
        self.certificate.write_bytes(b"".join(blob.bytes() for blob in certificate.cert_chain_pems))
        self.key.write_bytes(certificate.private_key_pem.bytes())

    def properties(self, **changes: str) -> Path:
        """A `tls.properties` that names them; a changed value of "" leaves the key out. Dots are underscores."""
        values = {
            "tls_test_mode_enable": "false",
            "tls_server_certPath": str(self.certificate),
            "tls_server_keyPath": str(self.key),
            **changes,
        }
        path = self.folder / "tls.properties"
        named = {name.replace("_", "."): value for name, value in values.items() if value}
        path.write_text(format_java_properties(named), "utf-8")
        return path


class TlsClient(Client):
    """A client whose frames are encrypted."""

    def __init__(self, address: Address, context: ssl.SSLContext | None = None, **options: Any) -> None:
        super().__init__(address, **options)
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = (context or trusting_any_certificate()).wrap_bio(self.incoming, self.outgoing, server_hostname=HOST)
        self._shaken = False

    async def shake_hands(self) -> None:
        """Do the handshake. Raises ssl.SSLError, or OSError when the server closes."""
        while True:
            try:
                self.tls.do_handshake()
            except ssl.SSLWantReadError:
                await self.send_encrypted()
                await trio.lowlevel.wait_readable(self.sock)
                data = self.sock.recv(1 << 16)
                if not data:
                    raise ConnectionResetError from None
                self.incoming.write(data)
            else:
                break
        await self.send_encrypted()
        self._shaken = True

    async def send_encrypted(self) -> None:
        """Send the bytes that TLS has for the server."""
        await super().write(self.outgoing.read())

    async def write(self, data: bytes) -> None:
        """Encrypt and send."""
        if not self._shaken:
            await self.shake_hands()
        rest = memoryview(data)
        while rest:
            rest = rest[self.tls.write(rest) :]
        await self.send_encrypted()

    def _received(self) -> bytes:
        found = []
        while True:
            try:
                while data := self.tls.read(1 << 20):  # a record each
                    found.append(data)
            except ssl.SSLZeroReturnError:  # both ends have announced their end
                pass
            except ssl.SSLWantReadError:
                if not found:
                    data = self.sock.recv(1 << 20)
                    self.incoming.write(data)
                    if data:
                        continue
            return b"".join(found)


def secured(server: Server, context: ssl.SSLContext | None = None, **options: Any) -> TlsClient:
    """A TLS connection to the server's broker; it is closed with the server."""
    client = TlsClient(server.broker_address, context, **options)
    server.adopt(client)
    return client


async def refused(client: TlsClient) -> bool:
    """Whether the server ends the connection during the handshake, or right behind it."""
    try:
        await client.shake_hands()
        await settle()
        await client.request(9999)
    except (OSError, AssertionError):
        return True
    return False
