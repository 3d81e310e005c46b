"""Parts that many answers have: their status, and the frame of a ReceiveMessage stream."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from rocketwire.wire.grpc import definition_pb2, service_pb2
from rocketwire.wire.grpc.codes import Code, joint_code
from rocketwire.wire.grpc.numbers import number
from rocketwire.wire.grpc.times import put_timestamp, written_timestamp

_TIMES_KEPT: Final = 64
"""Payloads are kept for so many times: receives of one read are of the same."""
# A field begins with its number and, in the lower three bits, the form of its value.
_ENTRIES: Final = b"\x12"  # of SendMessageResponse
_DELIVERED: Final = b"\x1a"  # of ReceiveMessageResponse
_MESSAGE_ID, _OFFSET, _RECALL_HANDLE = b"\x12", b"\x20", b"\x2a"  # of SendResultEntry


def status_of(code: Code, text: str = "") -> definition_pb2.Status:
    """A status; without a text it has the code's name, as at Apache's."""
    status = definition_pb2.Status(message=text or code.name)
    status.code = code  # type: ignore[assignment]  # an enum's value is its number
    return status


_STATUS_OK: Final = service_pb2.SendMessageResponse(status=status_of(Code.OK)).SerializeToString()
"""The field 1 of answers and of their entries."""


def joint_status(codes: Iterable[Code]) -> definition_pb2.Status:
    """The status above several entries."""
    return status_of(joint_code(set(codes)))


def status_response(code: Code, text: str = "") -> service_pb2.ReceiveMessageResponse:
    """What a ReceiveMessage stream begins with."""
    return service_pb2.ReceiveMessageResponse(status=status_of(code, text))


def message_response(message: definition_pb2.Message) -> service_pb2.ReceiveMessageResponse:
    """A message in the stream."""
    return service_pb2.ReceiveMessageResponse(message=message)


def delivered_response(now: int) -> service_pb2.ReceiveMessageResponse:
    """What the stream ends with: when the messages were delivered, in ms since 1970."""
    response = service_pb2.ReceiveMessageResponse()
    put_timestamp(response.delivery_timestamp, now)
    return response


@lru_cache(maxsize=_TIMES_KEPT)
def last_payload(now: int) -> bytes:
    """The payload of that response, without protobuf."""
    return _DELIVERED + written_timestamp(now)


def sent_payload(message_id: str, offset: int, recall_handle: str = "") -> bytes:
    """The payload of the `SendMessageResponse` for one message that is stored, without protobuf.

    Args:
        message_id: Its unique key.
        offset: Its place in its queue, not negative.
        recall_handle: With what it can be cancelled; empty: it cannot.
    """
    text, handle = message_id.encode(), recall_handle.encode()
    entry = b"".join(
        (
            _STATUS_OK,
            _MESSAGE_ID,
            number(len(text)),
            text,
            _OFFSET + number(offset) if offset else b"",
            _RECALL_HANDLE + number(len(handle)) + handle if handle else b"",
        )
    )
    return b"".join((_STATUS_OK, _ENTRIES, number(len(entry)), entry))
