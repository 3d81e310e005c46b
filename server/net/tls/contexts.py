"""The certificates in use: created or loaded on demand, and reloaded when their files change.

Files are checked when a TLS client connects, so they cost nothing in between; existing connections keep the context
they began with. New files that cannot be used change nothing, and the log has the reason: for a moment a certificate
may be newer than its key.
"""

from __future__ import annotations

import logging
import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

import trio

from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.threads import RunSync
from rocketwire.server.net.tls.keys import TlsKeys
from rocketwire.server.net.tls.settings import (
    ClientAuth,
    TlsFiles,
    TlsInvalid,
    TlsMode,
    TlsSettings,
    read_tls_settings,
)

_DAYS = 3650


class KeyPair(NamedTuple):
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes


def self_signed(now: int) -> KeyPair:
    """Create a certificate for test mode, which encrypts but proves nothing.

    It is on the curve P-256, valid from a day before `now` (ms since 1970) for ten years.
    """
    # Imported here: 0.1 s and 8 MiB that a server without TLS clients saves.
    from cryptography import x509  # noqa: PLC0415
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415
    from cryptography.x509.oid import NameOID  # noqa: PLC0415

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "rocketwire test certificate")])
    begin = datetime.fromtimestamp(now // 1000, UTC) - timedelta(days=1)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + timedelta(days=_DAYS))
        .sign(key, hashes.SHA256())
    )
    return KeyPair(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    )


log = logging.getLogger(__name__)

_VERIFY: Final = {
    ClientAuth.NONE: ssl.CERT_NONE,
    ClientAuth.OPTIONAL: ssl.CERT_OPTIONAL,
    ClientAuth.REQUIRE: ssl.CERT_REQUIRED,
}
_HTTP2: Final = "h2"
Signature = tuple[tuple[int, int, int] | None, ...]


class TlsContexts:
    """Provides the SSL context of each new TLS connection.

    Attributes:
        mode: Whether TLS is offered or required.
    """

    def __init__(self, settings: TlsSettings, *, clock: Clock, run_sync: RunSync) -> None:
        self.mode = settings.mode
        self._settings = settings
        self._clock = clock
        self._run_sync = run_sync
        self._paths = [Path(each) for each in (settings.cert_path, settings.key_path, settings.trust_cert_path) if each]
        self._context: ssl.SSLContext | None = None
        self._seen: Signature = ()
        self._changing = trio.Lock()

    def load(self) -> None:
        """Load the configured files, so that mistakes show at the start; test mode waits for its first client.

        Raises:
            TlsInvalid: a file is missing or has the wrong content.
        """
        if self.mode is not TlsMode.DISABLED and not self._settings.test_mode:
            self._seen = self._signature()
            self._context = load_context(self._settings)

    async def current(self) -> ssl.SSLContext:
        """The context for a connection that begins now."""
        context = self._context
        if context is not None and (self._settings.test_mode or self._signature() == self._seen):
            return context
        async with self._changing:
            if self._context is None:
                self._context = await self._run_sync(make_test_context, self._clock())
            elif not self._settings.test_mode:
                await self._reload(self._signature())
        return self._context

    async def _reload(self, signature: Signature) -> None:
        if signature == self._seen:
            return  # another client's turn has done it
        self._seen = signature
        try:
            self._context = await self._run_sync(load_context, self._settings)
        except TlsInvalid as error:
            log.warning("TLS keeps the former certificate: %(reason)s", {"reason": error})
        else:
            log.info("TLS: the certificate in %(file)s is loaded again", {"file": self._settings.cert_path})

    def _signature(self) -> Signature:
        """Identifies the files' content: modification time, length and inode of each."""
        return tuple(map(_signature_of, self._paths))


def _signature_of(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def make_test_context(now: int) -> ssl.SSLContext:
    """A context with a new self-signed certificate. Blocking: 0.1 s."""
    context = _context()
    credentials = self_signed(now)
    # The ssl module reads certificates from files only; this one is readable by the owner only and removed at once.
    with tempfile.NamedTemporaryFile(suffix=".pem") as file:
        file.write(credentials.certificate + credentials.key)
        file.flush()
        context.load_cert_chain(file.name)
    return context


def loaded_contexts(keys: TlsKeys, *, clock: Clock, run_sync: RunSync) -> TlsContexts:
    """The contexts for keys, with their files loaded.

    Raises:
        TlsInvalid: a file is missing or has the wrong content.
    """
    settings = read_tls_settings(keys.tls_config_file, keys.tls_server_mode)
    contexts = TlsContexts(settings, clock=clock, run_sync=run_sync)
    contexts.load()
    return contexts


def load_context(settings: TlsSettings) -> ssl.SSLContext:
    """A context of the configured files. Blocking.

    Raises:
        TlsInvalid: a file is missing or has the wrong content.
    """
    context = _context()
    load_key(context, settings)
    if settings.auth_client:
        verify(context, settings, _VERIFY[settings.client_auth], ssl.Purpose.CLIENT_AUTH)
    return context


def verify(context: ssl.SSLContext, settings: TlsFiles, mode: ssl.VerifyMode, others: ssl.Purpose) -> None:
    """Have a context verify the other side's certificate, by the configured authorities or the system's. Blocking.

    Raises:
        TlsInvalid: no authority is in the file.
    """
    context.verify_mode = mode
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # each certificate in the file is trusted, as by Java
    if settings.trust_cert_path:
        _load_authorities(context, settings, settings.names.trust, settings.trust_cert_path)
    else:
        context.load_default_certs(others)


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols([_HTTP2])  # gRPC clients insist on it; others do not offer protocols
    return context


def _load_authorities(context: ssl.SSLContext, settings: TlsFiles, name: str, path: str) -> None:
    try:
        context.load_verify_locations(path)
    except ssl.SSLError as error:
        raise settings.invalid(name, "holds no certificate in PEM format") from error
    except OSError as error:
        raise settings.invalid(name, str(error.strerror)) from error


def load_key(context: ssl.SSLContext, settings: TlsFiles) -> None:
    """Have a context of one's own certificate. Blocking.

    Raises:
        TlsInvalid: the certificate or its key cannot be used.
    """
    names = settings.names
    _load_authorities(_context(), settings, names.cert, settings.cert_path)  # so that an error below is about the key
    encrypted = False

    def password() -> str:
        nonlocal encrypted
        encrypted = True
        return settings.key_password

    try:
        with Path(settings.key_path).open("rb"):
            context.load_cert_chain(settings.cert_path, settings.key_path, password)
    except (ssl.SSLError, ValueError) as error:  # ValueError: an overlong password
        if getattr(error, "reason", None) == "KEY_VALUES_MISMATCH":
            raise settings.invalid(names.key, f"is not the key of {names.cert}={settings.cert_path}") from error
        if encrypted:
            why = "is not its password" if settings.key_password else "is missing, and the key is encrypted"
            raise settings.invalid(names.key_password, f"{why}: {names.key}={settings.key_path}") from error
        raise settings.invalid(names.key, "holds no private key in PEM format") from error
    except OSError as error:
        raise settings.invalid(names.key, str(error.strerror)) from error
