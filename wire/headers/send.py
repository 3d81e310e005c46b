"""Headers of sends: codes 10, 310 (V2, short names), 320 (batch, V2), 324 and 325; and of 36, sending back."""

from typing import ClassVar

from rocketwire.wire.headers._codec import WireHeader
from rocketwire.wire.java import Int32, Int64


class SendMessageRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Send a message or a batch of messages; V2 has one-letter names."""

    SHORT_NAMES: ClassVar[dict[str, str]] = {
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

    producer_group: str = ""
    topic: str = ""
    default_topic: str | None = None
    """The topic whose settings a new topic copies; used, with the next field, only then."""
    default_topic_queue_nums: Int32 | None = None
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
    recall_handle: str | None = None
    """The handle with which a timer message can be cancelled (370)."""


class RecallMessageRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Cancel a message that waits for its time (370)."""

    producer_group: str | None = None
    topic: str
    recall_handle: str
    bname: str | None = None


class RecallMessageResponseHeader(WireHeader, frozen=True, kw_only=True):
    """The unique key of the message that was cancelled."""

    msg_id: str


class ConsumerSendMsgBackRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Send back a message that could not be consumed, for a later retry (36)."""

    offset: Int64
    """The message's physical offset."""
    group: str
    delay_level: Int32
    """Below 0 for no more tries, 0 for a delay that grows with every try."""
    origin_msg_id: str | None = None
    origin_topic: str | None = None
    unit_mode: bool = False
    max_reconsume_times: Int32 | None = None
    bname: str | None = None


class ReplyMessageRequestHeader(WireHeader, frozen=True, kw_only=True):
    """A reply that the broker pushes to the requesting producer (326): the send's fields and its origin."""

    producer_group: str
    topic: str
    default_topic: str | None = None
    default_topic_queue_nums: Int32 | None = None
    queue_id: Int32
    sys_flag: Int32
    born_timestamp: Int64
    """Milliseconds since 1970."""
    flag: Int32
    properties: str | None = None
    reconsume_times: Int32 | None = None
    unit_mode: bool = False
    born_host: str
    """``host:port`` of the client that replied."""
    store_host: str
    """``host:port`` of the broker."""
    store_timestamp: Int64
    """Milliseconds since 1970."""
