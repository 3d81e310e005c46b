"""ReceiveMessage: a pop, whose messages are streamed to the client.

Messages that were delivered too often go to the group's dead letter topic, and those that the filter does not want,
although their tags have the same hash code as one of its tags, are acknowledged: neither reaches the client. What is
popped for a call that is cancelled becomes visible again at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple

from rocketwire.remoting.core.steps import Operation
from rocketwire.server.acl.resources import SUB
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.request import Reply, Request
from rocketwire.server.grpc.calls import Call, EncodedPayloads, serve
from rocketwire.server.grpc.clients import GrpcClient, GrpcClients
from rocketwire.server.grpc.consuming.deliveries import (
    fast_path_criteria,
    kernel_payloads,
    records_of_reply,
    renewed_handles,
)
from rocketwire.server.grpc.consuming.handles import HeldDeliveries, dead_letter_request
from rocketwire.server.grpc.consuming.popped import PoppedMessage, decide_deliveries, popped_messages
from rocketwire.server.grpc.metadata import read_timeout
from rocketwire.server.grpc.routing import load_shares
from rocketwire.server.grpc.settings import group_config, group_config_request, most_attempts
from rocketwire.server.grpc.statuses import code_of_reply
from rocketwire.server.grpc.tables.directories import GroupDirectory, TopicDirectory
from rocketwire.server.pop.renewals import STEP_MS, RenewedPopRequest
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.facts.properties import UNIQ_KEY
from rocketwire.wire.grpc.answers import delivered_response, message_response, status_response
from rocketwire.wire.grpc.checks import CallLimits, check_group, check_invisible_ms, check_topic
from rocketwire.wire.grpc.codes import Code
from rocketwire.wire.grpc.filters import EVERYTHING, TAG, Filter, read_filter
from rocketwire.wire.grpc.polling import polling_ms
from rocketwire.wire.grpc.receiving import delivered_message, offset_id
from rocketwire.wire.grpc.service_pb2 import ReceiveMessageRequest, ReceiveMessageResponse
from rocketwire.wire.grpc.times import duration_ms
from rocketwire.wire.headers.pop import PopMessageResponseHeader
from rocketwire.wire.properties import decode_stored_properties

_LIMITS: Final = CallLimits()
_MOST_MESSAGES: Final = 32
_ANY_QUEUE: Final = -1
"""As behind Apache's proxy: a simple consumer names one queue after the other, whichever has messages."""
_NEWEST: Final = 1
"""Where a new group begins: with new messages, but with all of a queue that has lost none."""
_REQUEST_TIMEOUT_MS: Final = 3000
"""Of clients whose settings are not known: the default of SDKs."""
_ADMITTED: Final = frozenset({Code.OK, Code.MESSAGE_NOT_FOUND})
_OK: Final = status_response(Code.OK).SerializeToString()
_TIMES_KEPT: Final = 64
"""Receives of one read are of the same time."""
CLIENT_VERSION: Final = "x-mq-client-version"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivingServices:
    """The services of receives."""

    clients: GrpcClients
    clock: Clock
    groups: GroupDirectory
    held: HeldDeliveries
    topics: TopicDirectory


def receive(services: ReceivingServices, call: Call, request: ReceiveMessageRequest) -> Operation[Any]:
    """Pop messages; wait for them as long as the client wants."""
    topic, group = request.message_queue.topic.name, request.group.name
    check_topic(topic)
    check_group(group)
    wanted = read_filter(request.filter_expression)
    client = services.clients.find_or_make(call.client_id, call.connection, call.account)
    now = services.clock()
    if services.groups.needs_request(group):
        yield from serve(group_config_request(call, group))
    config = group_config(services.groups, group)
    broker = services.topics.broker_to_receive_from(request.message_queue.broker.name, topic)
    broker = broker or (yield from _any_broker(services.topics, call, topic, group))
    header = pop_request(call, client, request, wanted, in_order=bool(config.consume_message_orderly), now=now)
    (reply,) = yield from serve(call.request(RequestCode.POP_MESSAGE, header, broker=broker))
    fields, code = reply.fields, code_of_reply(reply)
    if code in _ADMITTED and services.clients.note_admitted(client, call.connection):
        client.declare(client.declaration.with_subscription(group, topic, wanted, now))
    if reply.code != ResponseCode.SUCCESS or not isinstance(fields, PopMessageResponseHeader):
        return empty_response(reply, services.clock())
    delivery, most, tags = Delivery(services, call, client, topic, group), most_attempts(config), tags_of(wanted)
    renewed, run = request.auto_renew, records_of_reply(reply, fields)
    criteria = fast_path_criteria(topic=topic, broker=broker, tags=tags, most_attempts=most, renewed=renewed)
    payloads = kernel_payloads(run, criteria)
    if run is not None and payloads is not None:
        call.undo = lambda: delivery.give_back(list(popped_messages(broker, reply, renewed=renewed)))
        if renewed:
            services.held.add(client, topic, group, renewed_handles(run, broker))
        return EncodedPayloads(stream_payloads(payloads, fields.pop_time))
    popped = list(popped_messages(broker, reply, renewed=renewed))
    # No undo while requests are on their way: it would make dead letters visible again. A cancelled call comes to its
    # end as well, and gives back then what it keeps.
    kept, dead, consumed = decide_deliveries(popped, tags, most)
    if dead:
        replies = yield from serve(*[delivery.dead_letter(each) for each in dead])
        # A damaged message that cannot be stored again would be redelivered without end, and block an orderly group.
        consumed += [
            each
            for each, stored in zip(dead, replies, strict=True)
            if stored.code == ResponseCode.SUCCESS or each.record is None
        ]
    if consumed:
        yield from serve(*[each.handle.ack_request(call, topic, group) for each in consumed])
    call.undo = partial(delivery.give_back, kept)
    if not kept:
        return [status_response(Code.MESSAGE_NOT_FOUND, "no new message"), delivered_response(services.clock())]
    if renewed:
        services.held.add(client, topic, group, [each.handle.text for each in kept])
    messages = [
        delivered_message(each.record, topic=topic, receipt_handle=each.handle.text, reconsume_times=each.attempts)
        for each in kept
        if each.record is not None
    ]
    return [_OK, *map(message_response, messages), delivered_response(fields.pop_time)]


def pop_request(
    call: Call, client: GrpcClient, request: ReceiveMessageRequest, wanted: Filter, *, in_order: bool, now: int
) -> RenewedPopRequest:
    """The pop that a call is translated into.

    Raises:
        CallInvalid: a time in it is not valid.
    """
    client.renews |= request.auto_renew
    return RenewedPopRequest(
        consumer_group=request.group.name,
        topic=request.message_queue.topic.name,
        queue_id=_ANY_QUEUE,
        max_msg_nums=min(max(1, request.batch_size), _MOST_MESSAGES),
        invisible_time=_invisible_ms(request),
        poll_time=check_polling(call, client, wanted_polling(request)),
        born_time=now,
        init_mode=_NEWEST,
        exp_type=wanted.kind,
        exp=wanted.text,
        order=in_order,
        attempt_id=request.attempt_id or None,
        renewer=client.renewer if request.auto_renew else None,
    )


def empty_response(reply: Reply, now: int) -> list[ReceiveMessageResponse]:
    """What a receive whose pop got no messages is answered, at a time in ms since 1970.

    As with Apache's proxy the time of delivery ends every answer.
    """
    code = code_of_reply(reply)
    text = "no new message" if code is Code.MESSAGE_NOT_FOUND else reply.remark or ""
    return [status_response(code, text), delivered_response(now)]


def stream_payloads(payloads: Sequence[bytes], pop_time: int) -> list[bytes]:
    """The payloads of an answer around those of its messages."""
    return [_OK, *payloads, _last_payload(pop_time)]


@lru_cache(maxsize=_TIMES_KEPT)
def _last_payload(pop_time: int) -> bytes:
    return delivered_response(pop_time).SerializeToString()


def _any_broker(topics: TopicDirectory, call: Call, topic: str, group: str) -> Operation[Any]:
    """A broker for a client that names none, once the topic is known."""
    yield from load_shares(topics, call, topic, SUB, group)
    return topics.broker_to_receive_from("", topic)


class Delivery(NamedTuple):
    """The client that messages are delivered to."""

    services: ReceivingServices
    call: Call
    client: GrpcClient
    topic: str
    group: str

    def dead_letter(self, popped: PoppedMessage) -> Request[Any]:
        """The request that stores a message among the dead letters."""
        record = popped.record
        message_id = ""
        if record is not None:
            message_id = decode_stored_properties(record.properties).get(UNIQ_KEY) or offset_id(record)
        return dead_letter_request(self.call, self.topic, self.group, popped.handle.receipt, message_id)

    def give_back(self, popped: Sequence[PoppedMessage]) -> list[Request[Any]]:
        """The requests that make messages visible again at once: the client does not get them."""
        for each in popped:
            self.services.held.remove(self.client, each.handle.text)
        return [each.handle.change_request(self.call, self.topic, self.group, 0, suspend=True) for each in popped]


def _invisible_ms(request: ReceiveMessageRequest) -> int:
    if request.auto_renew:
        return STEP_MS
    ms = duration_ms(request.invisible_duration)
    check_invisible_ms(ms, _LIMITS, least=_LIMITS.least_invisible_ms)
    return ms


def wanted_polling(request: ReceiveMessageRequest) -> int | None:
    """For how many ms a receive wants to wait; None: it gives no time."""
    return duration_ms(request.long_polling_timeout) if request.HasField("long_polling_timeout") else None


def check_polling(call: Call, client: GrpcClient, wanted: int | None) -> int:
    """For how many ms a receive waits that wants to wait for so many.

    Raises:
        CallInvalid: its deadline comes too soon.
    """
    return polling_ms(
        wanted,
        read_timeout(call.headers),
        request_timeout=client.declaration.request_ms or _REQUEST_TIMEOUT_MS,
        client_version=call.headers.get(CLIENT_VERSION),
    )


def tags_of(wanted: Filter) -> frozenset[str] | None:
    """The tags of the messages that the client wants; None: all that the pop gives."""
    if wanted.kind != TAG or wanted.text == EVERYTHING:
        return None
    return frozenset(tag.strip() for tag in wanted.text.split("||"))
