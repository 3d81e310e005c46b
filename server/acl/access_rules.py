"""What access control decides about a request, by its code: one table, so that codes without a decision are known.

The decisions are 4.9.7's, with further ones about requests that it leaves unprotected or does not know. Apache 4.9.7
requires nothing for batches (320) and lets every account read and change all accounts (50 to 54); 5.x fixed both, as
here. It also requires nothing for most requests that read or change one topic's or group's state, or that name a
message by its physical offset; here they need what the topic or group needs elsewhere, or an administrator. Of the
requests that 4.9.7 does not know, 361 and 400 need what 11 needs, 370 what 5.5.0 requires, and the timer's (60, 61),
for which 5.5.0 requires nothing, an administrator.

A broker refuses a code that has no decision because it does not serve it. A proxy has to refuse it itself: the broker
behind it may serve the code, and would carry it out with the proxy's account.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from rocketwire.server.acl.resources import (
    NOTHING,
    PUB,
    SUB,
    NeededPermissions,
    of_acks,
    of_assignment,
    of_heartbeat,
    of_locks,
    of_pop,
    of_route,
    of_statistics,
    sent_to,
)
from rocketwire.server.core.guard_errors import ITEMS, MOST_ITEMS, LimitExceeded
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.headers import decode_ext
from rocketwire.wire.headers.online import ConsumeMessageDirectlyResultRequestHeader
from rocketwire.wire.headers.query import ViewMessageRequestHeader
from rocketwire.wire.headers.send import ConsumerSendMsgBackRequestHeader
from rocketwire.wire.headers.transaction import EndTransactionRequestHeader
from rocketwire.wire.message_id import parse_offset_message_id
from rocketwire.wire.names import original_pop_topic, retry_topic

OwnerAt = Callable[[int], str]
"""Returns the topic of the message at a physical offset; raises a `ServerError` if no message begins there."""
PermissionsOfRequest = Callable[[Mapping[str, str], memoryview, str | None], NeededPermissions]
"""Returns the permissions that a request needs by its fields, its body, and the topic of replies."""
PermissionsOfMessage = Callable[[str, Mapping[str, str]], NeededPermissions]
"""Returns the permissions that a request needs by the topic of the message that it names, and by its fields."""
OffsetInFields = Callable[[dict[str, str]], int | None]
"""Returns the physical offset of the message that the fields of a request name; None: they name none."""


def _nothing(_ext: Mapping[str, str], _body: memoryview, _reply_topic: str | None) -> NeededPermissions:
    return NOTHING


class AccessRule(NamedTuple):
    """What a request needs, beside an account and a valid signature.

    Attributes:
        needed: Gives the permissions for what it names.
        admin: Whether only accounts with `admin: true` may send it.
        forgotten: Whether 4.9.7 leaves it unprotected: administrators may send it, whatever their permissions.
        place: Gives the physical offset of the message that it names; None: it names none so.
        of_message: Gives the permissions for that message's topic, by the request's fields.
    """

    needed: PermissionsOfRequest = _nothing
    admin: bool = False
    unprotected_by_apache: bool = False
    offset_of_message: OffsetInFields | None = None
    of_message: PermissionsOfMessage = lambda topic, _ext: NeededPermissions(SUB, (topic,))


# --- the permissions of one code


def _send(field: str) -> PermissionsOfRequest:
    def needed(ext: Mapping[str, str], _body: memoryview, _reply_topic: str | None) -> NeededPermissions:
        topic = ext.get(field)
        return NOTHING if topic is None else sent_to(topic)

    return needed


def _reply(field: str) -> PermissionsOfRequest:
    """As a send, but every receiver of a request may answer it."""

    def needed(ext: Mapping[str, str], _body: memoryview, reply_topic: str | None) -> NeededPermissions:
        topic = ext.get(field)
        return NOTHING if topic is None or topic == reply_topic else sent_to(topic)

    return needed


def _read(*fields: str) -> PermissionsOfRequest:
    """Reading what the fields name, in Apache's order: of several missing permissions the remark names one by it."""

    def needed(ext: Mapping[str, str], _body: memoryview, _reply_topic: str | None) -> NeededPermissions:
        named = [(field, value) for field in fields if (value := ext.get(field)) is not None]
        return NeededPermissions(
            SUB, tuple([value if field == "topic" else retry_topic(value) for field, value in named])
        )

    return needed


def _progress(ext: Mapping[str, str], body: memoryview, reply_topic: str | None) -> NeededPermissions:
    """As `_read`, where a blank name counts as none; 5.5.0 takes a list of topics, too."""
    named = {name: value for name, value in ext.items() if value.strip()}
    listed = named.get("topicList", "")
    if listed.count(";") >= MOST_ITEMS:
        raise LimitExceeded(ITEMS, MOST_ITEMS)
    needed = _read("consumerGroup", "topic")(named, body, reply_topic)
    return needed._replace(resources=(*needed.resources, *(topic for topic in listed.split(";") if topic)))


def _topic(permission: int) -> PermissionsOfRequest:
    def needed(ext: Mapping[str, str], _body: memoryview, _reply_topic: str | None) -> NeededPermissions:
        topic = ext.get("topic")
        return NOTHING if topic is None else NeededPermissions(permission, (topic,))

    return needed


def _by_fields(read: Callable[[Mapping[str, str]], NeededPermissions]) -> PermissionsOfRequest:
    return lambda ext, _body, _reply_topic: read(ext)


def _by_body(read: Callable[[memoryview], NeededPermissions]) -> PermissionsOfRequest:
    return lambda _ext, body, _reply_topic: read(body)


# --- messages that are named by their physical offset


def _viewed(ext: dict[str, str]) -> int:
    return decode_ext(ViewMessageRequestHeader, ext).offset


def _sent_back(ext: dict[str, str]) -> int:
    return decode_ext(ConsumerSendMsgBackRequestHeader, ext).offset


def _half(ext: dict[str, str]) -> int:
    return decode_ext(EndTransactionRequestHeader, ext).commit_log_offset


def _consumed_directly(ext: dict[str, str]) -> int | None:
    message_id = decode_ext(ConsumeMessageDirectlyResultRequestHeader, ext).msg_id
    return None if message_id is None else parse_offset_message_id(message_id)[1]


def _taken_by(field: str) -> PermissionsOfMessage:
    """What a group needs for a message; in its retry topics of POP, what the topic that it popped from needs."""
    return lambda topic, ext: NeededPermissions(SUB, (original_pop_topic(topic, ext.get(field, "")),))


def _sent_half(topic: str, _ext: Mapping[str, str]) -> NeededPermissions:
    return sent_to(topic)


# --- the table

_ADMINISTRATION: Final = (
    RequestCode.UPDATE_AND_CREATE_ACL_CONFIG,
    RequestCode.DELETE_ACL_CONFIG,
    RequestCode.GET_BROKER_CLUSTER_ACL_INFO,
    RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG,
    RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG,
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
)
"""4.9.7 lets every account send 21, 26, 201, 305, 306, 308, 314, 316, 317, 321, 323, 328 and 329; it lacks 401, 402."""
_NAME_SERVER_ADMINISTRATION: Final = (
    RequestCode.PUT_KV_CONFIG,
    RequestCode.DELETE_KV_CONFIG,
    RequestCode.WIPE_WRITE_PERM_OF_BROKER,
    RequestCode.DELETE_TOPIC_IN_NAMESRV,
    RequestCode.REGISTER_TOPIC_IN_NAMESRV,
    RequestCode.ADD_WRITE_PERM_OF_BROKER,
)
"""Changes at name servers, which have no accounts: only a proxy decides about them."""
_FOR_ALL_ACCOUNTS: Final = (
    RequestCode.GET_BROKER_RUNTIME_INFO,
    RequestCode.CHECK_CLIENT_CONFIG,
    # Of name servers, which send them to every client.
    RequestCode.GET_KV_CONFIG,
    RequestCode.GET_BROKER_CLUSTER_INFO,
    RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
    RequestCode.GET_KVLIST_BY_NAMESPACE,
    RequestCode.GET_TOPICS_BY_CLUSTER,
    RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS,
    RequestCode.GET_UNIT_TOPIC_LIST,
    RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST,
    RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
)
_OF_POP: Final = (
    RequestCode.POP_MESSAGE,
    RequestCode.ACK_MESSAGE,
    RequestCode.PEEK_MESSAGE,
    RequestCode.CHANGE_MESSAGE_INVISIBLETIME,
    RequestCode.NOTIFICATION,
    RequestCode.POLLING_INFO,
)
_OF_QUEUES: Final = (
    RequestCode.SEARCH_OFFSET_BY_TIMESTAMP,
    RequestCode.GET_MAX_OFFSET,
    RequestCode.GET_MIN_OFFSET,
    RequestCode.GET_EARLIEST_MSG_STORETIME,
    RequestCode.GET_TOPIC_STATS_INFO,
    RequestCode.QUERY_TOPIC_CONSUME_BY_WHO,
)
"""Requests about a topic's queues, for senders and readers alike."""


def _forgotten(needed: PermissionsOfRequest) -> AccessRule:
    return AccessRule(needed, unprotected_by_apache=True)


ACCESS_RULES: Final[Mapping[int, AccessRule]] = {
    **dict.fromkeys((*_ADMINISTRATION, *_NAME_SERVER_ADMINISTRATION), AccessRule(admin=True)),
    **dict.fromkeys(_FOR_ALL_ACCOUNTS, AccessRule()),
    RequestCode.SEND_MESSAGE: AccessRule(_send("topic")),
    RequestCode.SEND_MESSAGE_V2: AccessRule(_send("b")),
    RequestCode.SEND_BATCH_MESSAGE: AccessRule(_send("b")),
    RequestCode.SEND_REPLY_MESSAGE: _forgotten(_reply("topic")),
    RequestCode.SEND_REPLY_MESSAGE_V2: _forgotten(_reply("b")),
    RequestCode.RECALL_MESSAGE: AccessRule(_topic(PUB)),
    RequestCode.END_TRANSACTION: AccessRule(unprotected_by_apache=True, offset_of_message=_half, of_message=_sent_half),
    RequestCode.PULL_MESSAGE: AccessRule(_read("topic", "consumerGroup")),
    RequestCode.LITE_PULL_MESSAGE: AccessRule(_read("topic", "consumerGroup")),
    RequestCode.QUERY_MESSAGE: AccessRule(_read("topic")),
    RequestCode.VIEW_MESSAGE_BY_ID: AccessRule(unprotected_by_apache=True, offset_of_message=_viewed),
    RequestCode.CONSUMER_SEND_MSG_BACK: AccessRule(
        _read("group"), offset_of_message=_sent_back, of_message=_taken_by("group")
    ),
    RequestCode.CONSUME_MESSAGE_DIRECTLY: AccessRule(
        _read("consumerGroup"),
        unprotected_by_apache=True,
        offset_of_message=_consumed_directly,
        of_message=_taken_by("consumerGroup"),
    ),
    RequestCode.UPDATE_CONSUMER_OFFSET: AccessRule(_read("consumerGroup", "topic")),
    RequestCode.QUERY_CONSUMER_OFFSET: _forgotten(_read("consumerGroup", "topic")),
    RequestCode.GET_CONSUME_STATS: _forgotten(_progress),
    RequestCode.INVOKE_BROKER_TO_RESET_OFFSET: _forgotten(_read("group", "topic")),
    RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS: _forgotten(_read("group", "topic")),
    RequestCode.QUERY_CONSUME_TIME_SPAN: _forgotten(_read("group", "topic")),
    RequestCode.GET_ROUTEINFO_BY_TOPIC: AccessRule(_by_fields(of_route)),
    RequestCode.UNREGISTER_CLIENT: AccessRule(_read("consumerGroup")),
    RequestCode.GET_CONSUMER_LIST_BY_GROUP: AccessRule(_read("consumerGroup")),
    RequestCode.GET_CONSUMER_CONNECTION_LIST: _forgotten(_read("consumerGroup")),
    RequestCode.GET_CONSUMER_RUNNING_INFO: _forgotten(_read("consumerGroup")),
    RequestCode.GET_PRODUCER_CONNECTION_LIST: _forgotten(_read("producerGroup")),
    RequestCode.HEART_BEAT: AccessRule(_by_body(of_heartbeat)),
    RequestCode.LOCK_BATCH_MQ: _forgotten(_by_body(of_locks)),
    RequestCode.UNLOCK_BATCH_MQ: _forgotten(_by_body(of_locks)),
    RequestCode.QUERY_ASSIGNMENT: AccessRule(_by_body(of_assignment)),
    RequestCode.BATCH_ACK_MESSAGE: AccessRule(_by_body(of_acks)),
    **dict.fromkeys(_OF_POP, AccessRule(_by_fields(of_pop))),
    **dict.fromkeys(_OF_QUEUES, _forgotten(_topic(PUB | SUB))),
    RequestCode.VIEW_BROKER_STATS_DATA: _forgotten(_by_fields(of_statistics)),
}
"""What is decided about each code; of one that is not here nothing is decided."""
_UNDECIDED: Final = AccessRule()
ADMIN_CODES: Final = frozenset(int(code) for code, decision in ACCESS_RULES.items() if decision.admin)
"""Codes only for accounts with `admin: true`."""
CODES_UNPROTECTED_BY_APACHE: Final = frozenset(
    int(code) for code, decision in ACCESS_RULES.items() if decision.unprotected_by_apache
)
"""Requests that 4.9.7 leaves unprotected; administrators may send them, whatever their permissions."""

CODES_OF_STORED_MESSAGES: Final = frozenset(
    int(code) for code, decision in ACCESS_RULES.items() if decision.offset_of_message is not None
)
"""Requests that name a message by its physical offset."""


def needed_permissions(
    code: int, ext: Mapping[str, str], body: memoryview, *, reply_topic: str | None = None
) -> NeededPermissions:
    """The permissions that a request needs for the topics and groups that it names.

    Args:
        code: The request's code.
        ext: Its header's fields.
        body: Its body.
        reply_topic: The topic of replies: every receiver of a request may answer it.

    Raises:
        BodyInvalid: a heartbeat, the locks of a group, or a query of a client's queues cannot be parsed.
        LimitExceeded: the body of one of the latter two is too long.
    """
    return ACCESS_RULES.get(code, _UNDECIDED).needed(ext, body, reply_topic)


def message_offset(code: int, ext: dict[str, str]) -> int | None:
    """The physical offset of the message that a request names; None: it names none so.

    Raises:
        HeaderFieldMissing, HeaderFieldInvalid, MessageIdInvalid: the offset is invalid.
    """
    place = ACCESS_RULES.get(code, _UNDECIDED).offset_of_message
    return None if place is None else place(ext)


def permissions_for_message(code: int, ext: Mapping[str, str], topic: str) -> NeededPermissions:
    """The permissions that a request needs for the topic of the message that it names by its physical offset."""
    return ACCESS_RULES.get(code, _UNDECIDED).of_message(topic, ext)
