"""The statuses of responses: for errors of the broker, and for the response codes of its replies."""

from __future__ import annotations

import logging
from typing import Final

from rocketwire.server.core.errors import MessageTypeWrong, ServerError, response_code
from rocketwire.server.core.guard_errors import AccessRefused, CallTooLarge, LimitExceeded
from rocketwire.server.core.request import Reply
from rocketwire.store.errors import StoreError
from rocketwire.wire.errors import PopHandleInvalid, WireError
from rocketwire.wire.facts.codes import ResponseCode
from rocketwire.wire.grpc.answers import make_status
from rocketwire.wire.grpc.codes import CallInvalid, Code, code_of_response
from rocketwire.wire.grpc.definition_pb2 import Status

log = logging.getLogger(__name__)

_OF_ERRORS: Final[dict[type[Exception], Code]] = {
    AccessRefused: Code.UNAUTHORIZED,
    CallTooLarge: Code.PAYLOAD_TOO_LARGE,
    LimitExceeded: Code.TOO_MANY_REQUESTS,
    PopHandleInvalid: Code.INVALID_RECEIPT_HANDLE,
    MessageTypeWrong: Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE,
}
"""Those that the response code does not distinguish from others."""
_OF_RESPONSES: Final[dict[int, Code]] = {
    ResponseCode.ILLEGAL_OPERATION: Code.BAD_REQUEST,  # a handle of a recall; at Apache's INTERNAL_SERVER_ERROR
}


OK: Final = make_status(Code.OK)


def status_of_error(error: Exception) -> Status:
    """The status of a call that an error ended; an unforeseen one is logged."""
    if isinstance(error, CallInvalid):
        return make_status(error.code, str(error))
    if not isinstance(error, ServerError | StoreError | WireError):
        log.error("a call of a 5.x client", exc_info=error)
        return make_status(Code.INTERNAL_SERVER_ERROR, f"{type(error).__name__}: {error}")
    return make_status(_code(error, response_code(error)), str(error))


def code_of_reply(reply: Reply) -> Code:
    """The code for a reply."""
    return Code.OK if reply.code == ResponseCode.SUCCESS else _code(reply.error, reply.code)


def code_of_handle(reply: Reply) -> Code:
    """As `code_of_reply`, of a request about a handle: the message may not be in the queue any more."""
    return Code.INVALID_RECEIPT_HANDLE if reply.code == ResponseCode.NO_MESSAGE else code_of_reply(reply)


def status_of_reply(reply: Reply) -> Status:
    """The status for a reply."""
    code = code_of_reply(reply)
    return OK if code is Code.OK else make_status(code, reply.remark or "")


def _code(error: Exception | None, response: int) -> Code:
    if isinstance(error, CallInvalid):
        return error.code
    for cls in type(error).__mro__:
        if cls in _OF_ERRORS:
            return _OF_ERRORS[cls]
    return _OF_RESPONSES.get(response) or code_of_response(response)
