"""The self-signed certificate of test mode, which encrypts but proves nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

_DAYS = 3650


class KeyPair(NamedTuple):
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes


def self_signed(now: int) -> KeyPair:
    """Create one on the curve P-256, valid from a day before `now` (ms since 1970) for ten years."""
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
