"""The permissions that a request needs: 4.9.7's, and those of requests that it leaves unprotected or does not know.

A consumer group is keyed by its retry topic, so that one table serves topics and groups. Apache 4.9.7 requires nothing
for batches (320) and lets every account read and change all accounts (50 to 54); 5.x fixed both, as here. It also
requires nothing for most requests that read or change one topic's or group's state, or that name a message by its
physical offset; here they need what the topic or group needs elsewhere, or an administrator. Of the requests that 4.9.7
does not know, 361 and 400 need what 11 needs, 370 what 5.5.0 requires, and the timer's (60, 61), for which 5.5.0
requires nothing, an administrator. This module ignores missing fields: without them the request fails anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from rocketwire.server.clients.order_locks import check_size
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.guards.acl.permissions import PUB, SUB
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.assignment import QueryAssignmentRequestBody
from rocketwire.wire.bodies.client import HeartbeatData
from rocketwire.wire.bodies.pop import BatchAckMessageRequestBody
from rocketwire.wire.codes import RequestCode
from rocketwire.wire.headers import decode_ext
from rocketwire.wire.headers.online import ConsumeMessageDirectlyResultRequestHeader
from rocketwire.wire.headers.query import ViewMessageRequestHeader
from rocketwire.wire.headers.send import ConsumerSendMsgBackRequestHeader
from rocketwire.wire.headers.transaction import EndTransactionRequestHeader
from rocketwire.wire.message_id import parse_offset_message_id
from rocketwire.wire.names import RETRY_PREFIX, TRACE_TOPIC, popped_topic, retry_topic

OwnerAt = Callable[[int], str]
"""Returns the topic of the message at a physical offset; raises a `ServerError` if no message begins there."""

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
    RequestCode.GET_ALL_TOPIC_CONFIG,
    RequestCode.UPDATE_BROKER_CONFIG,
    RequestCode.GET_BROKER_CONFIG,
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
    RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG,
    RequestCode.DELETE_SUBSCRIPTIONGROUP,
    RequestCode.DELETE_TOPIC_IN_BROKER,
    RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE,
    RequestCode.CLEAN_UNUSED_TOPIC,
    RequestCode.DELETE_EXPIRED_COMMITLOG,
    RequestCode.GET_TIMER_CHECK_POINT,
    RequestCode.GET_TIMER_METRICS,
    RequestCode.GET_BROKER_CONSUME_STATS,
    RequestCode.UPDATE_AND_CREATE_TOPIC_LIST,
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST,
    RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER,
    RequestCode.QUERY_CORRECTION_OFFSET,
    RequestCode.CLONE_GROUP_OFFSET,
    RequestCode.QUERY_CONSUME_QUEUE,
    RequestCode.RESUME_CHECK_HALF_MESSAGE,
    RequestCode.GET_ALL_PRODUCER_INFO,
    RequestCode.QUERY_TOPICS_BY_CONSUMER,
    RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER,
    RequestCode.GET_TOPIC_CONFIG,
    RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG,
    RequestCode.SET_MESSAGE_REQUEST_MODE,
    RequestCode.GET_ALL_MESSAGE_REQUEST_MODE,
}
"""Codes only for accounts with `admin: true`; 4.9.7 lets every account send 21, 26, 201, 305, 306, 308, 314, 316, 317,
321, 323, 328, 329, and knows neither 401 nor 402."""


class Needed(NamedTuple):
    """Permission bits, of which one is enough, and the topics and groups they are needed for."""

    permission: int
    resources: tuple[str, ...]


_LENIENT_BYTES: Final = 1 << 15
"""The longest body with locks that is parsed if it is not plain JSON, which takes long: all clients write plain JSON.
"""
_ASSIGNMENT_BYTES: Final = 1 << 13
"""The longest body of a client that asks for its queues: it names a topic, a group and itself."""
_FEWEST_ENTRIES: Final = 16_384
_BYTES_PER_ENTRY: Final = 16
"""A heartbeat may have one entry for each so many bytes, and more only if it is short (see docs/limits.md)."""
NOTHING: Final = Needed(SUB, ())
_SENDS: Final[Mapping[int, str]] = {
    RequestCode.SEND_MESSAGE: "topic",
    RequestCode.SEND_MESSAGE_V2: "b",
    RequestCode.SEND_BATCH_MESSAGE: "b",
    RequestCode.SEND_REPLY_MESSAGE: "topic",
    RequestCode.SEND_REPLY_MESSAGE_V2: "b",
}
_REPLIES: Final[frozenset[int]] = frozenset({RequestCode.SEND_REPLY_MESSAGE, RequestCode.SEND_REPLY_MESSAGE_V2})
# In Apache's order: if several permissions are missing, it decides which one the remark names.
_READS: Final[Mapping[int, tuple[str, ...]]] = {
    RequestCode.PULL_MESSAGE: ("topic", "consumerGroup"),
    RequestCode.LITE_PULL_MESSAGE: ("topic", "consumerGroup"),
    RequestCode.QUERY_MESSAGE: ("topic",),
    RequestCode.UPDATE_CONSUMER_OFFSET: ("consumerGroup", "topic"),
    RequestCode.CONSUMER_SEND_MSG_BACK: ("group",),
    RequestCode.UNREGISTER_CLIENT: ("consumerGroup",),
    RequestCode.GET_CONSUMER_LIST_BY_GROUP: ("consumerGroup",),
}
_FORGOTTEN_READS: Final[Mapping[int, tuple[str, ...]]] = {
    RequestCode.QUERY_CONSUMER_OFFSET: ("consumerGroup", "topic"),
    RequestCode.GET_CONSUMER_CONNECTION_LIST: ("consumerGroup",),
    RequestCode.GET_PRODUCER_CONNECTION_LIST: ("producerGroup",),
    RequestCode.GET_CONSUME_STATS: ("consumerGroup", "topic"),
    RequestCode.INVOKE_BROKER_TO_RESET_OFFSET: ("group", "topic"),
    RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS: ("group", "topic"),
    RequestCode.QUERY_CONSUME_TIME_SPAN: ("group", "topic"),
    RequestCode.GET_CONSUMER_RUNNING_INFO: ("consumerGroup",),
    RequestCode.CONSUME_MESSAGE_DIRECTLY: ("consumerGroup",),
}
_POPS: Final[Mapping[int, tuple[str, ...]]] = dict.fromkeys(
    (
        RequestCode.POP_MESSAGE,
        RequestCode.ACK_MESSAGE,
        RequestCode.PEEK_MESSAGE,
        RequestCode.CHANGE_MESSAGE_INVISIBLETIME,
        RequestCode.NOTIFICATION,
        RequestCode.POLLING_INFO,
    ),
    ("topic", "consumerGroup"),
)
"""Of POP; the topic may be a retry topic of the group, and stands for the one whose messages come again there."""
_FIELDS: Final = {**_READS, **_FORGOTTEN_READS, **_POPS}
_EITHER: Final[frozenset[int]] = frozenset(
    {
        RequestCode.SEARCH_OFFSET_BY_TIMESTAMP,
        RequestCode.GET_MAX_OFFSET,
        RequestCode.GET_MIN_OFFSET,
        RequestCode.GET_EARLIEST_MSG_STORETIME,
        RequestCode.GET_TOPIC_STATS_INFO,
        RequestCode.QUERY_TOPIC_CONSUME_BY_WHO,
    }
)
"""Requests about a topic's queues, for senders and readers alike."""
_LOCKS: Final[frozenset[int]] = frozenset({RequestCode.LOCK_BATCH_MQ, RequestCode.UNLOCK_BATCH_MQ})

_OF_PLACES: Final[frozenset[int]] = frozenset(
    {
        RequestCode.VIEW_MESSAGE_BY_ID,
        RequestCode.CONSUMER_SEND_MSG_BACK,
        RequestCode.END_TRANSACTION,
        RequestCode.CONSUME_MESSAGE_DIRECTLY,
    }
)
"""Requests that name a message by its physical offset."""

FORGOTTEN_CODES: Final[frozenset[int]] = frozenset(
    {
        *_FORGOTTEN_READS,
        *_EITHER,
        *_LOCKS,
        *_REPLIES,
        RequestCode.VIEW_BROKER_STATS_DATA,
        RequestCode.VIEW_MESSAGE_BY_ID,
        RequestCode.END_TRANSACTION,
    }
)
"""Requests that 4.9.7 leaves unprotected; administrators may send them, whatever their permissions."""


def needed(code: int, ext: Mapping[str, str], body: memoryview, *, reply_topic: str | None = None) -> Needed:
    """The permissions that a request needs for the topics and groups that it names.

    Args:
        code: The request's code.
        ext: Its header's fields.
        body: Its body.
        reply_topic: The topic of replies: every receiver of a request may answer it.

    Raises:
        BodyInvalid: a heartbeat, the locks of a group, or a question for a client's queues cannot be parsed.
        LimitExceeded: the body of one of the latter two is too long.
    """
    name = _SENDS.get(code)
    if name is not None:
        topic = ext.get(name)
        return NOTHING if topic is None or (code in _REPLIES and topic == reply_topic) else sent_to(topic)
    if code == RequestCode.HEART_BEAT:
        return _of_heartbeat(body)
    if code in _LOCKS:
        check_size(body)
        return Needed(SUB, (retry_topic(decode_body(_Locks, body, lenient_limit=_LENIENT_BYTES).consumer_group),))
    if code == RequestCode.QUERY_ASSIGNMENT:
        return _of_assignment(body)
    if code == RequestCode.BATCH_ACK_MESSAGE:
        return _of_acks(body)
    if code in _POPS:
        ext = {**ext, "topic": popped_topic(ext.get("topic", ""), ext.get("consumerGroup", ""))}
    if code == RequestCode.VIEW_BROKER_STATS_DATA:
        return _of_statistics(ext)
    if code == RequestCode.RECALL_MESSAGE or code in _EITHER:
        topic = ext.get("topic")
        return NOTHING if topic is None else Needed(PUB if code == RequestCode.RECALL_MESSAGE else PUB | SUB, (topic,))
    return Needed(
        SUB,
        tuple(
            [
                value if field == "topic" else retry_topic(value)
                for field in _FIELDS.get(code, ())
                if (value := ext.get(field)) is not None and (value.strip() or code != RequestCode.GET_CONSUME_STATS)
            ]
        ),
    )


def needed_for_message(code: int, ext: dict[str, str], owner_at: OwnerAt) -> Needed:
    """The permissions that a request needs for the message that it names by its physical offset, if any.

    Raises:
        HeaderFieldMissing, HeaderFieldInvalid, MessageIdInvalid: the offset is invalid.
        ServerError: no message begins there.
    """
    if code not in _OF_PLACES:
        return NOTHING
    if code == RequestCode.END_TRANSACTION:
        return sent_to(owner_at(decode_ext(EndTransactionRequestHeader, ext).commit_log_offset))
    if code == RequestCode.VIEW_MESSAGE_BY_ID:
        offset = decode_ext(ViewMessageRequestHeader, ext).offset
    elif code == RequestCode.CONSUMER_SEND_MSG_BACK:
        offset = decode_ext(ConsumerSendMsgBackRequestHeader, ext).offset
    else:
        message_id = decode_ext(ConsumeMessageDirectlyResultRequestHeader, ext).msg_id
        if message_id is None:
            return NOTHING
        _, offset = parse_offset_message_id(message_id)
    return Needed(SUB, (owner_at(offset),))


def sent_to(topic: str) -> Needed:
    """The permissions needed to store a message in a topic."""
    if topic.startswith(RETRY_PREFIX):  # a consumer sends back what it could not consume
        return Needed(SUB, (topic,))
    return NOTHING if topic == TRACE_TOPIC else Needed(PUB, (topic,))


def _of_statistics(ext: Mapping[str, str]) -> Needed:
    """The topic, and the group if there is one, whose statistics are asked for: `topic@group`."""
    key = ext.get("statsKey")
    if key is None or ext.get("statsName", "").startswith("BROKER_"):
        return NOTHING
    topic, _, group = key.partition("@")
    return Needed(PUB | SUB, (topic, retry_topic(group)) if group else (topic,))


def _of_assignment(body: memoryview) -> Needed:
    if len(body) > _ASSIGNMENT_BYTES:
        raise LimitExceeded("assignmentBytes", _ASSIGNMENT_BYTES)
    asked = decode_body(QueryAssignmentRequestBody, body)
    return Needed(SUB, (asked.topic, retry_topic(asked.consumer_group)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Locks:
    """The group of requests about queue locks."""

    consumer_group: str = ""


def _of_heartbeat(body: memoryview) -> Needed:
    found: dict[str, None] = {}
    most = max(_FEWEST_ENTRIES, len(body) // _BYTES_PER_ENTRY)
    for consumer in decode_body(HeartbeatData, body, most_entries=most).consumer_data_set:
        found[retry_topic(consumer.group_name)] = None
        found.update(dict.fromkeys(subscription.topic for subscription in consumer.subscription_data_set))
    return Needed(SUB, tuple(found))


def _of_acks(body: memoryview) -> Needed:
    if not body:
        return NOTHING
    acks = decode_body(BatchAckMessageRequestBody, body, lenient_limit=_LENIENT_BYTES, most_entries=_FEWEST_ENTRIES)
    found: dict[str, None] = {}
    for ack in acks.acks:
        found[popped_topic(ack.topic, ack.consumer_group)] = None
        found[retry_topic(ack.consumer_group)] = None
    return Needed(SUB, tuple(found))


def shown(resource: str) -> str:
    """The name of a topic or group in a refusal."""
    is_group = resource.startswith(RETRY_PREFIX)
    return f"group:{resource.removeprefix(RETRY_PREFIX)}" if is_group else f"topic:{resource}"
