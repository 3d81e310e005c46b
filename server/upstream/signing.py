"""Requests to brokers that are signed with the proxy's own account, as Apache's clients sign theirs."""

from __future__ import annotations

import logging
from collections.abc import Container
from typing import Final

from msgspec.structs import replace

from rocketwire.server.config.keys import ConfigError
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.upstream.keys import UpstreamKeys
from rocketwire.wire.frame import Buffer
from rocketwire.wire.header import Header
from rocketwire.wire.signature import ACCESS_KEY, SECURITY_TOKEN, SIGNATURE, UNIQUE_KEY_QUERY, SecretKey, signed_content

log = logging.getLogger(__name__)

_OF_THE_SENDER: Final = frozenset({ACCESS_KEY, SIGNATURE, SECURITY_TOKEN})
_VERSION_4_9_3: Final = 399


class UpstreamSigner:
    """An account.

    Args:
        access_key: Its name.
        secret_key: What it signs with.
    """

    def __init__(self, access_key: str, secret_key: str) -> None:
        self._access_key = access_key
        self._secret = SecretKey(secret_key)

    def signed(self, header: Header, body: Buffer) -> Header:
        """The header of a request, signed by this account and by no other."""
        ext = _fields_unsigned(header)
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
    return replace(header, ext=_fields_unsigned(header))


def _fields_unsigned(header: Header) -> dict[str, str]:
    return {name: value for name, value in (header.ext or {}).items() if name not in _OF_THE_SENDER}


class UpstreamAccount:
    """The account that the keys in force name; a proxy may get one, lose it or change it while it runs.

    Args:
        keys: Its name and its secret key.
        codes: Codes of the requests that may be signed with it; others keep what their clients have signed with.

    Raises:
        ConfigError: a half of it is missing.
    """

    def __init__(self, keys: LiveGroup[UpstreamKeys], codes: Container[int]) -> None:
        self._keys = keys
        self._codes = codes
        self._named = _named(keys.current)
        self._signer = upstream_signer(keys.current)

    @property
    def active(self) -> bool:
        """Whether there is one."""
        return self._signer is not None

    def signed(self, header: Header, body: Buffer) -> Header:
        """The header of a request, signed by the account; as it is if there is none, or it does not sign this code."""
        if self._signer is None or header.code not in self._codes:
            return header
        return self._signer.signed(header, body)

    def changed(self) -> None:
        """Follow the keys; a half of an account changes nothing."""
        named = _named(self._keys.current)
        if named == self._named:
            return
        try:
            self._signer = upstream_signer(self._keys.current)
        except ConfigError as error:
            log.warning("the account of before signs requests: %(reason)s", {"reason": error})
        else:
            self._named = named


def _named(keys: UpstreamKeys) -> tuple[str, str]:
    return keys.upstream_access_key, keys.upstream_secret_key


def upstream_signer(keys: UpstreamKeys) -> UpstreamSigner | None:
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
    return UpstreamSigner(access_key, secret_key)
