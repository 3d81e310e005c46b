"""Names of the message properties that RocketMQ itself uses, with those that nothing here uses yet.

Each is a constant of `org.apache.rocketmq.common.message.MessageConst`, ``PROPERTY_`` with the name given here, unless
a comment names another one. `tools/facts.py` writes the same names for C and Java.
"""

from typing import Final

NAME_SEP: Final = "\x01"  # MessageDecoder.NAME_VALUE_SEPARATOR
"""Between a name and its value."""
ITEM_SEP: Final = "\x02"  # MessageDecoder.PROPERTY_SEPARATOR
"""Between properties."""
KEY_SEP: Final = " "  # MessageConst.KEY_SEPARATOR
"""Between the keys in KEYS."""

KEYS: Final = "KEYS"
TAGS: Final = "TAGS"
WAIT: Final = "WAIT"  # PROPERTY_WAIT_STORE_MSG_OK
DELAY: Final = "DELAY"  # PROPERTY_DELAY_TIME_LEVEL
RETRY_TOPIC: Final = "RETRY_TOPIC"
REAL_TOPIC: Final = "REAL_TOPIC"
REAL_QUEUE_ID: Final = "REAL_QID"
TRANSACTION_PREPARED: Final = "TRAN_MSG"
PRODUCER_GROUP: Final = "PGROUP"
MIN_OFFSET: Final = "MIN_OFFSET"
MAX_OFFSET: Final = "MAX_OFFSET"
BUYER_ID: Final = "BUYER_ID"
ORIGIN_MESSAGE_ID: Final = "ORIGIN_MESSAGE_ID"
TRANSFER_FLAG: Final = "TRANSFER_FLAG"
CORRECTION_FLAG: Final = "CORRECTION_FLAG"
MQ2_FLAG: Final = "MQ2_FLAG"
RECONSUME_TIME: Final = "RECONSUME_TIME"
MSG_REGION: Final = "MSG_REGION"
TRACE_ON: Final = "TRACE_ON"  # PROPERTY_TRACE_SWITCH
UNIQ_KEY: Final = "UNIQ_KEY"  # PROPERTY_UNIQ_CLIENT_MESSAGE_ID_KEYIDX
MAX_RECONSUME_TIMES: Final = "MAX_RECONSUME_TIMES"
CONSUME_START_TIME: Final = "CONSUME_START_TIME"  # PROPERTY_CONSUME_START_TIMESTAMP
TRANSACTION_PREPARED_QUEUE_OFFSET: Final = "TRAN_PREPARED_QUEUE_OFFSET"
TRANSACTION_CHECK_TIMES: Final = "TRANSACTION_CHECK_TIMES"
CHECK_IMMUNITY_TIME_IN_SECONDS: Final = "CHECK_IMMUNITY_TIME_IN_SECONDS"
INSTANCE_ID: Final = "INSTANCE_ID"
CORRELATION_ID: Final = "CORRELATION_ID"
REPLY_TO_CLIENT: Final = "REPLY_TO_CLIENT"  # PROPERTY_MESSAGE_REPLY_TO_CLIENT
TTL: Final = "TTL"  # PROPERTY_MESSAGE_TTL
ARRIVE_TIME: Final = "ARRIVE_TIME"  # PROPERTY_REPLY_MESSAGE_ARRIVE_TIME
PUSH_REPLY_TIME: Final = "PUSH_REPLY_TIME"
CLUSTER: Final = "CLUSTER"
MSG_TYPE: Final = "MSG_TYPE"  # PROPERTY_MESSAGE_TYPE
INNER_MULTI_DISPATCH: Final = "INNER_MULTI_DISPATCH"
INNER_MULTI_QUEUE_OFFSET: Final = "INNER_MULTI_QUEUE_OFFSET"
INNER_NUM: Final = "INNER_NUM"
"""Of a record that holds a batch, how many messages: 5.x's, whose brokers refuse a send that has it."""

TIMER_DELAY_SEC: Final = "TIMER_DELAY_SEC"
"""This and the following names are 5.x's."""
TIMER_DELAY_MS: Final = "TIMER_DELAY_MS"
TIMER_DELIVER_MS: Final = "TIMER_DELIVER_MS"
TIMER_ENQUEUE_MS: Final = "TIMER_ENQUEUE_MS"
TIMER_DEQUEUE_MS: Final = "TIMER_DEQUEUE_MS"
TIMER_ROLL_TIMES: Final = "TIMER_ROLL_TIMES"
TIMER_OUT_MS: Final = "TIMER_OUT_MS"
TIMER_DEL_UNIQ_KEY: Final = "TIMER_DEL_UNIQKEY"  # PROPERTY_TIMER_DEL_UNIQKEY
START_DELIVER_TIME: Final = "__STARTDELIVERTIME"  # a literal in DefaultMQProducerImpl and BrokerMetricsManager
SHARDING_KEY: Final = "__SHARDINGKEY"
POP_CK: Final = "POP_CK"
"""Of a popped message: its handle. A pop writes it into what it delivers; a record that holds one has it from a client,
and it is neither stored, delivered nor believed."""
FIRST_POP_TIME: Final = "1ST_POP_TIME"
ORIGIN_GROUP: Final = "ORIGIN_GROUP"
"""Of a message in a retry topic of POP: the group."""

OWN_NAMES: Final = frozenset(
    value
    for name, value in list(globals().items())
    if name.isupper() and isinstance(value, str) and name not in {"NAME_SEP", "ITEM_SEP", "KEY_SEP", "SHARDING_KEY"}
)
"""All of these that producers or brokers set; a sharding key is set by applications."""

BORN_HOST: Final = "__BORNHOST"
"""This and the following names are those that a proxy sets and reads for 5.x clients."""
BORN_TIMESTAMP: Final = "BORN_TIMESTAMP"
DLQ_ORIGIN_MESSAGE_ID: Final = "DLQ_ORIGIN_MESSAGE_ID"
DLQ_ORIGIN_TOPIC: Final = "DLQ_ORIGIN_TOPIC"
LITE_TOPIC: Final = "__LITE_TOPIC"
PRIORITY: Final = "_SYS_MSG_PRIORITY_"
TRACE_CONTEXT: Final = "TRACE_CONTEXT"

RESERVED_NAMES: Final = (
    OWN_NAMES
    - {CHECK_IMMUNITY_TIME_IN_SECONDS, INNER_MULTI_DISPATCH, INNER_NUM, START_DELIVER_TIME, TRANSACTION_CHECK_TIMES}
) | {
    *(BORN_HOST, BORN_TIMESTAMP, DLQ_ORIGIN_MESSAGE_ID, DLQ_ORIGIN_TOPIC, LITE_TOPIC, PRIORITY),
    *("DUP_INFO", "EXTEND_UNIQ_INFO", "POP_CK_OFFSET", "TIMER_DELAY_LEVEL", "__CRC32#"),
}
"""What a producer of 5.x may not set itself, and a consumer does not get as a user property: STRING_HASH_SET."""
