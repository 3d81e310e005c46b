"""Headers of pulls: code 11 (and 361 of 5.x)."""

from typing import ClassVar

from rocketwire.wire.headers._codec import WireHeader
from rocketwire.wire.java import Int32, Int64


class PullMessageRequestHeader(WireHeader, frozen=True, kw_only=True):
    """A pull of messages from one queue; ``sys_flag`` has the bits of ``PullSysFlag``."""

    REJECTS_INVALID_NUMBERS: ClassVar[bool] = True

    consumer_group: str
    topic: str
    queue_id: Int32
    queue_offset: Int64
    max_msg_nums: Int32
    sys_flag: Int32
    commit_offset: Int64 = 0
    suspend_timeout_millis: Int64 = 0
    sub_version: Int64 = 0
    subscription: str | None = None
    expression_type: str | None = None
    bname: str | None = None
    max_msg_bytes: Int32 | None = None
    """Only 5.x sends it."""


class PullMessageResponseHeader(WireHeader, frozen=True, kw_only=True):
    """The next offset to pull; the Java client needs all four fields with the codes 0, 19, 20 and 21."""

    suggest_which_broker_id: Int64
    next_begin_offset: Int64
    min_offset: Int64
    max_offset: Int64
