"""The keys of the configuration that reach the store."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from rocketwire.server.configuration import store_settings
from rocketwire.store.settings import StoreSettings
from tests.server.harness import small_config


@pytest.mark.parametrize(
    ("key", "field", "value"),
    [
        ("mapped_file_size_commit_log", "commit_log_file_size", 8192),
        ("mapped_file_size_consume_queue", "consume_queue_file_size", 400),
        ("max_hash_slot_num", "index_slots", 7),
        ("max_index_num", "index_entries", 7),
        ("message_index_enable", "message_index_enable", False),
        ("check_crc_on_recover", "check_crc_on_recover", False),
        ("flush_interval_commit_log", "flush_interval_commit_log", 7),
        ("flush_commit_log_least_pages", "flush_commit_log_least_pages", 7),
        ("flush_commit_log_thorough_interval", "flush_commit_log_thorough_interval", 7),
        ("flush_interval_consume_queue", "flush_interval_consume_queue", 7),
        ("flush_consume_queue_least_pages", "flush_consume_queue_least_pages", 7),
        ("flush_consume_queue_thorough_interval", "flush_consume_queue_thorough_interval", 7),
        ("max_transfer_count_on_message_in_memory", "max_transfer_count_in_memory", 7),
        ("max_transfer_bytes_on_message_in_memory", "max_transfer_bytes_in_memory", 7),
        ("max_transfer_count_on_message_in_disk", "max_transfer_count_on_disk", 7),
        ("max_transfer_bytes_on_message_in_disk", "max_transfer_bytes_on_disk", 7),
        ("mapped_file_size_timer_log", "timer_log_file_size", 1060),
        ("timer_flush_interval_ms", "timer_flush_interval", 7),
        ("timer_precision_ms", "timer_precision", 100),
        ("timer_roll_window_slot", "timer_roll_window", 7),
        ("access_message_in_memory_max_ratio", "access_message_in_memory_max_ratio", 7),
    ],
)
def test_each_key_of_the_store_reaches_it(key: str, field: str, value: object) -> None:
    settings = store_settings(small_config(Path("s"), **{key: value}))
    assert getattr(settings, field) == value


def test_the_stores_other_settings_are_derived(tmp_path: Path) -> None:
    settings = store_settings(
        small_config(
            tmp_path,
            store_path_commit_log=str(tmp_path / "log"),
            flush_disk_type="SYNC_FLUSH",
            message_delay_level="1s 2m",
        )
    )
    assert settings.root == tmp_path
    assert settings.commit_log_path == tmp_path / "log"
    assert settings.sync_flush
    assert settings.delay_levels == (1000, 120_000)
    assert dataclasses.is_dataclass(StoreSettings)
