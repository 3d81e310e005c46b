"""What the timer keeps of a message that waits: enough to put it into its index."""

from __future__ import annotations

from typing import NamedTuple


class Waiting(NamedTuple):
    """A timer record, as the index of the timer takes it.

    Attributes:
        out: Its TIMER_OUT_MS: a time in ms since 1970, from which the time it is due follows.
        physical_offset: Where the record stands in the log.
        record_size: Its size in bytes.
        topic_hash: Java's hash of the topic it is to be delivered to.
        deletes: Whether it is a marker, that cancels another message.
    """

    out: int
    physical_offset: int
    record_size: int
    topic_hash: int
    deletes: bool
