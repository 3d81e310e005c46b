"""The properties of messages of 5.x clients: which names are no user's, and which type a message has by them."""

from collections.abc import Mapping
from typing import Final

from rocketwire.wire.facts import properties as names

BORN_HOST: Final = "__BORNHOST"
BORN_TIMESTAMP: Final = "BORN_TIMESTAMP"
DLQ_ORIGIN_MESSAGE_ID: Final = "DLQ_ORIGIN_MESSAGE_ID"
DLQ_ORIGIN_TOPIC: Final = "DLQ_ORIGIN_TOPIC"
LITE_TOPIC: Final = "__LITE_TOPIC"
PRIORITY: Final = "_SYS_MSG_PRIORITY_"
TRACE_CONTEXT: Final = "TRACE_CONTEXT"

RESERVED: Final = frozenset(
    {
        BORN_HOST,
        BORN_TIMESTAMP,
        DLQ_ORIGIN_MESSAGE_ID,
        DLQ_ORIGIN_TOPIC,
        LITE_TOPIC,
        PRIORITY,
        "1ST_POP_TIME",
        "DUP_INFO",
        "EXTEND_UNIQ_INFO",
        "ORIGIN_GROUP",
        "POP_CK",
        "POP_CK_OFFSET",
        "TIMER_DELAY_LEVEL",
        "__CRC32#",
        names.ARRIVE_TIME,
        names.BUYER_ID,
        names.CLUSTER,
        names.CONSUME_START_TIME,
        names.CORRECTION_FLAG,
        names.CORRELATION_ID,
        names.DELAY,
        names.INNER_MULTI_QUEUE_OFFSET,
        names.INSTANCE_ID,
        names.KEYS,
        names.MAX_OFFSET,
        names.MAX_RECONSUME_TIMES,
        names.MIN_OFFSET,
        names.MQ2_FLAG,
        names.MSG_REGION,
        names.MSG_TYPE,
        names.ORIGIN_MESSAGE_ID,
        names.PRODUCER_GROUP,
        names.PUSH_REPLY_TIME,
        names.REAL_QUEUE_ID,
        names.REAL_TOPIC,
        names.RECONSUME_TIME,
        names.REPLY_TO_CLIENT,
        names.RETRY_TOPIC,
        names.TAGS,
        names.TIMER_DELAY_MS,
        names.TIMER_DELAY_SEC,
        names.TIMER_DELIVER_MS,
        names.TIMER_DEL_UNIQ_KEY,
        names.TIMER_DEQUEUE_MS,
        names.TIMER_ENQUEUE_MS,
        names.TIMER_OUT_MS,
        names.TIMER_ROLL_TIMES,
        names.TRACE_ON,
        names.TRANSACTION_PREPARED,
        names.TRANSACTION_PREPARED_QUEUE_OFFSET,
        names.TRANSFER_FLAG,
        names.TTL,
        names.UNIQ_KEY,
        names.WAIT,
    }
)
"""What a producer may not set itself, and a consumer does not get as a user property. It is Apache's list, so
`__SHARDINGKEY`, `TRACE_CONTEXT` and `CHECK_IMMUNITY_TIME_IN_SECONDS` are not in it."""

RARE_NAMES: Final = frozenset(
    {
        DLQ_ORIGIN_MESSAGE_ID,
        DLQ_ORIGIN_TOPIC,
        LITE_TOPIC,
        PRIORITY,
        TRACE_CONTEXT,
        names.DELAY,
        names.START_DELIVER_TIME,
        names.TIMER_DELAY_MS,
        names.TIMER_DELAY_SEC,
        names.TIMER_DELIVER_MS,
        names.TIMER_OUT_MS,
        names.TRANSACTION_PREPARED,
    }
)
"""What changes the type of a delivered message, or becomes a field that few have: the kernel leaves these to Python."""


NORMAL: Final = "NORMAL"
FIFO: Final = "FIFO"
_DELAYING: Final = frozenset(
    {names.DELAY, names.TIMER_DELIVER_MS, names.TIMER_DELAY_SEC, names.TIMER_DELAY_MS, names.START_DELIVER_TIME}
)


def type_of(properties: Mapping[str, str]) -> str:
    """The name of a message's type, as in `definition.proto`: the first that a property gives it."""
    if properties.get(names.TRANSACTION_PREPARED, "").lower() == "true":
        return "TRANSACTION"
    if not _DELAYING.isdisjoint(properties):
        return "DELAY"
    if names.SHARDING_KEY in properties:
        return FIFO
    if PRIORITY in properties:
        return "PRIORITY"
    return "LITE" if LITE_TOPIC in properties else NORMAL
