"""Headers of offsets: codes 14, 15 and 29 to 32."""

from rocketwire.wire.headers._codec import WireHeader
from rocketwire.wire.java import Int32, Int64


class QueryConsumerOffsetRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Request a group's committed offset of a queue (14)."""

    consumer_group: str
    topic: str
    queue_id: Int32
    bname: str | None = None
    set_zero_if_not_found: bool | None = None
    """Only 5.x sends it; false requests code 22 in place of a guessed 0."""


class QueryConsumerOffsetResponseHeader(WireHeader, frozen=True, kw_only=True):
    """The committed offset: of the next message to consume."""

    offset: Int64


class UpdateConsumerOffsetRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Commit a group's offset of a queue (15)."""

    consumer_group: str
    topic: str
    queue_id: Int32
    commit_offset: Int64
    bname: str | None = None


class UpdateConsumerOffsetResponseHeader(WireHeader, frozen=True, kw_only=True):
    """Nothing."""


class SearchOffsetRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Request the offset of a queue at a time in milliseconds (29)."""

    topic: str
    queue_id: Int32
    timestamp: Int64
    bname: str | None = None


class SearchOffsetResponseHeader(WireHeader, frozen=True, kw_only=True):
    """The offset found."""

    offset: Int64


class GetMaxOffsetRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Request the offset of a queue's next message (30)."""

    topic: str
    queue_id: Int32
    bname: str | None = None


class GetMaxOffsetResponseHeader(WireHeader, frozen=True, kw_only=True):
    """The offset that the next message will get."""

    offset: Int64


class GetMinOffsetRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Request the offset of a queue's oldest message (31)."""

    topic: str
    queue_id: Int32
    bname: str | None = None


class GetMinOffsetResponseHeader(WireHeader, frozen=True, kw_only=True):
    """The offset of the oldest message."""

    offset: Int64


class GetEarliestMsgStoretimeRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Query when a queue's oldest message was stored (32)."""

    topic: str
    queue_id: Int32
    bname: str | None = None


class GetEarliestMsgStoretimeResponseHeader(WireHeader, frozen=True, kw_only=True):
    """That time in milliseconds."""

    timestamp: Int64
