"""The client's side of TLS, for a server that connects to others: Apache's settings of clients, and their context.

As with Apache's clients any certificate is accepted in test mode, and none need name the host that was connected to.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from typing import Final

from rocketwire.server.net.tls.contexts import load_key, verify
from rocketwire.server.net.tls.settings import (
    TEST_MODE,
    FileNames,
    TlsFiles,
    TlsInvalid,
    read_properties,
    read_switch,
    warn_of_unknown_keys,
    warn_of_unused,
)

AUTH_SERVER: Final = "tls.client.authServer"
CLIENT_FILES: Final = FileNames(
    "tls.client.certPath", "tls.client.keyPath", "tls.client.keyPassword", "tls.client.trustCertPath"
)
_OTHERS: Final = ("tls.server.", "tls.enable", "tls.config.file")


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsClientSettings(TlsFiles):
    """How other servers are connected to.

    Attributes:
        test_mode: Accept any certificate, have none, and use no files.
        auth_server: Whether the server's certificate is verified.
    """

    names: FileNames = CLIENT_FILES
    test_mode: bool = True
    auth_server: bool = False


def read_client_settings(path: str, key: str) -> TlsClientSettings:
    """Read the client's part of a `tls.properties`, which a key names; without a path all settings are defaults.

    Raises:
        TlsInvalid: the file cannot be read, or a value is not allowed.
    """
    values = read_properties(path, key) if path else {}
    warn_of_unknown_keys(path, values, known=(TEST_MODE, AUTH_SERVER, *CLIENT_FILES), others=_OTHERS)
    found = TlsClientSettings(
        source=path or TlsClientSettings().source,
        test_mode=read_switch(path, values, TEST_MODE, default=True),
        auth_server=read_switch(path, values, AUTH_SERVER, default=False),
        cert_path=values.get(CLIENT_FILES.cert, ""),
        key_path=values.get(CLIENT_FILES.key, ""),
        key_password=values.get(CLIENT_FILES.key_password, ""),
        trust_cert_path=values.get(CLIENT_FILES.trust, ""),
    )
    if found.test_mode:
        warn_of_unused(path, values, (AUTH_SERVER, *CLIENT_FILES))
    elif bool(found.cert_path) is not bool(found.key_path):
        given, missing = CLIENT_FILES.cert, CLIENT_FILES.key
        if found.key_path:
            given, missing = missing, given
        raise TlsInvalid(f"{path}: {given} is there, and {missing} is missing")
    return found


def client_context(settings: TlsClientSettings) -> ssl.SSLContext:
    """The context for connections to other servers. Blocking.

    Raises:
        TlsInvalid: a file is missing or has the wrong content.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if settings.test_mode:
        return context
    if settings.cert_path:
        load_key(context, settings)
    if settings.auth_server:
        verify(context, settings, ssl.CERT_REQUIRED, ssl.Purpose.SERVER_AUTH)
    return context
