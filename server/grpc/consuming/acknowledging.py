"""Outcomes of delivered messages: AckMessage, ChangeInvisibleDuration, ForwardMessageToDeadLetterQueue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rocketwire.remoting.core.steps import Operation
from rocketwire.server.acl.resources import SUB
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.grpc.calls import Call, serve
from rocketwire.server.grpc.clients import GrpcClients
from rocketwire.server.grpc.consuming.batch_acks import BatchedAcks, acknowledge_all
from rocketwire.server.grpc.consuming.handles import DeliveryHandle, HeldDeliveries, ack_requests, dead_letter_request
from rocketwire.server.grpc.statuses import code_of_handle, code_of_reply, status_of_reply
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.grpc.answers import joint_status, make_status
from rocketwire.wire.grpc.checks import CallLimits, check_group, check_invisible_ms, check_topic
from rocketwire.wire.grpc.codes import CallInvalid, Code
from rocketwire.wire.grpc.service_pb2 import (
    AckMessageEntry,
    AckMessageRequest,
    AckMessageResponse,
    ChangeInvisibleDurationRequest,
    ChangeInvisibleDurationResponse,
    ForwardMessageToDeadLetterQueueRequest,
    ForwardMessageToDeadLetterQueueResponse,
)
from rocketwire.wire.grpc.times import duration_ms
from rocketwire.wire.headers.pop import ChangeInvisibleTimeResponseHeader
from rocketwire.wire.headers.route import CallRouteRequestHeader

_LIMITS: Final = CallLimits()
_ACKS_OF_STEP: Final = 128
"""So many deliveries are acknowledged before other connections come next, if these were many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcknowledgingServices:
    """The services of these calls."""

    clients: GrpcClients
    clock: Clock
    held: HeldDeliveries

    def forget(self, call: Call, text: str) -> None:
        """Forget that the client of a call holds a delivery."""
        client = self.clients.find(call.client_id, call.account)
        if client is not None:
            self.held.remove(client, text)


def acknowledge(
    services: AcknowledgingServices, call: Call, request: AckMessageRequest | BatchedAcks
) -> Operation[Any]:
    """Acknowledge messages, each with its own status."""
    if isinstance(request, BatchedAcks):
        answer = None if services.clock() >= request.until else (yield from acknowledge_all(call, request))
        if answer is not None:
            for text in request.renewed:
                services.forget(call, text)
            return answer
        request = AckMessageRequest.FromString(request.request)
    return (yield from _acknowledge_entries(services, call, request))


def _acknowledge_entries(services: AcknowledgingServices, call: Call, request: AckMessageRequest) -> Operation[Any]:
    topic, group = request.topic.name, request.group.name
    check_topic(topic)
    check_group(group)
    if not request.entries:
        raise CallInvalid(Code.BAD_REQUEST, "no entry to acknowledge")
    response = AckMessageResponse()
    codes: set[Code] = set()
    for first in range(0, len(request.entries), _ACKS_OF_STEP):
        entries = request.entries[first : first + _ACKS_OF_STEP]
        for entry, (code, text) in zip(entries, (yield from _codes(services, call, request, entries)), strict=True):
            services.forget(call, entry.receipt_handle)
            codes.add(code)
            response.entries.add(
                message_id=entry.message_id, receipt_handle=entry.receipt_handle, status=make_status(code, text)
            )
    response.status.CopyFrom(joint_status(codes))
    return response


def _codes(
    services: AcknowledgingServices, call: Call, request: AckMessageRequest, entries: Sequence[AckMessageEntry]
) -> Operation[Any]:
    """Acknowledge some entries of a call; returns the code and the text of each."""
    now = services.clock()
    codes: list[tuple[Code, str]] = []
    handles: dict[int, DeliveryHandle] = {}
    for place, entry in enumerate(entries):
        try:
            handles[place] = services.held.read(entry.receipt_handle, now)
        except CallInvalid as error:
            codes.append((error.code, str(error)))
        else:
            codes.append((Code.OK, ""))
    if len(handles) < len(entries):
        yield from _check_permission(call, request.topic.name, request.group.name)
    if handles:
        replies = yield from _replies(call, request.topic.name, request.group.name, handles)
        for place, reply in replies.items():
            codes[place] = (code_of_handle(reply), reply.remark or "")
    return codes


def _replies(call: Call, topic: str, group: str, handles: Mapping[int, DeliveryHandle]) -> Operation[Any]:
    """Acknowledge deliveries, those of one check point together; returns the reply for each."""
    requests = list(ack_requests(call, topic, group, handles))
    replies = yield from serve(*[request for _, request in requests])
    found = {place: reply for (places, _), reply in zip(requests, replies, strict=True) for place in places}
    together = [place for places, _ in requests if len(places) > 1 for place in places]
    apart = [place for place in together if found[place].code == ResponseCode.NO_MESSAGE]
    if apart:  # one of them is not in its queue: which?
        replies = yield from serve(*[handles[place].ack_request(call, topic, group) for place in apart])
        found.update(zip(apart, replies, strict=True))
    return found


def change_invisible(
    services: AcknowledgingServices, call: Call, request: ChangeInvisibleDurationRequest
) -> Operation[Any]:
    """Make a message visible at another time; it has a new handle from then on."""
    topic, group = request.topic.name, request.group.name
    check_topic(topic)
    check_group(group)
    ms = duration_ms(request.invisible_duration)
    check_invisible_ms(ms, _LIMITS)
    text = request.receipt_handle
    try:
        handle = services.held.begin_change(topic, group, text, services.clock())
    except CallInvalid:
        yield from _check_permission(call, topic, group)
        raise
    (reply,) = yield from serve(handle.change_request(call, topic, group, ms, suspend=request.suspend))
    if reply.code != ResponseCode.SUCCESS:
        services.held.undo_change(topic, group, text)
    services.forget(call, text)
    fields = reply.fields
    if isinstance(fields, ChangeInvisibleTimeResponseHeader) and reply.code == ResponseCode.SUCCESS:
        return ChangeInvisibleDurationResponse(
            status=status_of_reply(reply), receipt_handle=handle.after_change(fields).text
        )
    return ChangeInvisibleDurationResponse(status=make_status(code_of_handle(reply), reply.remark or ""))


def forward_to_dead_letters(
    services: AcknowledgingServices, call: Call, request: ForwardMessageToDeadLetterQueueRequest
) -> Operation[Any]:
    """Store a message among the dead letters of its group, and acknowledge it."""
    topic, group = request.topic.name, request.group.name
    check_topic(topic)
    check_group(group)
    try:
        handle = services.held.read(request.receipt_handle, services.clock())
    except CallInvalid:
        yield from _check_permission(call, topic, group)
        raise
    (reply,) = yield from serve(dead_letter_request(call, topic, group, handle.receipt, request.message_id))
    if reply.code == ResponseCode.SUCCESS:
        services.forget(call, request.receipt_handle)
        (reply,) = yield from serve(handle.ack_request(call, topic, group))
    return ForwardMessageToDeadLetterQueueResponse(status=status_of_reply(reply))


def _check_permission(call: Call, topic: str, group: str) -> Operation[Any]:
    """Have the guards decide on a call whose handle names no delivery: no request about one would call them.

    Raises:
        CallInvalid: the client may not consume.
    """
    if not call.connection.guarded:
        return
    header = CallRouteRequestHeader(topic=topic, permission=SUB, consumer_group=group)
    (reply,) = yield from serve(call.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, header))
    if reply.code not in {ResponseCode.SUCCESS, ResponseCode.TOPIC_NOT_EXIST}:
        raise CallInvalid(code_of_reply(reply), reply.remark or "")
