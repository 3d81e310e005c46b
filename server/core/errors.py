"""The errors of serving a request, and the one table from error to response code.

The remarks are the texts of a 4.9.7 broker or name server: clients and people search for them.
"""

from __future__ import annotations

from rocketwire.server.core.client_errors import (
    ClientBusy,
    ClientNotOnline,
    ClientOutdated,
    ClientSilent,
    ClientTooOld,
    ConsumerGroupOffline,
    DeliveryOver,
    GroupEmpty,
    GroupWithoutOffsets,
    NotInQueue,
    OffsetOutOfRange,
    ParameterInvalid,
    PopDisabled,
    ProducerGroupOffline,
    ResetGroupOffline,
    ResetTopicMissing,
)
from rocketwire.server.core.guard_errors import (
    AccessOpen,
    AccessRefused,
    AccountNotDeleted,
    AccountNotUpdated,
    AddressesNotUpdated,
    FrameRefused,
    LimitExceeded,
    NotThroughProxy,
    OnlyRead,
    QuotaExceeded,
)
from rocketwire.server.core.server_error import ServerError as ServerError  # noqa: PLC0414 - re-exported: one import for all errors
from rocketwire.store.errors import DraftRefused, StoreError, StoreGone, StoreLocked
from rocketwire.wire.errors import (
    BatchInvalid,
    BodyInvalid,
    CompressionUnknown,
    HeaderFieldInvalid,
    HeaderFieldMissing,
    RecallHandleInvalid,
    WireError,
)
from rocketwire.wire.facts.codes import ResponseCode

FAQ = "\nSee http://rocketmq.apache.org/docs/faq/ for further details."


class RequestUnsupported(ServerError):
    """No handler serves this request code."""

    def __init__(self, code: int) -> None:
        super().__init__(f" request type {code} not supported")


class NameInvalid(ServerError):
    """A topic or group name breaks the naming rules."""


class TopicNotFound(ServerError):
    """The topic does not exist on the broker and may not be created."""

    def __init__(self, topic: str, *, gap: str = "") -> None:
        super().__init__(f"topic[{topic}] not exist, apply first please!{gap}{FAQ}")


class TopicBeingDeleted(ServerError):
    """A topic that is being deleted cannot be created yet; clients try again after this code."""

    def __init__(self, topic: str) -> None:
        super().__init__(f"topic[{topic}] is being deleted")


class TopicNotOnBroker(ServerError):
    """A topic that an administrator names does not exist on the broker."""

    def __init__(self, topic: str) -> None:
        super().__init__(f"topic[{topic}] not exist")


class RouteNotFound(ServerError):
    """No broker serves the topic."""

    def __init__(self, topic: str) -> None:
        super().__init__(f"No topic route info in name server for the topic: {topic}{FAQ}")


class QueueIllegal(ServerError):
    """A queue number the topic does not have."""


class QueuesTooMany(ServerError):
    """More queues than a topic may have, or than one answer can hold."""

    def __init__(self, whose: str, queues: int, most: int) -> None:
        super().__init__(f"{whose} has {queues} queues, {most} are the most")


class NotPermitted(ServerError):
    """The permissions of broker, topic or group do not allow the request."""


class MessageIllegal(ServerError):
    """A message the store does not take: too large, or malformed."""


class PropertyHoldsNul(MessageIllegal):
    """A property contains NUL, which recovery could not distinguish from a lost page: properties have no checksum."""

    def __init__(self) -> None:
        super().__init__("the message is illegal: a property holds a NUL character (\\u0000)")


class TimerDisabled(ServerError):
    """A message for a set time, which the configuration does not allow."""

    def __init__(self) -> None:
        super().__init__("accurate timer message is not enabled, timerWheelEnable is false")


class RecallRefused(ServerError):
    """A message cannot be cancelled with the data that a producer sent."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"recall failed, {reason}")


class RecallTopicUnknown(RecallRefused):
    """The topic of a message to cancel does not exist on the broker."""

    def __init__(self, topic: str) -> None:
        super().__init__(f"the topic[{topic}] not exist")


class RecallForbidden(RecallRefused):
    """The configuration does not allow cancelling messages by request."""

    def __init__(self) -> None:
        super().__init__("operation is forbidden")


class RecallFailed(RecallRefused):
    """The record that cancels a message could not be stored."""

    def __init__(self) -> None:
        super().__init__("execute error")


class MessageTypeWrong(ServerError):
    """The message's type is not the one that its topic accepts."""

    def __init__(self, topic: str, accepted: str, found: str) -> None:
        super().__init__(
            "current message type does not match with topic accept message types: "
            f"topic[{topic}] accepts {accepted}, the message is {found}"
        )


class AttributeRejected(ServerError):
    """A change of a topic's attributes is not valid."""


class GroupNotFound(ServerError):
    """The subscription group does not exist and may not be created."""

    def __init__(self, group: str) -> None:
        super().__init__(f"subscription group [{group}] does not exist, {FAQ}")


class RetryGroupNotFound(ServerError):
    """The group of a message that is sent back for a retry does not exist and may not be created."""

    def __init__(self, group: str) -> None:
        super().__init__(f"subscription group not exist, {group} {FAQ}")


class SubscriptionNotFound(ServerError):
    """The broker knows no such consumer group or subscription: its heartbeat is missing."""


class SubscriptionNotLatest(ServerError):
    """The consumer's subscription is newer than the one its last heartbeat brought."""

    def __init__(self) -> None:
        super().__init__("the consumer's subscription not latest")


class FilterExpressionInvalid(ServerError):
    """A filter expression that cannot be parsed."""


class FilterDataMissing(ServerError):
    """The group has no SQL filter: its expression could not be parsed."""

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
    """The store takes no writes. The text about the disk is Apache's, the one about missing files is not."""

    def __init__(self, reason: StoreError | str | None) -> None:
        super().__init__(
            f"service not available now: {reason}"
            if isinstance(reason, StoreGone | StoreLocked)
            else "service not available now. It may be caused by one of the following reasons: the broker's disk is "
            f"full [{reason}], messages are put to the slave, message store has been shut down, etc."
        )


class SystemBusy(ServerError):
    """A send that waited behind an append that took too long."""

    def __init__(self, milliseconds: int, waiting: int) -> None:
        super().__init__(
            "[PCBUSY_CLEAN_QUEUE]broker busy, start flow control for a while, "
            f"period in queue: {milliseconds}ms, size of queue: {waiting}"
        )


class MessageNotFound(ServerError):
    """No record begins at the physical offset that a request names."""


class TransactionNotFound(ServerError):
    """There is no half message at the place that a producer names."""

    def __init__(self) -> None:
        super().__init__("Find prepared transaction message failed")


class CheckNotResumed(ServerError):
    """A half message cannot be put back behind its queue."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"Put message back to RMQ_SYS_TRANS_HALF_TOPIC failed: {reason}")


class TransactionWrong(ServerError):
    """The half message at the place that a producer names is another one."""


class BodyRejected(ServerError):
    """A request body that does not fit its header, or is missing."""


class StatisticsUnknown(ServerError):
    """An item of the statistics that nothing was counted for, or that is not kept."""

    def __init__(self, name: str, key: str) -> None:
        super().__init__(f"The stats <{name}> <{key}> not exist")


class ConfigRejected(ServerError):
    """A configuration change that names a bad value."""


RESPONSE_CODES: dict[type[Exception], ResponseCode] = {
    RequestUnsupported: ResponseCode.REQUEST_CODE_NOT_SUPPORTED,
    NameInvalid: ResponseCode.SYSTEM_ERROR,
    TopicNotFound: ResponseCode.TOPIC_NOT_EXIST,
    TopicBeingDeleted: ResponseCode.SERVICE_NOT_AVAILABLE,
    TopicNotOnBroker: ResponseCode.TOPIC_NOT_EXIST,
    RouteNotFound: ResponseCode.TOPIC_NOT_EXIST,
    QueueIllegal: ResponseCode.SYSTEM_ERROR,
    QueuesTooMany: ResponseCode.SYSTEM_ERROR,
    NotPermitted: ResponseCode.NO_PERMISSION,
    MessageIllegal: ResponseCode.MESSAGE_ILLEGAL,
    PropertyHoldsNul: ResponseCode.MESSAGE_ILLEGAL,
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
    FilterExpressionInvalid: ResponseCode.SUBSCRIPTION_PARSE_FAILED,
    FilterDataMissing: ResponseCode.FILTER_DATA_NOT_EXIST,
    FilterDataNotLatest: ResponseCode.FILTER_DATA_NOT_LATEST,
    FilterTypeUnsupported: ResponseCode.SYSTEM_ERROR,
    NotFound: ResponseCode.QUERY_NOT_FOUND,
    ServiceUnavailable: ResponseCode.SERVICE_NOT_AVAILABLE,
    SystemBusy: ResponseCode.SYSTEM_BUSY,
    FrameRefused: ResponseCode.MESSAGE_ILLEGAL,
    LimitExceeded: ResponseCode.SYSTEM_BUSY,
    AccessRefused: ResponseCode.SYSTEM_ERROR,
    NotThroughProxy: ResponseCode.SYSTEM_ERROR,
    OnlyRead: ResponseCode.NO_PERMISSION,
    QuotaExceeded: ResponseCode.FLOW_CONTROL,
    AccessOpen: ResponseCode.SYSTEM_ERROR,
    AccountNotUpdated: ResponseCode.UPDATE_AND_CREATE_ACL_CONFIG_FAILED,
    AccountNotDeleted: ResponseCode.DELETE_ACL_CONFIG_FAILED,
    AddressesNotUpdated: ResponseCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG_FAILED,
    MessageNotFound: ResponseCode.SYSTEM_ERROR,
    TransactionNotFound: ResponseCode.SYSTEM_ERROR,
    TransactionWrong: ResponseCode.SYSTEM_ERROR,
    CheckNotResumed: ResponseCode.SYSTEM_ERROR,
    BodyRejected: ResponseCode.SYSTEM_ERROR,
    StatisticsUnknown: ResponseCode.SYSTEM_ERROR,
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
    ParameterInvalid: ResponseCode.INVALID_PARAMETER,
    PopDisabled: ResponseCode.SYSTEM_ERROR,
    DeliveryOver: ResponseCode.NO_MESSAGE,
    NotInQueue: ResponseCode.NO_MESSAGE,
    HeaderFieldMissing: ResponseCode.SYSTEM_ERROR,
    HeaderFieldInvalid: ResponseCode.SYSTEM_ERROR,
    BodyInvalid: ResponseCode.SYSTEM_ERROR,
    BatchInvalid: ResponseCode.MESSAGE_ILLEGAL,
    CompressionUnknown: ResponseCode.MESSAGE_ILLEGAL,
    WireError: ResponseCode.SYSTEM_ERROR,
    DraftRefused: ResponseCode.MESSAGE_ILLEGAL,
    StoreGone: ResponseCode.SERVICE_NOT_AVAILABLE,
    StoreError: ResponseCode.SYSTEM_ERROR,
}


def response_code(error: Exception) -> ResponseCode:
    """The code that answers `error`; anything unforeseen is a SYSTEM_ERROR."""
    for cls in type(error).__mro__:
        if cls in RESPONSE_CODES:
            return RESPONSE_CODES[cls]
    return ResponseCode.SYSTEM_ERROR
