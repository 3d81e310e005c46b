"""Accounts, and signing requests for endpoints with access control."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace

from rocketwire.wire.frame import Buffer
from rocketwire.wire.header import Header
from rocketwire.wire.signature import (
    ACCESS_KEY,
    ACCOUNT_FIELDS,
    SIGNATURE,
    UNIQUE_KEY_QUERY,
    SecretKey,
    signed_content,
)

_VERSION_4_9_3: Final = 399


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """An account of an endpoint; its representation does not show the secret key."""

    access_key: str
    secret_key: str = field(repr=False)


class Signer:
    """Signs requests for one account."""

    def __init__(self, credentials: Credentials) -> None:
        self._access_key = credentials.access_key
        self._secret = SecretKey(credentials.secret_key)

    def signed(self, header: Header, body: Buffer) -> Header:
        """The header of a request, signed by this account and by no other."""
        ext = _unsigned_fields(header)
        ext[ACCESS_KEY] = self._access_key
        covered, version = ext, header.version
        if UNIQUE_KEY_QUERY in ext:
            # Brokers of 4.9.7 leave this field out when they check, newer ones only for clients up to 4.9.3.
            covered = {name: value for name, value in ext.items() if name != UNIQUE_KEY_QUERY}
            version = min(version, _VERSION_4_9_3)
        ext[SIGNATURE] = self._secret.sign(signed_content(covered), body).decode()
        return replace(header, ext=ext, version=version)


def unsigned(header: Header) -> Header:
    """The header of a request without its signature."""
    return replace(header, ext=_unsigned_fields(header))


def _unsigned_fields(header: Header) -> dict[str, str]:
    return {name: value for name, value in (header.ext or {}).items() if name not in ACCOUNT_FIELDS}
