"""TLS settings: `tls.properties` with Apache's names, and Apache's meanings where possible."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from rocketwire.server.config.java_properties import JavaPropertiesInvalid, parse_java_properties

log = logging.getLogger(__name__)

MODE: Final = "tls.server.mode"
TEST_MODE: Final = "tls.test.mode.enable"
NEED_CLIENT_AUTH: Final = "tls.server.need.client.auth"
KEY_PATH: Final = "tls.server.keyPath"
KEY_PASSWORD: Final = "tls.server.keyPassword"  # noqa: S105 - a setting's name
CERT_PATH: Final = "tls.server.certPath"
AUTH_CLIENT: Final = "tls.server.authClient"
TRUST_CERT_PATH: Final = "tls.server.trustCertPath"


class FileNames(NamedTuple):
    """The names of the settings that name the files of one side."""

    cert: str
    key: str
    key_password: str
    trust: str


SERVER_FILES: Final = FileNames(CERT_PATH, KEY_PATH, KEY_PASSWORD, TRUST_CERT_PATH)

_SERVERS: Final = (MODE, TEST_MODE, NEED_CLIENT_AUTH, KEY_PATH, KEY_PASSWORD, CERT_PATH, AUTH_CLIENT, TRUST_CERT_PATH)
_NOT_USED_BY_TEST_MODE: Final = (NEED_CLIENT_AUTH, KEY_PATH, KEY_PASSWORD, CERT_PATH, AUTH_CLIENT, TRUST_CERT_PATH)
_CLIENTS: Final = ("tls.client.", "tls.enable", "tls.config.file")


class TlsInvalid(Exception):
    """TLS cannot work as configured; the message is one line that names the file and the setting."""


class TlsMode(StrEnum):
    """Whether TLS is offered or required."""

    DISABLED = "disabled"
    PERMISSIVE = "permissive"
    ENFORCING = "enforcing"


class ClientAuth(StrEnum):
    """Whether clients send a certificate."""

    NONE = "none"
    OPTIONAL = "optional"
    REQUIRE = "require"


Choice = TypeVar("Choice", TlsMode, ClientAuth)


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsFiles:
    """The files of one side of TLS. Relative paths are relative to the process's directory.

    Attributes:
        source: The name of the file with the settings, for errors.
        names: The names of the settings.
        cert_path: The certificate and its intermediate certificates, PEM.
        key_path: Its private key, PEM.
        key_password: The key's password; empty: the key is not encrypted.
        trust_cert_path: The authorities that the other side's certificate must be from, PEM; empty: those of the
            system.
    """

    source: str = "tls.properties"
    names: FileNames = SERVER_FILES
    cert_path: str = ""
    key_path: str = ""
    key_password: str = field(default="", repr=False)
    trust_cert_path: str = ""

    def invalid(self, name: str, why: str) -> TlsInvalid:
        """An error about one setting; the message shows its value unless it is secret."""
        names = self.names
        if name == names.key_password:
            return TlsInvalid(f"{self.source}: {name}: {why}")
        shown = {names.key: self.key_path, names.cert: self.cert_path, names.trust: self.trust_cert_path}
        return TlsInvalid(f"{self.source}: {name}={shown[name]}: {why}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings(TlsFiles):
    """The TLS settings of one server.

    Attributes:
        mode: Whether TLS is offered or required.
        test_mode: Use a certificate created for the first TLS client, and none of the settings below, nor files.
        client_auth: Whether clients send a certificate.
        auth_client: Whether client certificates are verified.
    """

    mode: TlsMode = TlsMode.PERMISSIVE
    test_mode: bool = True
    client_auth: ClientAuth = ClientAuth.NONE
    auth_client: bool = False


def read_tls_settings(path: str, mode: str) -> TlsSettings:
    """Read `tls.properties`; without a path all settings are defaults. A non-empty `mode` overrides the file's.

    Raises:
        TlsInvalid: the file cannot be read, or a value is not allowed.
    """
    values = read_properties(path, "tlsConfigFile") if path else {}
    warn_of_unknown_keys(path, values, known=_SERVERS, others=_CLIENTS)
    found = TlsSettings(
        source=path or TlsSettings().source,
        mode=TlsMode(mode) if mode else _choice(path, values, MODE, TlsMode.PERMISSIVE),
        test_mode=read_switch(path, values, TEST_MODE, default=True),
        cert_path=values.get(CERT_PATH, ""),
        key_path=values.get(KEY_PATH, ""),
        key_password=values.get(KEY_PASSWORD, ""),
        client_auth=_choice(path, values, NEED_CLIENT_AUTH, ClientAuth.NONE),
        auth_client=read_switch(path, values, AUTH_CLIENT, default=False),
        trust_cert_path=values.get(TRUST_CERT_PATH, ""),
    )
    if found.mode is not TlsMode.DISABLED:
        _check(found, values)
    return found


def read_properties(path: str, key: str) -> dict[str, str]:
    """The settings of a file, which a key of the server names.

    Raises:
        TlsInvalid: it cannot be read.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise TlsInvalid(f"{path} ({key}): {error.strerror}") from error
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = content.decode("iso-8859-1")  # the encoding that Java assumes for properties files
    try:
        return {name: value.strip() for name, value in parse_java_properties(text).items()}
    except JavaPropertiesInvalid as error:
        raise TlsInvalid(f"{path} ({key}): {error}") from error


def warn_of_unknown_keys(
    path: str, values: Mapping[str, str], *, known: Iterable[str], others: tuple[str, ...]
) -> None:
    """Warn of the unknown settings of a file, but for those that others read: their names begin with `others`."""
    names = frozenset(known)
    for name in values:
        if name not in names and not name.startswith(others):
            log.warning("%(file)s: %(setting)s has no effect here", {"file": path, "setting": name})


def warn_of_unused(path: str, values: Mapping[str, str], names: Iterable[str]) -> None:
    """Warn of settings that the test mode does not use."""
    unused = [name for name in names if values.get(name)]
    if unused:
        log.warning(
            "%(file)s: %(setting)s is true, so %(unused)s is not used",
            {"file": path, "setting": TEST_MODE, "unused": ", ".join(unused)},
        )


def _choice(path: str, values: dict[str, str], name: str, default: Choice) -> Choice:
    text = values.get(name, default)
    choices = list(type(default))
    for each in choices:
        if text.lower() == each:
            return each
    raise TlsInvalid(f"{path}: {name}={text}: expected {' or '.join(choices)}")


def read_switch(path: str, values: dict[str, str], name: str, *, default: bool) -> bool:
    """A setting that is true or false.

    Raises:
        TlsInvalid: it is neither.
    """
    text = values.get(name, str(default))
    value = {"true": True, "false": False}.get(text.lower())
    if value is None:
        raise TlsInvalid(f"{path}: {name}={text}: expected true or false")
    return value


def _check(found: TlsSettings, values: dict[str, str]) -> None:
    """Refuse contradictory settings; warn about unused ones."""
    if found.test_mode:
        warn_of_unused(found.source, values, _NOT_USED_BY_TEST_MODE)
        return
    for name, value in ((CERT_PATH, found.cert_path), (KEY_PATH, found.key_path)):
        if not value:
            raise TlsInvalid(f"{found.source}: {name} is missing, and {TEST_MODE} is false")
    if found.client_auth is ClientAuth.REQUIRE and not found.auth_client:
        raise TlsInvalid(
            f"{found.source}: {NEED_CLIENT_AUTH}=require needs {AUTH_CLIENT}=true:"
            " a certificate that nobody checks proves nothing"
        )
    if found.client_auth is ClientAuth.NONE and found.auth_client:
        log.warning(
            "%(file)s: %(setting)s is none, so %(other_setting)s=true checks nobody",
            {"file": found.source, "setting": NEED_CLIENT_AUTH, "other_setting": AUTH_CLIENT},
        )
