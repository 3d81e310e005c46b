"""Bodies of queue offsets and consumer progress. All times are milliseconds."""

from dataclasses import dataclass, field

from rocketwire.wire.bodies.client import MessageQueue, SubscriptionData
from rocketwire.wire.java import Int32, Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetWrapper:
    """The end of a queue, a group's offset in it, and the store time of the last message that it consumed (or 0)."""

    broker_offset: Int64 = 0
    consumer_offset: Int64 = 0
    last_timestamp: Int64 = 0
    pull_offset: Int64 | None = None
    """Only 5.x has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumeStats:
    """A group's progress, and how many messages a second it gets (answer to 208)."""

    offset_table: dict[MessageQueue, OffsetWrapper] = field(default_factory=dict)
    consume_tps: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicOffset:
    """The minimum and maximum offset of a queue, and when its last message was stored."""

    min_offset: Int64 = 0
    max_offset: Int64 = 0
    last_update_timestamp: Int64 = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicStatsTable:
    """The queues of a topic (answer to 202)."""

    offset_table: dict[MessageQueue, TopicOffset] = field(default_factory=dict)
    topic_put_tps: float | None = None
    """Only 5.x has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupList:
    """The groups that consume a topic (answer to 300)."""

    group_list: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueTimeSpan:
    """When the oldest, the newest and the last consumed message of a queue were stored, also as local time."""

    message_queue: MessageQueue = field(default_factory=MessageQueue)
    min_time_stamp: Int64 = 0
    min_time_stamp_str: str | None = None
    max_time_stamp: Int64 = 0
    max_time_stamp_str: str | None = None
    consume_time_stamp: Int64 = 0
    consume_time_stamp_str: str | None = None
    delay_time: Int64 = 0
    """How old the next message to consume is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryConsumeTimeSpanBody:
    """The queues of a topic (answer to 303)."""

    consume_time_span_set: tuple[QueueTimeSpan, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryCorrectionOffsetBody:
    """Offsets by queue (answer to 308)."""

    correction_offsets: dict[Int32, Int64] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumeQueueData:
    """One entry of a consume queue; `eval` is whether a filter takes it, with `bit_map` of the queue's extension."""

    physic_offset: Int64 = 0
    physic_size: Int32 = 0
    tags_code: Int64 = 0
    extend_data_json: str | None = None
    bit_map: str | None = None
    eval: bool = False
    msg: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryConsumeQueueResponseBody:
    """Entries of a consume queue, and what a group subscribes to (answer to 321)."""

    subscription_data: SubscriptionData | None = None
    filter_data: str | None = None
    queue_data: tuple[ConsumeQueueData, ...] = ()
    max_queue_index: Int64 = 0
    min_queue_index: Int64 = 0
