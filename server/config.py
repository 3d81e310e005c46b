"""What the server can be told: Apache's configuration keys, with Apache's names and defaults.

`ServerConfig` declares each key once. Settings come as text by name (`broker.conf`, `--set`), later ones
win, and are read by `read_settings`; a bad value raises `ConfigError`. Code 25 changes some keys of a
running broker: `ServerConfig.updated`. The three addresses of the command line have fields of their own
where Apache has no key.

Differences from Apache's defaults: `brokerName` is `broker-a` (Apache: the host's name), addresses are
loopback's, the store is `./data`, `enablePropertyFilter` is true.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Final

from rocketwire.server.addresses import MAX_PORT, Address
from rocketwire.server.apache_keys import APACHE_KEYS_WITHOUT_EFFECT, WHY_WITHOUT_EFFECT
from rocketwire.server.config_keys import NEWER, OURS, ConfigError, Key, Value, key, keys_of, write
from rocketwire.wire.codes import MAX_FRAME_LENGTH

__all__ = [
    "ASYNC_FLUSH",
    "KEYS",
    "NAME_SERVER",
    "SYNC_FLUSH",
    "ConfigError",
    "ServerConfig",
    "read_settings",
]

ASYNC_FLUSH: Final = "ASYNC_FLUSH"
SYNC_FLUSH: Final = "SYNC_FLUSH"

NAME_SERVER: Final = Address(host="127.0.0.1", port=9876)

_CONSUME_QUEUE_ENTRY: Final = 20
_UNIT_MS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}

LARGEST_BODY: Final = MAX_FRAME_LENGTH - 64 * 1024
"""The most one frame carries: what is left beside a header and a record's own fields and properties."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """Everything one server process was told. Times are milliseconds, sizes are bytes."""

    # Addresses that only the command line sets.
    name_server: Address = NAME_SERVER
    """Where the name server listens."""
    advertised_port: int | None = None
    """The port clients are told, if it is not the one the broker listens on (NAT, containers)."""

    # Who and where the broker is.
    broker_name: str = key("the name by which clients know the broker's queues", default="broker-a")
    broker_cluster_name: str = key("the cluster the broker belongs to", default="DefaultCluster")
    broker_id: int = key("0 is the master's", default=0, form=("0", "0: this broker is always a master"))
    bind_address: str = key("the host the broker listens on", default="127.0.0.1", known=NEWER)
    listen_port: int = key("the port the broker listens on; 0 is any free one", default=10911, high=MAX_PORT)
    broker_ip1: str = key("the host clients are told; empty: the one listened on", name="brokerIP1", default="")
    fast_remoting: bool = key(
        "listen on listenPort - 2 too, where clients with the VIP channel connect", default=True, known=OURS
    )
    broker_permission: int = key("2 write, 4 read, 6 both", default=6, low=2, high=6, online=True)
    region_id: str = key("told to producers with each answer", default="DefaultRegion")
    trace_on: bool = key("told to producers with each answer: tracing is wanted", default=True)

    # Topics and groups.
    auto_create_topic_enable: bool = key("a send to a new topic creates it", default=True, online=True)
    default_topic_queue_nums: int = key(
        "most queues of a topic made by a send", default=8, low=1, high=65535, online=True
    )
    auto_create_subscription_group: bool = key("a new consumer group is accepted", default=True, online=True)
    cluster_topic_enable: bool = key("the topic named like the cluster exists", default=True)
    broker_topic_enable: bool = key("the topic named like the broker exists", default=True)
    trace_topic_enable: bool = key("the trace topic exists", default=False)
    msg_trace_topic_name: str = key("the trace topic's name", default="RMQ_SYS_TRACE_TOPIC")
    notify_consumer_ids_changed_enable: bool = key(
        "tell a group's consumers when one joins or leaves", default=True, online=True
    )
    flush_consumer_offset_interval: int = key("ms between two writes of the consumer offsets", default=5000, low=1)
    flush_delay_offset_interval: int = key("ms between two writes of the delay levels' offsets", default=10_000, low=1)

    # Messages.
    enable_topic_message_type_check: bool = key(
        "refuse messages of another type than the topic's attribute message.type says",
        default=True,
        online=True,
        known=OURS,
    )
    max_message_size: int = key(
        "largest message body in bytes", default=4 * 1024 * 1024, low=1, high=LARGEST_BODY, online=True
    )
    max_transfer_count_on_message_in_memory: int = key("most messages in one pull answer", default=32, low=1)
    max_transfer_bytes_on_message_in_memory: int = key(
        "most bytes in one pull answer of several messages", default=256 * 1024, low=1, high=LARGEST_BODY
    )
    max_transfer_count_on_message_in_disk: int = key(
        "the same for messages so old that they are read from the disk", default=8, low=1
    )
    max_transfer_bytes_on_message_in_disk: int = key(
        "the same for messages so old that they are read from the disk", default=64 * 1024, low=1, high=LARGEST_BODY
    )
    access_message_in_memory_max_ratio: int = key(
        "percent of memory; messages further back in the commit log count as on disk", default=40, high=100
    )
    store_reply_message_enable: bool = key(
        "store replies to requests, in the topic named like the cluster with _REPLY_TOPIC", default=True, online=True
    )
    reject_transaction_message: bool = key("refuse transactional messages, with code 16", default=False, online=True)
    transaction_time_out: int = key(
        "ms from the birth of a half message to the first question what became of it", default=6000, online=True
    )
    transaction_check_interval: int = key("ms between two rounds of such questions", default=60_000, low=1, online=True)
    transaction_check_max: int = key(
        "most questions about a half message; then it goes to TRANS_CHECK_MAX_TIME_TOPIC", default=15, online=True
    )
    enable_property_filter: bool = key("consumers may filter by SQL92 expressions", default=True, online=True)
    filter_support_retry: bool = key(
        "retried messages are asked again by the SQL92 filter of the topic they came from", default=False, online=True
    )
    default_query_max_num: int = key("most messages in one answer to a query", default=32, low=1, online=True)
    long_polling_enable: bool = key(
        "a pull without messages waits as long as it asks, 60 s at most", default=True, online=True
    )
    short_polling_time_mills: int = key("ms it waits when longPollingEnable is false", default=1000, online=True)

    # The store.
    store_path_root_dir: str = key("the store's folder", default="data")
    store_path_commit_log: str = key("the commit log's folder; empty: commitlog in the store's", default="")
    mapped_file_size_commit_log: int = key(
        "bytes of a commit log file", default=1 << 30, low=4096, aliases=("mapedFileSizeCommitLog",)
    )
    mapped_file_size_consume_queue: int = key(
        "bytes of a consume queue file, rounded up to whole entries of 20",
        default=6_000_000,
        low=_CONSUME_QUEUE_ENTRY,
        aliases=("mapedFileSizeConsumeQueue",),
    )
    message_index_enable: bool = key("write the index that queries by key need", default=True)
    max_hash_slot_num: int = key("hash slots of an index file", default=5_000_000, low=1)
    max_index_num: int = key("entries of an index file", default=20_000_000, low=2)
    check_crc_on_recover: bool = key("check each record after a crash", name="checkCRCOnRecover", default=True)
    message_delay_level: str = key(
        "the delays of level 1, 2 and so on",
        default="1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h",
        form=(
            r"[0-9]{1,9}[smhd]( [0-9]{1,9}[smhd])*",
            "delays such as 10s 5m 2h 1d with a blank between two",
        ),
    )
    file_reserved_time: int = key(
        "hours that a commit log file is kept once it is full", default=72, high=1_000_000, online=True
    )
    delete_when: str = key(
        "hours of the day at which older files are removed, local time",
        default="04",
        form=(r"([01]?[0-9]|2[0-3])(;([01]?[0-9]|2[0-3]))*", "hours from 0 to 23 with ; between two"),
        online=True,
    )
    disk_max_used_space_ratio: int = key(
        "percent of the disk (10 to 95 count); above it older files go at any hour",
        default=75,
        high=100,
        online=True,
    )
    disk_space_clean_forcibly_ratio: int = key(
        "percent of the disk; above it younger files are removed too", default=85, high=100, online=True, known=NEWER
    )
    disk_space_warning_level_ratio: int = key(
        "percent of the disk; above it sends are refused", default=90, high=100, online=True, known=NEWER
    )
    clean_file_forcibly_enable: bool = key("remove younger files when the disk is that full", default=True, online=True)
    clean_resource_interval: int = key("ms between two looks for files to remove", default=10_000, low=1, online=True)
    delete_commit_log_files_interval: int = key(
        "ms between the removal of two commit log files", default=100, online=True
    )
    delete_consume_queue_files_interval: int = key(
        "ms between the removal of files of two queues", default=100, online=True
    )
    os_page_cache_busy_time_out_mills: int = key(
        "ms; what waited behind an append that took longer is refused", default=1000, low=1, online=True
    )
    broker_fast_failure_enable: bool = key("refuse such sends, with code 2", default=True, online=True)
    flush_disk_type: str = key(
        "whether a send waits until its message is on the disk",
        default=ASYNC_FLUSH,
        choices=(ASYNC_FLUSH, SYNC_FLUSH),
    )
    sync_flush_timeout: int = key("ms a send waits for the disk under SYNC_FLUSH", default=5000, low=1)
    flush_interval_commit_log: int = key("ms between two looks at the commit log's flush", default=500, low=1)
    flush_commit_log_least_pages: int = key("flush it at so many dirty pages of 4 KiB", default=4)
    flush_commit_log_thorough_interval: int = key("ms after which fewer pages are flushed too", default=10_000)
    flush_interval_consume_queue: int = key("ms between two looks at the queues' flush", default=1000, low=1)
    flush_consume_queue_least_pages: int = key("flush them at so many dirty pages of 4 KiB", default=2)
    flush_consume_queue_thorough_interval: int = key("ms after which fewer pages are flushed too", default=60_000)

    # Messages for a set time.
    timer_wheel_enable: bool = key("deliver messages at a set time; else they are refused", default=True, known=NEWER)
    timer_precision_ms: int = key(
        "ms of a slot of the timer's wheel, a multiple of 10; delivery is by the ms all the same",
        default=1000,
        form=("1000|500|200|100", "1000, 500, 200 or 100"),
        known=NEWER,
    )
    timer_roll_window_slot: int = key(
        "slots; a message that waits longer is stored again after so many, to outlive the log",
        default=172_800,
        low=2,
        known=NEWER,
    )
    timer_max_delay_sec: int = key(
        "most seconds a message may wait for its time", default=40 * 86_400, online=True, known=NEWER
    )
    mapped_file_size_timer_log: int = key("bytes of a timer log file", default=100 << 20, low=52, known=NEWER)
    timer_flush_interval_ms: int = key("ms between two checkpoints of the timer", default=1000, low=1, known=NEWER)
    recall_message_enable: bool = key(
        "such messages can be cancelled by request (370)", default=True, online=True, known=NEWER
    )

    @property
    def broker_address(self) -> Address:
        """Where the broker listens."""
        return Address(host=self.bind_address, port=self.listen_port)

    @property
    def advertised_host(self) -> str:
        """The host clients are told."""
        return self.broker_ip1 or self.bind_address

    @property
    def sync_flush(self) -> bool:
        """Whether an answer to a send means that the message is on the disk."""
        return self.flush_disk_type == SYNC_FLUSH

    @property
    def store_dir(self) -> Path:
        """The store's folder."""
        return Path(self.store_path_root_dir)

    @property
    def commit_log_dir(self) -> Path:
        """The commit log's folder."""
        return Path(self.store_path_commit_log) if self.store_path_commit_log else self.store_dir / "commitlog"

    @property
    def consume_queue_file_size(self) -> int:
        """Bytes of a consume queue file: a whole number of entries."""
        return -(-self.mapped_file_size_consume_queue // _CONSUME_QUEUE_ENTRY) * _CONSUME_QUEUE_ENTRY

    @property
    def delay_levels(self) -> tuple[int, ...]:
        """The delays of level 1, 2 and so on in milliseconds."""
        return tuple(int(each[:-1]) * _UNIT_MS[each[-1]] for each in self.message_delay_level.split(" "))

    def properties(self) -> dict[str, str]:
        """Every key with effect and its value as text, as code 26 tells them."""
        texts = {each.name: write(getattr(self, each.attribute)) for each in KEYS}
        return {**texts, "brokerIP1": self.advertised_host, "namesrvAddr": str(self.name_server)}

    def updated(self, changes: Mapping[str, str]) -> ServerConfig:
        """This configuration with some keys changed, as code 25 asks for it.

        Raises:
            ConfigError: a bad value, a key without effect, or one that is read at the start only; nothing
            is changed.
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
    """Read settings given as text; of two spellings of a key the later one counts.

    Returns:
        the configuration, and one line of warning for each key that changes nothing.

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
