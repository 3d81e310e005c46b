"""Accounts, and signing requests for endpoints with access control."""

from __future__ import annotations

from dataclasses import dataclass, field

from rocketwire.wire.signature import ACCESS_KEY, SIGNATURE, SecretKey, signed_content


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

    def signed(self, ext: dict[str, str], body: bytes | memoryview) -> dict[str, str]:
        """The extension fields of a request, with the account's name and the signature."""
        named = {**ext, ACCESS_KEY: self._access_key}
        named[SIGNATURE] = self._secret.sign(signed_content(named), body).decode()
        return named
