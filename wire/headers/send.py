"""Headers of sends: codes 10, 310 (V2, short names), 320 (batch, V2), 324 and 325."""

from typing import ClassVar

from rocketwire.wire.headers._codec import WireHeader
from rocketwire.wire.java import Int32, Int64


class SendMessageRequestHeader(WireHeader, frozen=True, kw_only=True):
    """What a producer says of a message (or a batch of messages) that it sends; V2 has one-letter names."""

    SHORT: ClassVar[dict[str, str]] = {
        "producer_group": "a",
        "topic": "b",
        "default_topic": "c",
        "default_topic_queue_nums": "d",
        "queue_id": "e",
        "sys_flag": "f",
        "born_timestamp": "g",
        "flag": "h",
        "properties": "i",
        "reconsume_times": "j",
        "unit_mode": "k",
        "max_reconsume_times": "l",
        "batch": "m",
        "bname": "n",
    }

    producer_group: str
    topic: str
    default_topic: str
    default_topic_queue_nums: Int32
    queue_id: Int32
    sys_flag: Int32
    born_timestamp: Int64
    """Milliseconds since 1970."""
    flag: Int32
    properties: str | None = None
    reconsume_times: Int32 | None = None
    unit_mode: bool | None = None
    batch: bool = False
    max_reconsume_times: Int32 | None = None
    bname: str | None = None


class SendMessageResponseHeader(WireHeader, frozen=True, kw_only=True):
    """Where a message was stored; a batch has its ids in one text with commas, and the first one's offset."""

    msg_id: str
    queue_id: Int32
    queue_offset: Int64
    transaction_id: str | None = None
