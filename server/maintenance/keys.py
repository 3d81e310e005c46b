"""Keys of the store: its files, what is removed from it, and when it is written to the disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rocketwire.server.config.keys import NEWER, key

ASYNC_FLUSH: Final = "ASYNC_FLUSH"
SYNC_FLUSH: Final = "SYNC_FLUSH"

CONSUME_QUEUE_ENTRY: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class TableKeys:
    """How often tables that change constantly are saved. Times are milliseconds."""

    flush_consumer_offset_interval: int = key("ms between two writes of the consumer offsets", default=5000, low=1)
    flush_delay_offset_interval: int = key("ms between two writes of the delay levels' offsets", default=10_000, low=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreKeys:
    """The store's files. Sizes are bytes."""

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

    @property
    def folder(self) -> Path:
        """The store's folder."""
        return Path(self.store_path_root_dir)

    @property
    def commit_log_dir(self) -> Path:
        """The commit log's folder."""
        return Path(self.store_path_commit_log) if self.store_path_commit_log else self.folder / "commitlog"

    @property
    def consume_queue_file_size(self) -> int:
        """Bytes of a consume queue file: a whole number of entries."""
        return -(-self.mapped_file_size_consume_queue // CONSUME_QUEUE_ENTRY) * CONSUME_QUEUE_ENTRY


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionKeys:
    """When files are removed, and when sends are refused because the disk is full."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class FlushKeys:
    """When the store is flushed. Times are milliseconds."""

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

    @property
    def sync_flush(self) -> bool:
        """Whether an answer to a send means that the message is on the disk."""
        return self.flush_disk_type == SYNC_FLUSH
