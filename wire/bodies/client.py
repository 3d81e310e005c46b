"""Bodies of clients: heartbeats, subscriptions, consumer lists, queue locks."""

from dataclasses import dataclass, field
from enum import StrEnum

from rocketwire.wire.java import Int32, Int64


class ConsumeType(StrEnum):
    """Whether the application pulls or is pushed to."""

    CONSUME_ACTIVELY = "CONSUME_ACTIVELY"
    CONSUME_PASSIVELY = "CONSUME_PASSIVELY"
    CONSUME_POP = "CONSUME_POP"


class MessageModel(StrEnum):
    """Whether each client of a group gets every message, or they share them."""

    BROADCASTING = "BROADCASTING"
    CLUSTERING = "CLUSTERING"


class ConsumeFromWhere(StrEnum):
    """Where a group without a committed offset begins."""

    CONSUME_FROM_LAST_OFFSET = "CONSUME_FROM_LAST_OFFSET"
    CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST = "CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST"
    CONSUME_FROM_MIN_OFFSET = "CONSUME_FROM_MIN_OFFSET"
    CONSUME_FROM_MAX_OFFSET = "CONSUME_FROM_MAX_OFFSET"
    CONSUME_FROM_FIRST_OFFSET = "CONSUME_FROM_FIRST_OFFSET"
    CONSUME_FROM_TIMESTAMP = "CONSUME_FROM_TIMESTAMP"


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageQueue:
    """One queue of a topic on one broker; hashable."""

    topic: str = ""
    broker_name: str = ""
    queue_id: Int32 = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetMovedEvent:
    """What a broker writes to the topic OFFSET_MOVED_EVENT when a consumer requests an offset that does not exist."""

    consumer_group: str = ""
    message_queue: MessageQueue = MessageQueue()
    offset_request: Int64 = 0
    offset_new: Int64 = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionData:
    """A group's subscription to a topic.

    ``sub_string`` ``*`` with no tags means everything. ``code_set`` has ``String.hashCode`` of each tag.
    """

    topic: str = ""
    sub_string: str | None = None
    tags_set: frozenset[str] = frozenset()
    code_set: frozenset[Int32] = frozenset()
    sub_version: Int64 = 0
    """Milliseconds of the client's clock; grows with each change."""
    expression_type: str = "TAG"
    class_filter_mode: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerData:
    """A consumer group of a client."""

    group_name: str = ""
    consume_type: ConsumeType | None = None
    message_model: MessageModel | None = None
    consume_from_where: ConsumeFromWhere | None = None
    subscription_data_set: tuple[SubscriptionData, ...] = ()
    unit_mode: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerData:
    """A producer group of a client."""

    group_name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatData:
    """A client's heartbeat: its groups and subscriptions, sent every 30 s (34)."""

    client_id: str = field(default="", metadata={"wire": "clientID"})
    producer_data_set: tuple[ProducerData, ...] = ()
    consumer_data_set: tuple[ConsumerData, ...] = ()
    heartbeat_fingerprint: Int32 | None = None
    """Only 5.x has it."""
    without_sub: bool | None = None
    """Only 5.x has it: true when the subscriptions are omitted as unchanged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckClientRequestBody:
    """A subscription to be checked before use (46)."""

    client_id: str = ""
    group: str = ""
    subscription_data: SubscriptionData | None = None
    namespace: str | None = None
    """Only 5.x has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GetConsumerListByGroupResponseBody:
    """The client ids of a group (answer to 38)."""

    consumer_id_list: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LockBatchRequestBody:
    """Queues that a client wants to lock (41)."""

    client_id: str = ""
    consumer_group: str = ""
    mq_set: tuple[MessageQueue, ...] = ()
    only_this_broker: bool | None = None
    """Only 5.x has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LockBatchResponseBody:
    """The queues that the client has locked now (answer to 41)."""

    lock_ok_mq_set: tuple[MessageQueue, ...] = field(default=(), metadata={"wire": "lockOKMQSet"})


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlockBatchRequestBody:
    """Queues that a client unlocks (42)."""

    client_id: str = ""
    consumer_group: str = ""
    mq_set: tuple[MessageQueue, ...] = ()
    only_this_broker: bool | None = None
    """Only 5.x has it."""
