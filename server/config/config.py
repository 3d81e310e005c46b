"""The server's configuration: Apache's keys, with Apache's names and defaults.

`ServerConfig` declares each key once. `read_settings` reads settings, which are text by name (`broker.conf`, `--set`);
the last one of a name wins; a bad value raises `ConfigError`. Code 25 changes some keys of a running broker:
`ServerConfig.updated`. Addresses of the command line that have no key in Apache are fields of their own.

Differences from Apache's defaults: `brokerName` is `broker-a` (Apache: the host's name), addresses are loopback's, the
store is `./data`, `enablePropertyFilter` is true.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rocketwire.server.config.apache_keys import APACHE_KEYS_WITHOUT_EFFECT, WHY_WITHOUT_EFFECT
from rocketwire.server.config.guard_keys import GuardKeys
from rocketwire.server.config.keys import ConfigError, Key, Value, keys_of, write
from rocketwire.server.config.store_keys import ASYNC_FLUSH, CONSUME_QUEUE_ENTRY, SYNC_FLUSH
from rocketwire.wire.addresses import Address

if TYPE_CHECKING:  # few servers have rules, and none needs their types for anything but their values
    from rocketwire.server.operations.faults.rule import Rule
from rocketwire.server.core.logs import CONSOLE

__all__ = [
    "ASYNC_FLUSH",
    "KEYS",
    "NAME_SERVER",
    "SYNC_FLUSH",
    "ConfigError",
    "ServerConfig",
    "read_settings",
]

NAME_SERVER: Final = Address(host="127.0.0.1", port=9876)

_UNIT_MS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig(GuardKeys):
    """The configuration of one server process. Times are milliseconds, sizes are bytes."""

    # Addresses that only the command line sets.
    name_server: Address = NAME_SERVER
    """Where the name server listens."""
    advertised_port: int | None = None
    """The port that clients are given, if it is not the one that the broker listens on (NAT, containers)."""
    http: Address | None = None
    """Where the HTTP server for metrics and health listens; None: there is none."""
    log_format: str = CONSOLE
    """The format of the log: one of `logs.FORMATS`."""

    # Fault injection, set only by the command line: docs/faults.md.
    faults: tuple[Rule, ...] = ()
    """The rules in force from the start."""

    @property
    def broker_address(self) -> Address:
        """Where the broker listens."""
        return Address(host=self.bind_address, port=self.listen_port)

    @property
    def advertised_host(self) -> str:
        """The host that clients are given."""
        return self.broker_ip1 or self.bind_address

    @property
    def faults_allowed(self) -> bool:
        """Whether fault rules may be in force, now or later."""
        return bool(self.faults) or self.fault_injection_enable

    @property
    def sync_flush(self) -> bool:
        """Whether an answer to a send means that the message is on the disk."""
        return self.flush_disk_type == SYNC_FLUSH

    @property
    def store_dir(self) -> Path:
        """The store's folder."""
        return Path(self.store_path_root_dir)

    @property
    def acl_path(self) -> Path:
        """The accounts' file."""
        return Path(self.acl_file) if self.acl_file else self.store_dir / "config" / "plain_acl.yml"

    @property
    def commit_log_dir(self) -> Path:
        """The commit log's folder."""
        return Path(self.store_path_commit_log) if self.store_path_commit_log else self.store_dir / "commitlog"

    @property
    def consume_queue_file_size(self) -> int:
        """Bytes of a consume queue file: a whole number of entries."""
        return -(-self.mapped_file_size_consume_queue // CONSUME_QUEUE_ENTRY) * CONSUME_QUEUE_ENTRY

    @property
    def delay_levels(self) -> tuple[int, ...]:
        """The delays of level 1, 2 and so on in milliseconds."""
        return tuple(int(each[:-1]) * _UNIT_MS[each[-1]] for each in self.message_delay_level.split(" "))

    def properties(self) -> dict[str, str]:
        """Every key with effect and its value as text: the answer to code 26."""
        texts = {each.name: write(getattr(self, each.attribute)) for each in KEYS}
        return {**texts, "brokerIP1": self.advertised_host, "namesrvAddr": str(self.name_server)}

    def updated(self, changes: Mapping[str, str]) -> ServerConfig:
        """A copy with some keys changed, as code 25 does.

        Raises:
            ConfigError: a bad value, a key without effect, or one that is read at the start only.
        """
        values: dict[str, Value] = {}
        for name, text in changes.items():
            known = _BY_NAME.get(name)
            if known is None:
                raise ConfigError(f"{name}={text}: {_without_effect(name)}")
            if not known.online:
                raise ConfigError(f"{name}={text}: read at the start only; restart the server with it")
            values[known.attribute] = known.read(text, spelling=name)
        return _replaced(self, values)


KEYS: Final = keys_of(fields(ServerConfig))
"""Every key with effect, in the order of their declaration."""

_BY_NAME: Final[dict[str, Key]] = {name: each for each in KEYS for name in (each.name, *each.aliases)}


def read_settings(settings: Mapping[str, str]) -> tuple[ServerConfig, tuple[str, ...]]:
    """Read settings given as text; if a key is given in two spellings, the later one wins.

    Returns:
        the configuration, and one warning line for each key without effect.

    Raises:
        ConfigError: a value that is not allowed.
    """
    values: dict[str, Value] = {}
    warnings: list[str] = []
    for name, text in settings.items():
        known = _BY_NAME.get(name)
        if known is None:
            warnings.append(f"{name}: {_without_effect(name)}")
        else:
            values[known.attribute] = known.read(text, spelling=name)
    return _replaced(ServerConfig(), values), tuple(warnings)


def _replaced(config: ServerConfig, values: Mapping[str, Value]) -> ServerConfig:
    # The declared default of each key is of its field's type, and Key.read gives the default's type.
    changed: ServerConfig = replace(config, **values)  # type: ignore[arg-type]
    return changed


def _without_effect(name: str) -> str:
    if name not in APACHE_KEYS_WITHOUT_EFFECT:
        return "unknown key"
    return f"known to Apache, has no effect here{WHY_WITHOUT_EFFECT.get(name, '')}"
