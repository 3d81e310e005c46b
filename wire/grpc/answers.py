"""Parts that many answers have: their status, and the frame of a ReceiveMessage stream."""

from __future__ import annotations

from collections.abc import Iterable

from rocketwire.wire.grpc import definition_pb2, service_pb2
from rocketwire.wire.grpc.codes import Code, joint_code
from rocketwire.wire.grpc.times import put_timestamp


def make_status(code: Code, text: str = "") -> definition_pb2.Status:
    """A status; without a text it has the code's name, as at Apache's."""
    status = definition_pb2.Status(message=text or code.name)
    status.code = code  # type: ignore[assignment]  # an enum's value is its number
    return status


def joint_status(codes: Iterable[Code]) -> definition_pb2.Status:
    """The status above several entries."""
    return make_status(joint_code(set(codes)))


def status_response(code: Code, text: str = "") -> service_pb2.ReceiveMessageResponse:
    """What a ReceiveMessage stream begins with."""
    return service_pb2.ReceiveMessageResponse(status=make_status(code, text))


def message_response(message: definition_pb2.Message) -> service_pb2.ReceiveMessageResponse:
    """A message in the stream."""
    return service_pb2.ReceiveMessageResponse(message=message)


def delivered_response(now: int) -> service_pb2.ReceiveMessageResponse:
    """What the stream ends with: when the messages were delivered, in ms since 1970."""
    response = service_pb2.ReceiveMessageResponse()
    put_timestamp(response.delivery_timestamp, now)
    return response
