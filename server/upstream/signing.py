"""Requests to brokers that are signed with the proxy's own account, as Apache's clients sign theirs."""

from __future__ import annotations

import logging
from collections.abc import Container

from rocketwire.remoting.credentials import Credentials, Signer
from rocketwire.server.config.keys import ConfigError
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.upstream.keys import UpstreamKeys
from rocketwire.wire.frame import Buffer
from rocketwire.wire.header import Header

log = logging.getLogger(__name__)


class UpstreamAccount:
    """The account that the keys in force name; a proxy may get one, lose it or change it while it runs.

    Args:
        keys: Its name and its secret key.
        codes: Codes of the requests that may be signed with it; others keep their clients' signatures.

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
    return Signer(Credentials(access_key=access_key, secret_key=secret_key))
