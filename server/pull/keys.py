"""Keys of pulls."""

from __future__ import annotations

from dataclasses import dataclass

from rocketwire.server.config.keys import key
from rocketwire.server.limits.keys import LARGEST_BODY


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferKeys:
    """The size of one answer. Sizes are bytes."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class LongPollKeys:
    """How long a pull waits that finds no messages."""

    long_polling_enable: bool = key(
        "a pull without messages waits for its own time-out, 60 s at most", default=True, online=True
    )
    short_polling_time_mills: int = key("ms it waits when longPollingEnable is false", default=1000, online=True)
