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


class RouteNotFound(ServerError):
    """No broker serves the topic."""

    def __init__(self, topic: str) -> None:
        super().__init__(f"No topic route info in name server for the topic: {topic}{FAQ}")


class QueueIllegal(ServerError):
    """A queue number the topic does not have."""


class NotPermitted(ServerError):
    """The permissions of broker, topic or group do not allow the request."""


class MessageIllegal(ServerError):
    """A message the store does not take: too large, or malformed."""


class GroupNotFound(ServerError):
    """The subscription group does not exist and may not be created."""

    def __init__(self, group: str) -> None:
        super().__init__(f"subscription group [{group}] does not exist, {FAQ}")


class SubscriptionNotFound(ServerError):
    """The broker knows no such consumer group or subscription: its heartbeat is missing."""


class SubscriptionNotLatest(ServerError):
    """The consumer's subscription is newer than the one its last heartbeat brought."""

    def __init__(self) -> None:
        super().__init__("the consumer's subscription not latest")


class SubscriptionInvalid(ServerError):
    """A filter expression that cannot be parsed."""


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


class BodyRejected(ServerError):
    """A request body that does not fit its header, or is missing."""


class ConfigRejected(ServerError):
    """A configuration change that names a bad value."""


RESPONSE_CODES: dict[type[Exception], ResponseCode] = {
    RequestUnsupported: ResponseCode.REQUEST_CODE_NOT_SUPPORTED,
    NameInvalid: ResponseCode.SYSTEM_ERROR,
    TopicNotFound: ResponseCode.TOPIC_NOT_EXIST,
    RouteNotFound: ResponseCode.TOPIC_NOT_EXIST,
    QueueIllegal: ResponseCode.SYSTEM_ERROR,
    NotPermitted: ResponseCode.NO_PERMISSION,
    MessageIllegal: ResponseCode.MESSAGE_ILLEGAL,
    GroupNotFound: ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
    SubscriptionNotFound: ResponseCode.SUBSCRIPTION_NOT_EXIST,
    SubscriptionNotLatest: ResponseCode.SUBSCRIPTION_NOT_LATEST,
    SubscriptionInvalid: ResponseCode.SUBSCRIPTION_PARSE_FAILED,
    FilterTypeUnsupported: ResponseCode.SYSTEM_ERROR,
    NotFound: ResponseCode.QUERY_NOT_FOUND,
    ServiceUnavailable: ResponseCode.SERVICE_NOT_AVAILABLE,
    SystemBusy: ResponseCode.SYSTEM_BUSY,
    BodyRejected: ResponseCode.SYSTEM_ERROR,
    ConfigRejected: ResponseCode.SYSTEM_ERROR,
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
