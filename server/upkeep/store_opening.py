"""Opens the store with its part of the configuration."""

from __future__ import annotations

import logging

import trio

from rocketwire.server.config.config import ServerConfig
from rocketwire.server.core.clock import Clock
from rocketwire.store.settings import StoreSettings
from rocketwire.store.store import MessageStore

log = logging.getLogger(__name__)


def store_settings(config: ServerConfig) -> StoreSettings:
    """The store's part of the configuration."""
    return StoreSettings(
        root=config.store_dir,
        commit_log_path=config.commit_log_dir,
        commit_log_file_size=config.mapped_file_size_commit_log,
        consume_queue_file_size=config.consume_queue_file_size,
        index_slots=config.max_hash_slot_num,
        index_entries=config.max_index_num,
        sync_flush=config.sync_flush,
        message_index_enable=config.message_index_enable,
        check_crc_on_recover=config.check_crc_on_recover,
        flush_interval_commit_log=config.flush_interval_commit_log,
        flush_commit_log_least_pages=config.flush_commit_log_least_pages,
        flush_commit_log_thorough_interval=config.flush_commit_log_thorough_interval,
        flush_interval_consume_queue=config.flush_interval_consume_queue,
        flush_consume_queue_least_pages=config.flush_consume_queue_least_pages,
        flush_consume_queue_thorough_interval=config.flush_consume_queue_thorough_interval,
        max_transfer_count_in_memory=config.max_transfer_count_on_message_in_memory,
        max_transfer_bytes_in_memory=config.max_transfer_bytes_on_message_in_memory,
        max_transfer_count_on_disk=config.max_transfer_count_on_message_in_disk,
        max_transfer_bytes_on_disk=config.max_transfer_bytes_on_message_in_disk,
        access_message_in_memory_max_ratio=config.access_message_in_memory_max_ratio,
        delay_levels=config.delay_levels,
        timer_log_file_size=config.mapped_file_size_timer_log,
        timer_flush_interval=config.timer_flush_interval_ms,
        timer_precision=config.timer_precision_ms,
        timer_roll_window=config.timer_roll_window_slot,
    )


def opened_store(settings: StoreSettings, clock: Clock, store_host: bytes) -> MessageStore:
    """Open the store, and log what was recovered.

    Raises:
        StoreError: the store directory cannot be used.
    """
    started = trio.current_time()
    store = MessageStore.open(settings, clock=clock, store_host=store_host)
    log.info(
        "recovered %d records from offset %d to %d in %.1f s",
        store.recovered.records,
        store.recovered.start,
        store.recovered.end,
        trio.current_time() - started,
    )
    return store
