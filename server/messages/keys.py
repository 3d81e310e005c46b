"""Keys of storing messages."""

from __future__ import annotations

from dataclasses import dataclass

from rocketwire.server.config.keys import key


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCacheKeys:
    """When sends are refused because the page cache is busy."""

    os_page_cache_busy_time_out_mills: int = key(
        "ms; sends that waited behind an append that took longer are refused", default=1000, low=1, online=True
    )
    broker_fast_failure_enable: bool = key("refuse such sends, with code 2", default=True, online=True)
