"""Requests to brokers that are signed with the proxy's own account, as Apache's clients sign theirs."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from rocketwire.server.config.keys import ConfigError
from rocketwire.server.upstream.keys import UpstreamKeys
from rocketwire.wire.frame import Buffer
from rocketwire.wire.header import Header
from rocketwire.wire.signature import ACCESS_KEY, SIGNATURE, UNIQUE_KEY_QUERY, Secret, content

_SECURITY_TOKEN: Final = "SecurityToken"  # noqa: S105 - a field's name
_OF_THE_SENDER: Final = frozenset({ACCESS_KEY, SIGNATURE, _SECURITY_TOKEN})
_VERSION_4_9_3: Final = 399


class Signer:
    """An account.

    Args:
        access_key: Its name.
        secret_key: What it signs with.
    """

    def __init__(self, access_key: str, secret_key: str) -> None:
        self._access_key = access_key
        self._secret = Secret(secret_key)

    def signed(self, header: Header, body: Buffer) -> Header:
        """The header of a request, signed by this account and by no other."""
        ext = {name: value for name, value in (header.ext or {}).items() if name not in _OF_THE_SENDER}
        ext[ACCESS_KEY] = self._access_key
        covered, version = ext, header.version
        if UNIQUE_KEY_QUERY in ext:
            # Brokers of 4.9.7 leave this field out when they check, newer ones only for clients up to 4.9.3.
            covered = {name: value for name, value in ext.items() if name != UNIQUE_KEY_QUERY}
            version = min(version, _VERSION_4_9_3)
        ext[SIGNATURE] = self._secret.sign(content(covered), body).decode()
        return replace(header, ext=ext, version=version)


def upstream_signer(keys: UpstreamKeys) -> Signer | None:
    """The account that keys name; None: requests are passed on as they are.

    Raises:
        ConfigError: a half of it is missing.
    """
    access_key, secret_key = keys.upstream_access_key, keys.upstream_secret_key
    if not access_key and not secret_key:
        return None
    if not access_key or not secret_key:
        given, missing = "upstreamAccessKey", "upstreamSecretKey"
        if secret_key:
            given, missing = missing, given
        raise ConfigError(f"{given} is there, and {missing} is missing")
    return Signer(access_key, secret_key)
