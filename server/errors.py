"""What can go wrong in serving a request, and the one table from error to response code.

The remarks are the texts a 4.9.7 broker or name server sends: clients and people look for them.
"""

from __future__ import annotations

from rocketwire.store.errors import RecordTooLarge, StoreError, TopicUnusable
from rocketwire.wire.codes import ResponseCode
from rocketwire.wire.errors import (
    BatchInvalid,
    BodyInvalid,
    CompressionUnknown,
    HeaderFieldInvalid,
    HeaderFieldMissing,
    RecallHandleInvalid,
    WireError,
)

FAQ = "\nSee http://rocketmq.apache.org/docs/faq/ for further details."


class ServerError(Exception):
    """A request that is refused; the text is the remark of the answer."""


class RequestUnsupported(ServerError):
    """Nobody serves this request code."""

    def __init__(self, code: int) -> None:
        super().__init__(f" request type {code} not supported")


class NameInvalid(ServerError):
    """A topic or group name breaks the naming rules."""


class TopicNotFound(ServerError):
    """The topic does not exist on the broker and may not be created."""

    def __init__(self, topic: str, *, gap: str = "") -> None:
        super().__init__(f"topic[{topic}] not exist, apply first please!{gap}{FAQ}")


class TopicUnknown(ServerError):
    """A topic that an administrator asks about does not exist on the broker."""

    def __init__(self, topic: str) -> None:
        super().__init__(f"topic[{topic}] not exist")


class RouteNotFound(ServerError):
    """No broker serves the topic."""

    def __init__(self, topic: str) -> None:
        super().__init__(f"No topic route info in name server for the topic: {topic}{FAQ}")


class QueueIllegal(ServerError):
    """A queue number the topic does not have."""


class QueuesTooMany(ServerError):
    """More queues than a topic may be made with, or than one answer can tell of."""

    def __init__(self, whose: str, queues: int, most: int) -> None:
        super().__init__(f"{whose} has {queues} queues, {most} are the most")


class NotPermitted(ServerError):
    """The permissions of broker, topic or group do not allow the request."""


class MessageIllegal(ServerError):
    """A message the store does not take: too large, or malformed."""


class TimerDisabled(ServerError):
    """A message for a set time, which the configuration does not allow."""

    def __init__(self) -> None:
        super().__init__("accurate timer message is not enabled, timerWheelEnable is false")


class RecallRefused(ServerError):
    """A message that cannot be cancelled by what a producer says of it."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"recall failed, {reason}")


class RecallTopicUnknown(RecallRefused):
    """A message that is to be cancelled, of a topic that does not exist on the broker."""

    def __init__(self, topic: str) -> None:
        super().__init__(f"the topic[{topic}] not exist")


class RecallForbidden(RecallRefused):
    """Messages cannot be cancelled by request here."""

    def __init__(self) -> None:
        super().__init__("operation is forbidden")


class RecallFailed(RecallRefused):
    """What cancels a message could not be stored."""

    def __init__(self) -> None:
        super().__init__("execute error")


class MessageTypeWrong(ServerError):
    """A message of another type than its topic takes."""

    def __init__(self, topic: str, accepted: str, found: str) -> None:
        super().__init__(
            "current message type does not match with topic accept message types: "
            f"topic[{topic}] accepts {accepted}, the message is {found}"
        )


class AttributeRejected(ServerError):
    """A change of a topic's attributes that cannot be made."""


class GroupNotFound(ServerError):
    """The subscription group does not exist and may not be created."""

    def __init__(self, group: str) -> None:
        super().__init__(f"subscription group [{group}] does not exist, {FAQ}")


class RetryGroupNotFound(ServerError):
    """The group of a message to be tried again does not exist and may not be created."""

    def __init__(self, group: str) -> None:
        super().__init__(f"subscription group not exist, {group} {FAQ}")


class SubscriptionNotFound(ServerError):
    """The broker knows no such consumer group or subscription: its heartbeat is missing."""


class SubscriptionNotLatest(ServerError):
    """The consumer's subscription is newer than the one its last heartbeat brought."""

    def __init__(self) -> None:
        super().__init__("the consumer's subscription not latest")


class SubscriptionInvalid(ServerError):
    """A filter expression that cannot be parsed."""


class FilterDataMissing(ServerError):
    """The group's SQL filter is not there: its expression could not be parsed."""

    def __init__(self) -> None:
        super().__init__("The broker's consumer filter data is not exist!Your expression may be wrong!")


class FilterDataNotLatest(ServerError):
    """The group's SQL filter is older than the consumer's subscription."""

    def __init__(self) -> None:
        super().__init__("the consumer's consumer filter data not latest")


class FilterTypeUnsupported(ServerError):
    """An expression type this broker does not evaluate."""

    def __init__(self, expression_type: str) -> None:
        super().__init__(f"The broker does not support consumer to filter message by {expression_type}")


class NotFound(ServerError):
    """A query without a result."""


class ServiceUnavailable(ServerError):
    """The store takes no writes."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            "service not available now. It may be caused by one of the following reasons: the broker's disk is full "
            f"[{reason}], messages are put to the slave, message store has been shut down, etc."
        )


class SystemBusy(ServerError):
    """A send that waited behind an append that took too long."""

    def __init__(self, milliseconds: int, waiting: int) -> None:
        super().__init__(
            "[PCBUSY_CLEAN_QUEUE]broker busy, start flow control for a while, "
            f"period in queue: {milliseconds}ms, size of queue: {waiting}"
        )


class TransactionNotFound(ServerError):
    """No half message is where a producer says that its one is."""

    def __init__(self) -> None:
        super().__init__("Find prepared transaction message failed")


class TransactionWrong(ServerError):
    """A half message is not the one that a producer means."""


class BodyRejected(ServerError):
    """A request body that does not fit its header, or is missing."""


class ConfigRejected(ServerError):
    """A configuration change that names a bad value."""


class ConsumerGroupOffline(ServerError):
    """Nobody of a consumer group is on line."""

    def __init__(self, group: str) -> None:
        super().__init__(f"the consumer group[{group}] not online")


class ProducerGroupOffline(ServerError):
    """Nobody of a producer group is on line."""

    def __init__(self, group: str) -> None:
        super().__init__(f"the producer group[{group}] not exist")


class GroupEmpty(ServerError):
    """Nobody of a consumer group is on line to be asked for offsets."""

    def __init__(self, group: str) -> None:
        super().__init__(f"No Any Consumer online in the consumer group: [{group}]")


class ClientNotOnline(ServerError):
    """A consumer group has no member with the client id."""

    def __init__(self, group: str, client_id: str) -> None:
        super().__init__(f"The Consumer <{group}> <{client_id}> not online")


class ClientTooOld(ServerError):
    """A client that cannot answer the broker's questions."""

    def __init__(self, client_id: str, version: str) -> None:
        super().__init__(
            f"The Consumer <{client_id}> Version <{version}> too low to finish, please upgrade it to V3_1_8_SNAPSHOT"
        )


class ClientOutdated(ServerError):
    """A client of a group that cannot be reset or asked for its offsets."""

    def __init__(self, version: str) -> None:
        super().__init__(f"the client does not support this feature. version={version}")


class ClientSilent(ServerError):
    """A client did not answer a question that was handed on to it, in time or at all."""

    def __init__(self, group: str, client_id: str, address: str, seconds: float) -> None:
        super().__init__(
            f"consumer <{group}> <{client_id}> Timeout: wait response on the channel <{address}> timeout, "
            f"{seconds * 1000:.0f}(ms)"
        )


class ClientBusy(ServerError):
    """A client is not asked: it does not read, too much that it was asked waits, or it has just left."""

    def __init__(self, group: str, client_id: str, address: str) -> None:
        super().__init__(f"invoke consumer <{group}> <{client_id}> Exception: the channel <{address}> takes no request")


class ResetTopicMissing(ServerError):
    """Offsets of a topic that the broker does not have cannot be reset."""

    def __init__(self, topic: str) -> None:
        super().__init__(f"[reset-offset] reset offset failed, no topic in this broker. topic={topic}")


class GroupWithoutOffsets(ServerError):
    """A group to reset has committed no offset of some queue."""

    def __init__(self, group: str) -> None:
        super().__init__(f"THe consumer group <{group}> not exist")


class OffsetOutOfRange(ServerError):
    """An offset to go on with that is not in its queue."""

    def __init__(self, offset: int, low: int, high: int) -> None:
        super().__init__(f"Target offset {offset} not in consume queue range [{low}-{high}]")


class ResetGroupOffline(ServerError):
    """Nobody of a group to reset is on line; whoever asks commits the offsets itself."""

    def __init__(self, group: str, topic: str, timestamp: int) -> None:
        super().__init__(
            f"Consumer not online, so can not reset offset, Group: {group} Topic: {topic} Timestamp: {timestamp}"
        )


RESPONSE_CODES: dict[type[Exception], ResponseCode] = {
    RequestUnsupported: ResponseCode.REQUEST_CODE_NOT_SUPPORTED,
    NameInvalid: ResponseCode.SYSTEM_ERROR,
    TopicNotFound: ResponseCode.TOPIC_NOT_EXIST,
    TopicUnknown: ResponseCode.TOPIC_NOT_EXIST,
    RouteNotFound: ResponseCode.TOPIC_NOT_EXIST,
    QueueIllegal: ResponseCode.SYSTEM_ERROR,
    QueuesTooMany: ResponseCode.SYSTEM_ERROR,
    NotPermitted: ResponseCode.NO_PERMISSION,
    MessageIllegal: ResponseCode.MESSAGE_ILLEGAL,
    TimerDisabled: ResponseCode.SYSTEM_ERROR,
    RecallRefused: ResponseCode.ILLEGAL_OPERATION,
    RecallTopicUnknown: ResponseCode.TOPIC_NOT_EXIST,
    RecallForbidden: ResponseCode.NO_PERMISSION,
    RecallFailed: ResponseCode.SYSTEM_ERROR,
    RecallHandleInvalid: ResponseCode.ILLEGAL_OPERATION,
    MessageTypeWrong: ResponseCode.MESSAGE_ILLEGAL,
    AttributeRejected: ResponseCode.SYSTEM_ERROR,
    GroupNotFound: ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
    RetryGroupNotFound: ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
    SubscriptionNotFound: ResponseCode.SUBSCRIPTION_NOT_EXIST,
    SubscriptionNotLatest: ResponseCode.SUBSCRIPTION_NOT_LATEST,
    SubscriptionInvalid: ResponseCode.SUBSCRIPTION_PARSE_FAILED,
    FilterDataMissing: ResponseCode.FILTER_DATA_NOT_EXIST,
    FilterDataNotLatest: ResponseCode.FILTER_DATA_NOT_LATEST,
    FilterTypeUnsupported: ResponseCode.SYSTEM_ERROR,
    NotFound: ResponseCode.QUERY_NOT_FOUND,
    ServiceUnavailable: ResponseCode.SERVICE_NOT_AVAILABLE,
    SystemBusy: ResponseCode.SYSTEM_BUSY,
    TransactionNotFound: ResponseCode.SYSTEM_ERROR,
    TransactionWrong: ResponseCode.SYSTEM_ERROR,
    BodyRejected: ResponseCode.SYSTEM_ERROR,
    ConfigRejected: ResponseCode.SYSTEM_ERROR,
    ConsumerGroupOffline: ResponseCode.CONSUMER_NOT_ONLINE,
    ResetGroupOffline: ResponseCode.CONSUMER_NOT_ONLINE,
    ClientSilent: ResponseCode.CONSUME_MSG_TIMEOUT,
    ProducerGroupOffline: ResponseCode.SYSTEM_ERROR,
    GroupEmpty: ResponseCode.SYSTEM_ERROR,
    ClientNotOnline: ResponseCode.SYSTEM_ERROR,
    ClientBusy: ResponseCode.SYSTEM_ERROR,
    ClientTooOld: ResponseCode.SYSTEM_ERROR,
    ClientOutdated: ResponseCode.SYSTEM_ERROR,
    ResetTopicMissing: ResponseCode.SYSTEM_ERROR,
    GroupWithoutOffsets: ResponseCode.SYSTEM_ERROR,
    OffsetOutOfRange: ResponseCode.SYSTEM_ERROR,
    HeaderFieldMissing: ResponseCode.SYSTEM_ERROR,
    HeaderFieldInvalid: ResponseCode.SYSTEM_ERROR,
    BodyInvalid: ResponseCode.SYSTEM_ERROR,
    BatchInvalid: ResponseCode.MESSAGE_ILLEGAL,
    CompressionUnknown: ResponseCode.MESSAGE_ILLEGAL,
    WireError: ResponseCode.SYSTEM_ERROR,
    RecordTooLarge: ResponseCode.MESSAGE_ILLEGAL,
    TopicUnusable: ResponseCode.MESSAGE_ILLEGAL,
    StoreError: ResponseCode.SYSTEM_ERROR,
}


def response_code(error: Exception) -> ResponseCode:
    """The code that answers `error`; anything unforeseen is a SYSTEM_ERROR."""
    for cls in type(error).__mro__:
        if cls in RESPONSE_CODES:
            return RESPONSE_CODES[cls]
    return ResponseCode.SYSTEM_ERROR
