"""Bodies of connected clients: their connections, state and offsets, and the result of consuming one message."""

from dataclasses import dataclass, field
from enum import StrEnum

from rocketwire.wire.bodies.client import ConsumeFromWhere, ConsumeType, MessageModel, MessageQueue, SubscriptionData
from rocketwire.wire.java import Int32, Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConnection:
    """One connection of a group."""

    client_id: str = ""
    client_addr: str = ""
    language: str | None = None
    version: Int32 = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerConnection:
    """The members of a consumer group, and its subscriptions by topic (answer to 203)."""

    connection_set: tuple[ClientConnection, ...] = ()
    subscription_table: dict[str, SubscriptionData] = field(default_factory=dict)
    consume_type: ConsumeType | None = None
    message_model: MessageModel | None = None
    consume_from_where: ConsumeFromWhere | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerConnection:
    """The members of a producer group (answer to 204)."""

    connection_set: tuple[ClientConnection, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerInfo:
    """One connected producer; the time of its last heartbeat is in milliseconds."""

    client_id: str = ""
    remote_ip: str = field(default="", metadata={"wire": "remoteIP"})
    language: str | None = None
    version: Int32 = 0
    last_update_timestamp: Int64 = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerTableInfo:
    """All connected producers by group (answer to 328)."""

    data: dict[str, tuple[ProducerInfo, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySubscriptionResponseBody:
    """What a group subscribes to of a topic (answer to 345)."""

    subscription_data: SubscriptionData | None = None
    group: str = ""
    topic: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetOffsetBody:
    """The offsets to which a group is reset (220, answer to 222)."""

    offset_table: dict[MessageQueue, Int64] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageQueueForC:
    """A queue with its offset."""

    topic: str = ""
    broker_name: str = ""
    queue_id: Int32 = 0
    offset: Int64 = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetOffsetBodyForC:
    """The same as ``ResetOffsetBody`` for C++ clients, whose JSON has no objects as keys."""

    offset_table: tuple[MessageQueueForC, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GetConsumerStatusBody:
    """Offsets as clients hold them: of the queried client (221), or of all by client id (223)."""

    message_queue_table: dict[MessageQueue, Int64] = field(default_factory=dict)
    consumer_table: dict[str, dict[MessageQueue, Int64]] = field(default_factory=dict)


class ConsumeResult(StrEnum):
    """The result of a message that a client consumed directly."""

    CR_SUCCESS = "CR_SUCCESS"
    CR_LATER = "CR_LATER"
    CR_ROLLBACK = "CR_ROLLBACK"
    CR_COMMIT = "CR_COMMIT"
    CR_THROW_EXCEPTION = "CR_THROW_EXCEPTION"
    CR_RETURN_NULL = "CR_RETURN_NULL"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumeMessageDirectlyResult:
    """A client's answer to 309; `remark` is the listener's exception."""

    order: bool = False
    auto_commit: bool = True
    consume_result: ConsumeResult | None = None
    remark: str | None = None
    spent_time_mills: Int64 = 0
    """Milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessQueueInfo:
    """A client's local state of one queue; times are milliseconds."""

    commit_offset: Int64 = 0
    cached_msg_min_offset: Int64 = 0
    cached_msg_max_offset: Int64 = 0
    cached_msg_count: Int32 = 0
    cached_msg_size_in_mib: Int32 = field(default=0, metadata={"wire": "cachedMsgSizeInMiB"})
    transaction_msg_min_offset: Int64 = 0
    transaction_msg_max_offset: Int64 = 0
    transaction_msg_count: Int32 = 0
    locked: bool = False
    try_unlock_times: Int64 = 0
    last_lock_timestamp: Int64 = 0
    droped: bool = False
    last_pull_timestamp: Int64 = 0
    last_consume_timestamp: Int64 = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumeStatus:
    """A client's statistics of one topic: messages a second, milliseconds, and failures of the last hour."""

    pull_rt: float = field(default=0.0, metadata={"wire": "pullRT"})
    pull_tps: float = field(default=0.0, metadata={"wire": "pullTPS"})
    consume_rt: float = field(default=0.0, metadata={"wire": "consumeRT"})
    consume_ok_tps: float = field(default=0.0, metadata={"wire": "consumeOKTPS"})
    consume_failed_tps: float = field(default=0.0, metadata={"wire": "consumeFailedTPS"})
    consume_failed_msgs: Int64 = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerRunningInfo:
    """The running information of a consumer (answer to 307)."""

    properties: dict[str, str] = field(default_factory=dict)
    subscription_set: tuple[SubscriptionData, ...] = ()
    mq_table: dict[MessageQueue, ProcessQueueInfo] = field(default_factory=dict)
    status_table: dict[str, ConsumeStatus] = field(default_factory=dict)
    """By topic."""
    jstack: str | None = None
