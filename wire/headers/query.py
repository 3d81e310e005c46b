"""Headers of queries of messages and queues: codes 12, 33 and 321."""

import msgspec

from rocketwire.wire.headers._codec import WireHeader
from rocketwire.wire.java import Int32, Int64


class QueryMessageRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Request messages by key and time in milliseconds (12)."""

    topic: str = ""
    key: str = ""
    max_num: Int32
    begin_timestamp: Int64
    end_timestamp: Int64
    unique_key_query: bool | None = msgspec.field(name="_UNIQUE_KEY_QUERY", default=None)
    """True when ``key`` is a message's UNIQ_KEY; the client sends it beside the header's own fields."""


class QueryMessageResponseHeader(WireHeader, frozen=True, kw_only=True):
    """How far the index goes: a time in milliseconds and a physical offset."""

    index_last_update_timestamp: Int64
    index_last_update_phyoffset: Int64


class ViewMessageRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Request the message at a physical offset (33)."""

    offset: Int64


class QueryConsumeQueueRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Request entries of a consume queue (321), and for what a group subscribes to."""

    topic: str = ""
    queue_id: Int32 = 0
    index: Int64 = 0
    count: Int32 = 0
    consumer_group: str | None = None
