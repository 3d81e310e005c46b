"""Message properties: the codec of their text, and the names that RocketMQ itself uses.

``name 0x01 value 0x02 name 0x01 value``. 4.9 writes no separator after the last property, 5.x does.

The names are the protocol's complete table, including those that nothing here uses yet.
"""

from collections.abc import Mapping
from typing import Final

from rocketwire.wire.errors import PropertiesInvalid

NAME_SEP: Final = "\x01"
"""Between a name and its value."""
ITEM_SEP: Final = "\x02"
"""Between properties."""
KEY_SEP: Final = " "
"""Between the keys in KEYS."""

KEYS: Final = "KEYS"
TAGS: Final = "TAGS"
WAIT: Final = "WAIT"
DELAY: Final = "DELAY"
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
TRACE_ON: Final = "TRACE_ON"
UNIQ_KEY: Final = "UNIQ_KEY"
MAX_RECONSUME_TIMES: Final = "MAX_RECONSUME_TIMES"
CONSUME_START_TIME: Final = "CONSUME_START_TIME"
TRANSACTION_PREPARED_QUEUE_OFFSET: Final = "TRAN_PREPARED_QUEUE_OFFSET"
TRANSACTION_CHECK_TIMES: Final = "TRANSACTION_CHECK_TIMES"
CHECK_IMMUNITY_TIME_IN_SECONDS: Final = "CHECK_IMMUNITY_TIME_IN_SECONDS"
INSTANCE_ID: Final = "INSTANCE_ID"
CORRELATION_ID: Final = "CORRELATION_ID"
REPLY_TO_CLIENT: Final = "REPLY_TO_CLIENT"
TTL: Final = "TTL"
ARRIVE_TIME: Final = "ARRIVE_TIME"
PUSH_REPLY_TIME: Final = "PUSH_REPLY_TIME"
CLUSTER: Final = "CLUSTER"
MSG_TYPE: Final = "MSG_TYPE"
INNER_MULTI_DISPATCH: Final = "INNER_MULTI_DISPATCH"
INNER_MULTI_QUEUE_OFFSET: Final = "INNER_MULTI_QUEUE_OFFSET"

TIMER_DELAY_SEC: Final = "TIMER_DELAY_SEC"
"""This and the following names are 5.x's."""
TIMER_DELAY_MS: Final = "TIMER_DELAY_MS"
TIMER_DELIVER_MS: Final = "TIMER_DELIVER_MS"
TIMER_ENQUEUE_MS: Final = "TIMER_ENQUEUE_MS"
TIMER_DEQUEUE_MS: Final = "TIMER_DEQUEUE_MS"
TIMER_ROLL_TIMES: Final = "TIMER_ROLL_TIMES"
TIMER_OUT_MS: Final = "TIMER_OUT_MS"
TIMER_DEL_UNIQ_KEY: Final = "TIMER_DEL_UNIQKEY"
START_DELIVER_TIME: Final = "__STARTDELIVERTIME"
SHARDING_KEY: Final = "__SHARDINGKEY"

_SHORTEST: Final = 3


def decode_properties(text: str) -> dict[str, str]:
    """Read properties as Java's MessageDecoder does.

    An item without a name or a value is skipped, so empty values are lost. The last of equal names wins.
    """
    result: dict[str, str] = {}
    for item in text.split(ITEM_SEP):
        if len(item) >= _SHORTEST:
            name, _, value = item.partition(NAME_SEP)
            if name and value:
                result[name] = value
    return result


def encode_properties(properties: Mapping[str, str]) -> str:
    """Write properties in the order given, without a separator at the end, as 4.9 does.

    Raises:
        PropertiesInvalid: a name or value has a separator in it and would be read back as something else.
    """
    text = ITEM_SEP.join([f"{name}{NAME_SEP}{value}" for name, value in properties.items()])
    if text.count(ITEM_SEP) != max(0, len(properties) - 1) or NAME_SEP in "".join(properties):
        raise PropertiesInvalid("properties must not have the separators 0x01 or 0x02 in a name, nor 0x02 in a value")
    return text
