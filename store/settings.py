"""The store's settings: sizes in bytes, times in milliseconds. Defaults are Apache 4.9.7's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rocketwire.store.layout import timer_log

_SECOND = 1000
_MINUTE = 60 * _SECOND
_HOUR = 60 * _MINUTE

#: Delay of level 1, 2 ... in milliseconds: `messageDelayLevel` of Apache's default configuration.
DELAY_LEVELS: tuple[int, ...] = (
    1 * _SECOND,
    5 * _SECOND,
    10 * _SECOND,
    30 * _SECOND,
    *(minutes * _MINUTE for minutes in range(1, 11)),
    20 * _MINUTE,
    30 * _MINUTE,
    1 * _HOUR,
    2 * _HOUR,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """Where the store is and how large its files are.

    The file sizes must be those the store was written with: a commit log file of another size is refused.
    `sync_flush`: the caller waits for `flush_to` before it acknowledges; the store flushes only when called.
    `max_transfer_*` bound one answer of `get`: the first pair holds for messages near the end of the log, the second
    for those further behind than `access_message_in_memory_max_ratio` percent of the machine's memory.
    A slot of the timer's wheel is of `timer_precision` milliseconds, a multiple of 10; a message that is farther away
    than `timer_roll_window` slots is stored again for another round.
    """

    root: Path
    commit_log_path: Path | None = None
    commit_log_file_size: int = 1 << 30
    consume_queue_file_size: int = 6_000_000
    index_slots: int = 5_000_000
    index_entries: int = 20_000_000
    timer_log_file_size: int = timer_log.FILE_SIZE
    timer_flush_interval: int = 1_000
    timer_precision: int = 1000
    timer_roll_window: int = 172_800
    sync_flush: bool = False
    message_index_enable: bool = True
    check_crc_on_recover: bool = True
    delay_levels: tuple[int, ...] = DELAY_LEVELS
    flush_interval_commit_log: int = 500
    flush_commit_log_least_pages: int = 4
    flush_commit_log_thorough_interval: int = 10_000
    flush_interval_consume_queue: int = 1_000
    flush_consume_queue_least_pages: int = 2
    flush_consume_queue_thorough_interval: int = 60_000
    max_transfer_bytes_in_memory: int = 262_144
    max_transfer_count_in_memory: int = 32
    max_transfer_bytes_on_disk: int = 65_536
    max_transfer_count_on_disk: int = 8
    access_message_in_memory_max_ratio: int = 40

    @property
    def commit_log(self) -> str:
        """Directory of the commit log files."""
        return str(self.commit_log_path or self.root / "commitlog")

    @property
    def consume_queues(self) -> str:
        """Directory of the consume queues."""
        return str(self.root / "consumequeue")

    @property
    def batch_consume_queues(self) -> str:
        """Directory of 5.x's consume queues that have an entry for a whole batch."""
        return str(self.root / "batchconsumequeue")

    @property
    def index(self) -> str:
        """Directory of the index files."""
        return str(self.root / "index")

    @property
    def timer_log(self) -> str:
        """Directory of the timer log."""
        return str(self.root / "timerlog")

    @property
    def timer_wheel(self) -> str:
        """The file of the timer's wheel."""
        return str(self.root / "timerwheel")

    @property
    def timer_check(self) -> str:
        """The file of the timer's progress."""
        return str(self.root / "config" / "timercheck")

    @property
    def checkpoint(self) -> str:
        """The checkpoint file."""
        return str(self.root / "checkpoint")

    @property
    def timer_metrics(self) -> str:
        """The file of how many timer messages of each topic wait."""
        return str(self.root / "config" / "timermetrics")

    @property
    def topics(self) -> str:
        """The file of the topics."""
        return str(self.root / "config" / "topics.json")

    @property
    def deleted_topics(self) -> str:
        """The file of the deleted topics."""
        return str(self.root / "config" / "deletedTopics.json")

    @property
    def abort(self) -> str:
        """The file that exists at a start if the last run did not stop cleanly."""
        return str(self.root / "abort")

    @property
    def lock(self) -> str:
        """The file whose first byte is locked by the process that uses the store."""
        return str(self.root / "lock")
