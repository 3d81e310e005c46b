"""The codes of answers: RocketMQ's own in a response's status, and gRPC's at the end of a call.

They need no protobuf. A test compares `Code` with the one in `definition.proto`.
"""

from __future__ import annotations

from enum import IntEnum, unique
from typing import Final

from rocketwire.wire.errors import WireError
from rocketwire.wire.facts.codes import ResponseCode


@unique
class Code(IntEnum):
    """The outcome of a call, or of an entry in it; gRPC itself reports success nevertheless."""

    CODE_UNSPECIFIED = 0
    OK = 20000
    MULTIPLE_RESULTS = 30000
    BAD_REQUEST = 40000
    ILLEGAL_ACCESS_POINT = 40001
    ILLEGAL_TOPIC = 40002
    ILLEGAL_CONSUMER_GROUP = 40003
    ILLEGAL_MESSAGE_TAG = 40004
    ILLEGAL_MESSAGE_KEY = 40005
    ILLEGAL_MESSAGE_GROUP = 40006
    ILLEGAL_MESSAGE_PROPERTY_KEY = 40007
    INVALID_TRANSACTION_ID = 40008
    ILLEGAL_MESSAGE_ID = 40009
    ILLEGAL_FILTER_EXPRESSION = 40010
    ILLEGAL_INVISIBLE_TIME = 40011
    ILLEGAL_DELIVERY_TIME = 40012
    INVALID_RECEIPT_HANDLE = 40013
    MESSAGE_PROPERTY_CONFLICT_WITH_TYPE = 40014
    UNRECOGNIZED_CLIENT_TYPE = 40015
    MESSAGE_CORRUPTED = 40016
    CLIENT_ID_REQUIRED = 40017
    ILLEGAL_POLLING_TIME = 40018
    ILLEGAL_OFFSET = 40019
    ILLEGAL_LITE_TOPIC = 40020
    UNAUTHORIZED = 40100
    PAYMENT_REQUIRED = 40200
    FORBIDDEN = 40300
    NOT_FOUND = 40400
    MESSAGE_NOT_FOUND = 40401
    TOPIC_NOT_FOUND = 40402
    CONSUMER_GROUP_NOT_FOUND = 40403
    OFFSET_NOT_FOUND = 40404
    REQUEST_TIMEOUT = 40800
    PAYLOAD_TOO_LARGE = 41300
    MESSAGE_BODY_TOO_LARGE = 41301
    MESSAGE_BODY_EMPTY = 41302
    PRECONDITION_FAILED = 42800
    TOO_MANY_REQUESTS = 42900
    LITE_TOPIC_QUOTA_EXCEEDED = 42901
    LITE_SUBSCRIPTION_QUOTA_EXCEEDED = 42902
    REQUEST_HEADER_FIELDS_TOO_LARGE = 43100
    MESSAGE_PROPERTIES_TOO_LARGE = 43101
    INTERNAL_ERROR = 50000
    INTERNAL_SERVER_ERROR = 50001
    HA_NOT_AVAILABLE = 50002
    NOT_IMPLEMENTED = 50100
    PROXY_TIMEOUT = 50400
    MASTER_PERSISTENCE_TIMEOUT = 50401
    SLAVE_PERSISTENCE_TIMEOUT = 50402
    UNSUPPORTED = 50500
    VERSION_UNSUPPORTED = 50501
    VERIFY_FIFO_MESSAGE_UNSUPPORTED = 50502
    FAILED_TO_CONSUME_MESSAGE = 60000


@unique
class GrpcStatus(IntEnum):
    """The outcome of a call in gRPC: the trailer `grpc-status`."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


_OF_POP_FULL: Final = 209  # POLLING_FULL in the answer to a pop; elsewhere the number has another meaning
_OF_POP_TIMEOUT: Final = 210  # POLLING_TIMEOUT

_OF_RESPONSES: Final[dict[int, Code]] = {
    ResponseCode.SUCCESS: Code.OK,
    ResponseCode.SYSTEM_BUSY: Code.TOO_MANY_REQUESTS,
    ResponseCode.REQUEST_CODE_NOT_SUPPORTED: Code.NOT_IMPLEMENTED,
    ResponseCode.FLUSH_DISK_TIMEOUT: Code.MASTER_PERSISTENCE_TIMEOUT,
    ResponseCode.SLAVE_NOT_AVAILABLE: Code.HA_NOT_AVAILABLE,
    ResponseCode.FLUSH_SLAVE_TIMEOUT: Code.SLAVE_PERSISTENCE_TIMEOUT,
    ResponseCode.MESSAGE_ILLEGAL: Code.BAD_REQUEST,
    ResponseCode.NO_PERMISSION: Code.FORBIDDEN,
    ResponseCode.TOPIC_NOT_EXIST: Code.TOPIC_NOT_FOUND,
    ResponseCode.PULL_NOT_FOUND: Code.MESSAGE_NOT_FOUND,
    ResponseCode.QUERY_NOT_FOUND: Code.MESSAGE_NOT_FOUND,
    ResponseCode.SUBSCRIPTION_PARSE_FAILED: Code.ILLEGAL_FILTER_EXPRESSION,
    ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST: Code.CONSUMER_GROUP_NOT_FOUND,
    ResponseCode.INVALID_PARAMETER: Code.BAD_REQUEST,
    _OF_POP_FULL: Code.TOO_MANY_REQUESTS,
    _OF_POP_TIMEOUT: Code.MESSAGE_NOT_FOUND,
    ResponseCode.FLOW_CONTROL: Code.TOO_MANY_REQUESTS,
}


def code_of_response(response: int) -> Code:
    """The code that corresponds to a remoting response code; `INTERNAL_SERVER_ERROR` for those without one.

    Apache's proxy gives `INTERNAL_SERVER_ERROR` also for a message, a filter or a parameter that is wrong.
    """
    return _OF_RESPONSES.get(response, Code.INTERNAL_SERVER_ERROR)


def joint_code(codes: set[Code]) -> Code:
    """The code above several entries: theirs if they have the same, else `MULTIPLE_RESULTS`.

    An answer without entries is `INTERNAL_SERVER_ERROR`, as at Apache's.
    """
    if not codes:
        return Code.INTERNAL_SERVER_ERROR
    return next(iter(codes)) if len(codes) == 1 else Code.MULTIPLE_RESULTS


def stream_status(code: Code) -> GrpcStatus:
    """With which gRPC status a telemetry stream ends after an error; all other calls end with `OK`."""
    return GrpcStatus.INVALID_ARGUMENT if Code.BAD_REQUEST <= code < Code.INTERNAL_ERROR else GrpcStatus.INTERNAL


class CallInvalid(WireError):
    """A call, or an entry of one, that breaks the protocol.

    Attributes:
        code: The code of the answer; the text is its message.
    """

    def __init__(self, code: Code, text: str) -> None:
        """Take both."""
        super().__init__(text)
        self.code = code
