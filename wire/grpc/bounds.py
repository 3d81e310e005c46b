"""How large the request of each call may be: its bytes, and the fields and entries in it.

A few bytes on the wire become objects of some hundred bytes each, so these bounds are checked on the bytes, before
protobuf makes objects of them. Requests that official clients make do not reach them. A test compares the table with
the descriptors: a repeated field without a bound fails it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

_KIB: Final = 1024
_SERVICE: Final = "/apache.rocketmq.v2.MessagingService/"

OTHER_BYTES: Final = 64 * _KIB
"""The longest request of a method that is not offered."""


@dataclass(frozen=True, slots=True)
class RequestBound:
    """How large one message of a method's request may be.

    Attributes:
        bytes: Its length, without gRPC's prefix.
        fields: How many fields it may have, those of the messages in it included, and unknown ones too.
    """

    bytes: int
    fields: int = 1024


_SMALL: Final = RequestBound(64 * _KIB)
_QUESTION: Final = RequestBound(4 * _KIB, 64)

REQUESTS: Final[Mapping[str, RequestBound]] = MappingProxyType(
    {
        f"{_SERVICE}QueryRoute": _SMALL,
        f"{_SERVICE}Heartbeat": _SMALL,
        f"{_SERVICE}SendMessage": RequestBound(1024 * _KIB, 32_768),  # and the largest body: see `request_bytes`
        f"{_SERVICE}QueryAssignment": _SMALL,
        f"{_SERVICE}ReceiveMessage": RequestBound(256 * _KIB),
        f"{_SERVICE}AckMessage": RequestBound(512 * _KIB, 8192),
        f"{_SERVICE}ForwardMessageToDeadLetterQueue": _SMALL,
        f"{_SERVICE}PullMessage": _SMALL,
        f"{_SERVICE}UpdateOffset": _SMALL,
        f"{_SERVICE}GetOffset": _SMALL,
        f"{_SERVICE}QueryOffset": _SMALL,
        f"{_SERVICE}EndTransaction": _SMALL,
        f"{_SERVICE}Telemetry": RequestBound(1024 * _KIB, 8192),  # a thread dump may be long
        f"{_SERVICE}NotifyClientTermination": _SMALL,
        f"{_SERVICE}ChangeInvisibleDuration": _SMALL,
        f"{_SERVICE}RecallMessage": _SMALL,
        f"{_SERVICE}SyncLiteSubscription": RequestBound(256 * _KIB, 2048),
        "/grpc.health.v1.Health/Check": _QUESTION,
        "/grpc.health.v1.Health/List": _QUESTION,
        "/grpc.health.v1.Health/Watch": _QUESTION,
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo": _QUESTION,
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": _QUESTION,
    }
)
"""By path; each message of a stream is bounded for itself."""

ENTRIES: Final[Mapping[str, int]] = MappingProxyType(
    {
        "apache.rocketmq.v2.AckMessageRequest.entries": 1024,
        "apache.rocketmq.v2.CustomizedBackoff.next": 128,
        "apache.rocketmq.v2.Endpoints.addresses": 128,
        "apache.rocketmq.v2.Message.user_properties": 1024,  # more than 128 are refused with another code
        "apache.rocketmq.v2.MessageQueue.accept_message_types": 64,
        "apache.rocketmq.v2.Publishing.topics": 2048,  # more than 1,024 are refused as groups of a heartbeat
        "apache.rocketmq.v2.SendMessageRequest.messages": 1024,
        "apache.rocketmq.v2.Subscription.subscriptions": 1024,
        "apache.rocketmq.v2.SyncLiteSubscriptionRequest.lite_topic_set": 1024,
        "apache.rocketmq.v2.SystemProperties.keys": 16 * _KIB,  # the same number as the bytes that properties may have
    }
)
"""How many entries a repeated field may have in one message, by the field's full name."""


def request_bytes(body_bytes: int) -> dict[str, int]:
    """The longest request of each method, by path, where messages may have bodies of `body_bytes`."""
    found = {path: bound.bytes for path, bound in REQUESTS.items()}
    found[f"{_SERVICE}SendMessage"] += body_bytes
    return found
