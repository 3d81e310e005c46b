"""Which permissions a request needs: those that 4.9.7 asks for, those that it forgot, and those of later requests.

A consumer group stands under the name of its retry topic, so that one table serves topics and groups. Apache 4.9.7 asks
nothing of batches (320) and lets every account change and read all accounts (50 to 54); 5.x mended both, and so it is
here. Of the requests that 4.9.7 does not know, 361 needs what 11 needs, 370 what 5.5.0 asks for, and the timer's (60,
61), of which 5.5.0 asks nothing, an administrator. Fields that are missing are no concern of this module: without them
nothing is carried out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from rocketwire.server.acl.permissions import PUB, SUB
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.client import HeartbeatData
from rocketwire.wire.codes import RequestCode
from rocketwire.wire.names import RETRY_PREFIX, retry_topic

TRACE_TOPIC: Final = "RMQ_SYS_TRACE_TOPIC"
"""Every account may send to it."""

ACCOUNT_CODES: Final[frozenset[int]] = frozenset(
    {
        RequestCode.UPDATE_AND_CREATE_ACL_CONFIG,
        RequestCode.DELETE_ACL_CONFIG,
        RequestCode.GET_BROKER_CLUSTER_ACL_INFO,
        RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG,
        RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG,
    }
)
ADMIN_CODES: Final[frozenset[int]] = ACCOUNT_CODES | {
    RequestCode.UPDATE_AND_CREATE_TOPIC,
    RequestCode.UPDATE_BROKER_CONFIG,
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
    RequestCode.DELETE_SUBSCRIPTIONGROUP,
    RequestCode.DELETE_TOPIC_IN_BROKER,
    RequestCode.GET_TIMER_CHECK_POINT,
    RequestCode.GET_TIMER_METRICS,
}
"""What only an account with `admin: true` may ask for."""


class Needed(NamedTuple):
    """A permission, and the topics and groups it is needed for."""

    permission: int
    resources: tuple[str, ...]


_NOTHING: Final = Needed(SUB, ())
_SENDS: Final[Mapping[int, tuple[str, str]]] = {
    RequestCode.SEND_MESSAGE: ("topic", "group"),
    RequestCode.SEND_MESSAGE_V2: ("b", "a"),
    RequestCode.SEND_BATCH_MESSAGE: ("b", "a"),
}
# In Apache's order: of two that are lacking, it decides which one is named where a Java map does not.
_READS: Final[Mapping[int, tuple[str, ...]]] = {
    RequestCode.PULL_MESSAGE: ("topic", "consumerGroup"),
    RequestCode.LITE_PULL_MESSAGE: ("topic", "consumerGroup"),
    RequestCode.QUERY_MESSAGE: ("topic",),
    RequestCode.UPDATE_CONSUMER_OFFSET: ("consumerGroup", "topic"),
    RequestCode.CONSUMER_SEND_MSG_BACK: ("group",),
    RequestCode.UNREGISTER_CLIENT: ("consumerGroup",),
    RequestCode.GET_CONSUMER_LIST_BY_GROUP: ("consumerGroup",),
}


def needed(code: int, ext: Mapping[str, str], body: memoryview) -> Needed:
    """What a request needs.

    Raises:
        BodyInvalid: a heartbeat that cannot be read.
    """
    names = _SENDS.get(code)
    if names is not None:
        return _of_send(ext.get(names[0]), ext.get(names[1]))
    if code == RequestCode.HEART_BEAT:
        return _of_heartbeat(body)
    if code == RequestCode.RECALL_MESSAGE:
        topic = ext.get("topic")
        return _NOTHING if topic is None else Needed(PUB, (topic,))
    fields = _READS.get(code)
    if fields is None:
        return _NOTHING
    return Needed(
        SUB,
        tuple(
            [
                value if field == "topic" else retry_topic(value)
                for field in fields
                if (value := ext.get(field)) is not None
            ]
        ),
    )


def _of_send(topic: str | None, group: str | None) -> Needed:
    if topic is None:
        return _NOTHING
    if not topic.startswith(RETRY_PREFIX):
        return Needed(PUB, (topic,))
    # A consumer puts back what it could not consume.
    return _NOTHING if group is None else Needed(SUB, (retry_topic(group),))


def _of_heartbeat(body: memoryview) -> Needed:
    found: dict[str, None] = {}
    for consumer in decode_body(HeartbeatData, body).consumer_data_set:
        found[retry_topic(consumer.group_name)] = None
        found.update(dict.fromkeys(subscription.topic for subscription in consumer.subscription_data_set))
    return Needed(SUB, tuple(found))


def shown(resource: str) -> str:
    """How a refusal names a topic or a group."""
    is_group = resource.startswith(RETRY_PREFIX)
    return f"group:{resource.removeprefix(RETRY_PREFIX)}" if is_group else f"topic:{resource}"
