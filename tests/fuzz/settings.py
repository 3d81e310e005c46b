"""Configuration files: the first byte is the kind, then the text of properties."""

from __future__ import annotations

import contextlib
import logging
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rocketwire.server.config.java_properties import (
    JavaPropertiesInvalid,
    format_java_properties,
    parse_java_properties,
)
from rocketwire.server.config.keys import ConfigError, format_value
from rocketwire.server.configuration import KEYS, ServerConfig, read_settings
from rocketwire.server.net.tls.settings import TlsInvalid, read_tls_settings
from rocketwire.server.throttle.quotas import instance_quota, read_quotas
from tests.fuzz.part import Check, Part

_SAID = logging.getLogger("rocketwire.server.net.tls.settings")


@contextlib.contextmanager
def opened() -> Iterator[Check]:
    """With a place for files of TLS."""
    level = _SAID.level
    _SAID.setLevel(logging.ERROR)  # it warns of names that it does not know
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tls.properties"

        def check(data: bytes) -> None:
            if data[:1] == b"t":
                _tls(path, data[1:])
            else:
                _broker(data[1:].decode(errors="replace"))

        yield check
    _SAID.setLevel(level)


def _tls(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with contextlib.suppress(TlsInvalid):
        assert str(read_tls_settings(str(path), "").mode)


def _broker(text: str) -> None:
    try:
        settings = parse_java_properties(text)
    except JavaPropertiesInvalid as error:
        assert str(error)
        return
    assert parse_java_properties(format_java_properties(settings)) == settings
    try:
        config, _ = read_settings(settings)
    except ConfigError as error:
        assert str(error)
        return
    for key in KEYS:
        value = getattr(getattr(config, key.group), key.attribute)
        assert key.read(format_value(value), spelling=key.name) == value, key.name
    for quotas in (config.throttle.topic_quotas, config.throttle.group_quotas):
        read_quotas(quotas).of("T")
    instance_quota(config.throttle.instance_tps, config.throttle.send_receive_ratio)
    assert config.delay.levels
    with contextlib.suppress(ConfigError):
        ServerConfig().updated(settings)


def seeds() -> Iterator[bytes]:
    """All keys with their defaults, singly, and the settings of TLS."""
    for name, value in ServerConfig().properties().items():
        yield b"b" + f"{name}={value}\n".encode()
    yield b"btopicQuotas=T=10/20,*=-/5 U=1/-\ninstanceTps=100\nsendReceiveRatio=2:1\n"
    yield b"ttls.server.mode=enforcing\ntls.test.mode.enable=false\ntls.server.keyPath=k\ntls.server.certPath=c\n"
    yield b"ttls.server.need.client.auth=require\ntls.server.authClient=true\n"


PART = Part(
    opened=opened,
    seeds=seeds,
    words=[*(f"\n{key.name}=" for key in KEYS), "\\u0041", "\\u", "\\\n", ":", "\n#", "\n!", "/", "-", "*", ",", "="],
)
