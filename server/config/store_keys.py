"""Keys of the store and of timer messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.config.keys import NEWER, key

ASYNC_FLUSH: Final = "ASYNC_FLUSH"
SYNC_FLUSH: Final = "SYNC_FLUSH"

CONSUME_QUEUE_ENTRY: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreKeys(BrokerKeys):
    """The store. Times are milliseconds, sizes are bytes."""

    # The store.
    store_path_root_dir: str = key("the store's folder", default="data")
    store_path_commit_log: str = key("the commit log's folder; empty: commitlog in the store's", default="")
    mapped_file_size_commit_log: int = key(
        "bytes of a commit log file", default=1 << 30, low=4096, aliases=("mapedFileSizeCommitLog",)
    )
    mapped_file_size_consume_queue: int = key(
        "bytes of a consume queue file, rounded up to whole entries of 20",
        default=6_000_000,
        low=CONSUME_QUEUE_ENTRY,
        aliases=("mapedFileSizeConsumeQueue",),
    )
    message_index_enable: bool = key("write the index for queries by key", default=True)
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
        "hours of the day at which expired files are removed, local time",
        default="04",
        form=(r"([01]?[0-9]|2[0-3])(;([01]?[0-9]|2[0-3]))*", "hours from 0 to 23 with ; between two"),
        online=True,
    )
    disk_max_used_space_ratio: int = key(
        "percent of the disk (limited to 10 to 95); above it expired files are removed at any hour",
        default=75,
        high=100,
        online=True,
    )
    disk_space_clean_forcibly_ratio: int = key(
        "percent of the disk; above it files are removed whatever their age",
        default=85,
        high=100,
        online=True,
        known=NEWER,
    )
    disk_space_warning_level_ratio: int = key(
        "percent of the disk; above it sends are refused", default=90, high=100, online=True, known=NEWER
    )
    clean_file_forcibly_enable: bool = key(
        "remove files whatever their age when the disk is that full", default=True, online=True
    )
    clean_resource_interval: int = key("ms between two checks for files to remove", default=10_000, low=1, online=True)
    delete_commit_log_files_interval: int = key(
        "ms between the removal of two commit log files", default=100, online=True
    )
    delete_consume_queue_files_interval: int = key(
        "ms between the removal of files of two queues", default=100, online=True
    )
    os_page_cache_busy_time_out_mills: int = key(
        "ms; sends that waited behind an append that took longer are refused", default=1000, low=1, online=True
    )
    broker_fast_failure_enable: bool = key("refuse such sends, with code 2", default=True, online=True)
    flush_disk_type: str = key(
        "whether a send waits until its message is on the disk",
        default=ASYNC_FLUSH,
        choices=(ASYNC_FLUSH, SYNC_FLUSH),
    )
    sync_flush_timeout: int = key("ms a send waits for the disk under SYNC_FLUSH", default=5000, low=1)
    flush_interval_commit_log: int = key("ms between two checks whether to flush the commit log", default=500, low=1)
    flush_commit_log_least_pages: int = key("flush it at so many dirty pages of 4 KiB", default=4)
    flush_commit_log_thorough_interval: int = key("ms after which fewer pages are flushed too", default=10_000)
    flush_interval_consume_queue: int = key("ms between two checks whether to flush the queues", default=1000, low=1)
    flush_consume_queue_least_pages: int = key("flush them at so many dirty pages of 4 KiB", default=2)
    flush_consume_queue_thorough_interval: int = key("ms after which fewer pages are flushed too", default=60_000)

    # Timer messages.
    timer_wheel_enable: bool = key("accept timer messages; else they are refused", default=True, known=NEWER)
    timer_precision_ms: int = key(
        "ms of a slot of the timer's wheel, a multiple of 10; delivery is still exact to the ms",
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
    recall_message_enable: bool = key("allow recalling timer messages (370)", default=True, online=True, known=NEWER)
