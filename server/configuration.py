"""The server's configuration: the groups of keys that the rooms declare, with Apache's names and defaults.

`read_settings` reads settings, which are text by name (`broker.conf`, `--set`); the last one of a name wins; a bad
value raises `ConfigError`. Code 25 changes some keys of a running broker: `LiveConfig.update`. What only the command
line sets has no key: it is a field of `ServerConfig`, or of a group beside its keys.

Differences from Apache's defaults: `brokerName` is `broker-a` (Apache: the host's name), addresses are loopback's, the
store is `./data`, `enablePropertyFilter` is true.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, Final

from rocketwire.server.acl.keys import AclKeys
from rocketwire.server.assignments.keys import AssignmentKeys
from rocketwire.server.config.apache_keys import (
    APACHE_KEYS_WITHOUT_EFFECT,
    NEWER_KEYS_WITHOUT_EFFECT,
    WHY_WITHOUT_EFFECT,
)
from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.config.keys import ConfigError, Key, Value, format_value, keys_of
from rocketwire.server.config.live import G, LiveGroup
from rocketwire.server.config.nearest import suggestion
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.logs import CONSOLE
from rocketwire.server.delay.keys import DelayKeys
from rocketwire.server.faults.keys import FaultKeys
from rocketwire.server.filters.keys import FilterKeys
from rocketwire.server.grpc.keys import GrpcKeys
from rocketwire.server.http.hosts import HttpKeys
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.server.maintenance.keys import FlushKeys, RetentionKeys, StoreKeys, TableKeys
from rocketwire.server.messages.keys import PageCacheKeys
from rocketwire.server.monitoring.clock_keys import ClockKeys
from rocketwire.server.name_server.advertised import ForNetwork
from rocketwire.server.net.tls.keys import TlsKeys
from rocketwire.server.pop.keys import PopKeys
from rocketwire.server.pull.keys import LongPollKeys, TransferKeys
from rocketwire.server.query.keys import QueryKeys
from rocketwire.server.send.keys import ReplyKeys, SendKeys
from rocketwire.server.throttle.keys import ThrottleKeys
from rocketwire.server.timer.keys import TimerKeys
from rocketwire.server.topics.keys import TopicKeys
from rocketwire.server.transactions.keys import TransactionKeys
from rocketwire.server.upstream.keys import UpstreamKeys
from rocketwire.store.event import Event
from rocketwire.store.settings import StoreSettings
from rocketwire.wire.addresses import Address
from rocketwire.wire.bodies.topic import DataVersion

log = logging.getLogger(__name__)

NAME_SERVER: Final = Address(host="127.0.0.1", port=9876)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """The configuration of one server process. Fields with a default factory are groups of keys."""

    broker: BrokerKeys = field(default_factory=BrokerKeys)
    topics: TopicKeys = field(default_factory=TopicKeys)
    tables: TableKeys = field(default_factory=TableKeys)
    send: SendKeys = field(default_factory=SendKeys)
    transfer: TransferKeys = field(default_factory=TransferKeys)
    replies: ReplyKeys = field(default_factory=ReplyKeys)
    transactions: TransactionKeys = field(default_factory=TransactionKeys)
    filters: FilterKeys = field(default_factory=FilterKeys)
    query: QueryKeys = field(default_factory=QueryKeys)
    long_poll: LongPollKeys = field(default_factory=LongPollKeys)
    assignments: AssignmentKeys = field(default_factory=AssignmentKeys)
    pop: PopKeys = field(default_factory=PopKeys)
    store: StoreKeys = field(default_factory=StoreKeys)
    delay: DelayKeys = field(default_factory=DelayKeys)
    retention: RetentionKeys = field(default_factory=RetentionKeys)
    page_cache: PageCacheKeys = field(default_factory=PageCacheKeys)
    flush: FlushKeys = field(default_factory=FlushKeys)
    timer: TimerKeys = field(default_factory=TimerKeys)
    limits: LimitKeys = field(default_factory=LimitKeys)
    throttle: ThrottleKeys = field(default_factory=ThrottleKeys)
    acl: AclKeys = field(default_factory=AclKeys)
    tls: TlsKeys = field(default_factory=TlsKeys)
    upstream: UpstreamKeys = field(default_factory=UpstreamKeys)
    faults: FaultKeys = field(default_factory=FaultKeys)
    clock: ClockKeys = field(default_factory=ClockKeys)
    http_port: HttpKeys = field(default_factory=HttpKeys)
    grpc: GrpcKeys = field(default_factory=GrpcKeys)

    # What only the command line sets.
    name_server: Address | None = NAME_SERVER
    """Where the name server listens; None: there is none in this process."""
    name_servers: tuple[Address, ...] = ()
    """Name servers of other processes, where the broker registers too."""
    has_broker: bool = True
    """Whether there is a broker in this process, and not a name server alone."""
    advertised_port: int | None = None
    """The port that clients are given, if it is not the one that the broker listens on (NAT, containers)."""
    advertised_networks: tuple[ForNetwork, ...] = ()
    """What clients of some networks are given instead; the first that a client is in counts."""
    http: Address | None = None
    """Where the HTTP server for metrics and health listens; None: there is none."""
    log_format: str = CONSOLE
    """The format of the log: one of `logs.FORMATS`."""
    json_ready: bool = False
    """Whether the report that the server is ready is JSON, for programs."""
    port_file: str | None = None
    """The file that gets this line, too; None: there is none."""
    end_with: int | None = None
    """The process with which the server ends; None: with none."""
    is_member: bool = False
    """Whether a supervisor, linked to standard input and output, has started this broker as one of several."""

    def groups(self) -> Iterator[object]:
        """The groups of keys."""
        return (getattr(self, name) for name in _GROUPS)

    def value(self, of: Key) -> Value:
        """The value of a key."""
        value: Value = getattr(getattr(self, of.group), of.attribute)
        return value

    def properties(self) -> dict[str, str]:
        """Every key with effect and its value as text, without secrets: the answer to code 26."""
        texts = {each.name: "" if each.secret else format_value(self.value(each)) for each in KEYS}
        own = () if self.name_server is None else (self.name_server,)
        name_servers = ";".join(map(str, (*own, *self.name_servers)))
        return {**texts, "brokerIP1": self.broker.advertised_host, "namesrvAddr": name_servers}

    def updated(self, changes: Mapping[str, str]) -> ServerConfig:
        """A copy with some keys changed, as code 25 does; keys that only Apache's brokers have change nothing.

        Raises:
            ConfigError: a bad value, an unknown key, or one that is read at the start only.
        """
        values: dict[Key, Value] = {}
        for name, text in changes.items():
            known = _BY_NAME.get(name)
            if known is None:
                if has_no_effect(name):
                    continue
                raise ConfigError(f"{name}={text}: {_without_effect(name)}")
            if not known.online:
                raise ConfigError(f"{name}={text}: read at the start only; restart the server with it")
            values[known] = known.read(text, spelling=name)
        return self.having(values)

    def having(self, values: Mapping[Key, Value]) -> ServerConfig:
        """A copy with the values of some keys."""
        changed: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        for each, value in values.items():
            changed[each.group][each.attribute] = value
        groups: dict[str, Any] = {name: replace(getattr(self, name), **some) for name, some in changed.items()}
        return replace(self, **groups)


_GROUPS: Final[Mapping[str, Any]] = {
    each.name: each.default_factory for each in fields(ServerConfig) if each.default_factory is not MISSING
}

KEYS: Final = tuple(key for name, kind in _GROUPS.items() for key in keys_of(fields(kind), group=name))
"""Every key with effect, in the order of their declaration."""

_BY_NAME: Final[dict[str, Key]] = {name: each for each in KEYS for name in (each.name, *each.aliases)}


def read_settings(settings: Mapping[str, str]) -> tuple[ServerConfig, tuple[str, ...]]:
    """Read settings given as text; if a key is given in two spellings, the later one wins.

    Returns:
        the configuration, and one warning line for each key without effect.

    Raises:
        ConfigError: a value that is not allowed.
    """
    values: dict[Key, Value] = {}
    warnings: list[str] = []
    for name, text in settings.items():
        known = _BY_NAME.get(name)
        if known is None:
            warnings.append(f"{name}: {_without_effect(name)}")
        else:
            values[known] = known.read(text, spelling=name)
    return ServerConfig().having(values), tuple(warnings)


def has_no_effect(name: str) -> bool:
    """Whether this is a key that only Apache's brokers have."""
    return name in APACHE_KEYS_WITHOUT_EFFECT or name in NEWER_KEYS_WITHOUT_EFFECT


def known_keys() -> frozenset[str]:
    """The names of all keys: those with effect, and those that only Apache's brokers have."""
    return APACHE_KEYS_WITHOUT_EFFECT | NEWER_KEYS_WITHOUT_EFFECT | _BY_NAME.keys()


def _without_effect(name: str) -> str:
    if name not in known_keys():
        return f"unknown key{suggestion(name, known_keys())}"
    return f"known to Apache, has no effect here{WHY_WITHOUT_EFFECT.get(name, '')}"


class LiveConfig:
    """The configuration of a running broker: `live[SendKeys]` is the live view of one group of keys.

    Attributes:
        current: The configuration in force.
        version: Its version.
        changed: Called after each change.
    """

    def __init__(self, config: ServerConfig, clock: Clock) -> None:
        self._clock = clock
        self._groups: dict[type, LiveGroup[Any]] = {type(each): LiveGroup(each) for each in config.groups()}
        self.current = config
        self.version = DataVersion(counter=0, timestamp=clock())
        self.changed = Event[[]]()

    def __getitem__(self, group: type[G]) -> LiveGroup[G]:
        """The live view of a group of keys."""
        return self._groups[group]

    def properties(self) -> dict[str, str]:
        """Every key with effect and its value as text."""
        return self.current.properties()

    def update(self, changes: Mapping[str, str]) -> None:
        """Change some keys; those that only Apache's brokers have are logged.

        Raises:
            ConfigError: nothing was changed; the text names key, value and what is allowed.
        """
        self.current = self.current.updated(changes)
        for name in filter(has_no_effect, changes):
            log.warning("%(key)s was not changed: %(reason)s", {"key": name, "reason": _without_effect(name)})
        for each in self.current.groups():
            self._groups[type(each)].current = each
        self.version = DataVersion(counter=self.version.counter + 1, timestamp=self._clock())
        self.changed()


def store_settings(config: ServerConfig) -> StoreSettings:
    """The store's part of the configuration."""
    store, flush, transfer, timer = config.store, config.flush, config.transfer, config.timer
    return StoreSettings(
        root=store.folder,
        commit_log_path=store.commit_log_dir,
        commit_log_file_size=store.mapped_file_size_commit_log,
        consume_queue_file_size=store.consume_queue_file_size,
        index_slots=store.max_hash_slot_num,
        index_entries=store.max_index_num,
        sync_flush=flush.sync_flush,
        message_index_enable=store.message_index_enable,
        check_crc_on_recover=store.check_crc_on_recover,
        flush_interval_commit_log=flush.flush_interval_commit_log,
        flush_commit_log_least_pages=flush.flush_commit_log_least_pages,
        flush_commit_log_thorough_interval=flush.flush_commit_log_thorough_interval,
        flush_interval_consume_queue=flush.flush_interval_consume_queue,
        flush_consume_queue_least_pages=flush.flush_consume_queue_least_pages,
        flush_consume_queue_thorough_interval=flush.flush_consume_queue_thorough_interval,
        max_transfer_count_in_memory=transfer.max_transfer_count_on_message_in_memory,
        max_transfer_bytes_in_memory=transfer.max_transfer_bytes_on_message_in_memory,
        max_transfer_count_on_disk=transfer.max_transfer_count_on_message_in_disk,
        max_transfer_bytes_on_disk=transfer.max_transfer_bytes_on_message_in_disk,
        access_message_in_memory_max_ratio=transfer.access_message_in_memory_max_ratio,
        delay_levels=config.delay.levels,
        timer_log_file_size=timer.mapped_file_size_timer_log,
        timer_flush_interval=timer.timer_flush_interval_ms,
        timer_precision=timer.timer_precision_ms,
        timer_roll_window=timer.timer_roll_window_slot,
    )
