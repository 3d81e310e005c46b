"""SendMessage and RecallMessage: what a send of the remoting protocol does, for one message or a batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from rocketwire.remoting.core.steps import Operation
from rocketwire.server.acl.resources import PUB
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.errors import MessageTypeWrong
from rocketwire.server.core.request import Reply
from rocketwire.server.grpc.calls import BrokerConnectionError, Call, serve
from rocketwire.server.grpc.keys import GrpcKeys
from rocketwire.server.grpc.routing import accepted_types, load_shares
from rocketwire.server.grpc.statuses import status_of_reply
from rocketwire.server.grpc.tables.directories import TopicDirectory, TopicShare
from rocketwire.server.grpc.transactions import PendingTransactions
from rocketwire.server.send.keys import SendKeys
from rocketwire.server.timer.sends import ILLEGAL_TIME
from rocketwire.wire.facts.codes import Permission, RequestCode, ResponseCode
from rocketwire.wire.grpc.answers import make_status
from rocketwire.wire.grpc.checks import CallLimits, check_topic
from rocketwire.wire.grpc.codes import CallInvalid, Code
from rocketwire.wire.grpc.definition_pb2 import Status
from rocketwire.wire.grpc.queue_choice import queue_of_group
from rocketwire.wire.grpc.sending import Send, read_send
from rocketwire.wire.grpc.service_pb2 import (
    RecallMessageRequest,
    RecallMessageResponse,
    SendMessageRequest,
    SendMessageResponse,
)
from rocketwire.wire.headers.send import (
    RecallMessageRequestHeader,
    RecallMessageResponseHeader,
    SendMessageResponseHeader,
)
from rocketwire.wire.message_id import parse_offset_message_id

_TRANSACTION: Final = "TRANSACTION"


@dataclass(frozen=True, slots=True, kw_only=True)
class SendingServices:
    """What sends use.

    Attributes:
        turns: Numbers that select the queue of a message without a message group.
    """

    clock: Clock
    keys: LiveGroup[GrpcKeys]
    send_keys: LiveGroup[SendKeys]
    pending: PendingTransactions
    topics: TopicDirectory
    turns: Iterator[int]

    def limits(self) -> CallLimits:
        """How large a send may be."""
        return _limits(self.send_keys.current.max_message_size, self.keys.current.max_delay_time_mills)


@lru_cache(maxsize=1)
def _limits(body_bytes: int, delay_ms: int) -> CallLimits:
    return CallLimits(body_bytes=body_bytes, delay_ms=delay_ms)


def send(services: SendingServices, call: Call, request: SendMessageRequest) -> Operation[Any]:
    """Store the messages of a call."""
    sent = read_send(request, services.limits(), remote=call.remote_text, now=services.clock())
    shares = services.topics.shares(sent.topic)
    known = bool(shares)
    if not known:
        shares = yield from load_shares(services.topics, call, sent.topic, PUB)
    writable = [each for each in shares if each.config.perm & Permission.WRITE and each.config.write_queue_nums > 0]
    problem = _problem(services, sent, writable)
    if problem is not None:
        if known and call.connection.guarded:  # a client without permission must not learn what the topic accepts
            yield from load_shares(services.topics, call, sent.topic, PUB)
        raise problem
    code = RequestCode.SEND_BATCH_MESSAGE if sent.batch else RequestCode.SEND_MESSAGE_V2
    while True:
        broker, queue_id = _place(services, sent.message_group, writable)
        (reply,) = yield from serve(call.request(code, sent.fields(queue_id), sent.body, broker=broker))
        if reply.error is None or not isinstance(reply.error, BrokerConnectionError):
            return _answer(services, sent, reply, broker)
        writable = [each for each in writable if each.broker != broker]
        if not writable or sent.message_group:  # the order of a group is that of one queue
            return _answer(services, sent, reply, broker)


def _problem(services: SendingServices, sent: Send, writable: Sequence[TopicShare]) -> Exception | None:
    """Why a topic does not take a message; None: it does. `writable` are its shares that can be written to."""
    if not writable:
        return CallInvalid(Code.FORBIDDEN, f"no writable message queue of topic {sent.topic}")
    accepted = accepted_types(writable[0].config)
    if sent.message_type not in accepted and services.send_keys.current.enable_topic_message_type_check:
        return MessageTypeWrong(sent.topic, " or ".join(accepted), sent.message_type)
    return None


def _place(services: SendingServices, group: str, writable: Sequence[TopicShare]) -> tuple[str, int]:
    """The broker and queue of a message: of a message group always the same, else the next one."""
    shares = writable
    if len(shares) > 1 and not group:
        shares = [each for each in shares if not services.topics.is_avoided(each.broker)] or shares
    queues = sum([each.config.write_queue_nums for each in shares])
    place = queue_of_group(group, queues) if group else next(services.turns) % queues
    at = 0
    while place >= shares[at].config.write_queue_nums:
        place -= shares[at].config.write_queue_nums
        at += 1
    return shares[at].broker, place


def _answer(services: SendingServices, sent: Send, reply: Reply, broker: str) -> SendMessageResponse:
    fields = reply.fields
    transactional = sent.message_type == _TRANSACTION
    if transactional and isinstance(fields, SendMessageResponseHeader):
        _, physical_offset = parse_offset_message_id(fields.msg_id)
        services.pending.add(sent.topic, sent.message_ids[0], fields.queue_offset, physical_offset, broker)
    return send_response(sent.message_ids, reply, transactional=transactional)


def send_response(message_ids: Sequence[str], reply: Reply, *, transactional: bool = False) -> SendMessageResponse:
    """The response of a call whose messages a broker got, by the broker's reply.

    Args:
        message_ids: Their ids.
        reply: The reply.
        transactional: Whether it is the message of a transaction.
    """
    fields = reply.fields
    response = SendMessageResponse()
    status = _status_of_send(reply)
    response.status.CopyFrom(status)
    if not isinstance(fields, SendMessageResponseHeader):
        return response
    for place, message_id in enumerate(message_ids):
        entry = response.entries.add()
        entry.status.CopyFrom(status)
        entry.message_id = message_id
        entry.offset = fields.queue_offset + place
        if transactional:
            entry.transaction_id = message_id
        if fields.recall_handle is not None:
            entry.recall_handle = fields.recall_handle
    return response


def _status_of_send(reply: Reply) -> Status:
    """The status of a send; the code of a refused delivery time is that of illegal messages, so the remark decides."""
    remark = reply.remark or ""
    if reply.code == ResponseCode.MESSAGE_ILLEGAL and remark.startswith(ILLEGAL_TIME):
        return make_status(Code.ILLEGAL_DELIVERY_TIME, remark)
    return status_of_reply(reply)


def recall(_services: SendingServices, call: Call, request: RecallMessageRequest) -> Operation[Any]:
    """Cancel a message that waits for its time."""
    topic = request.topic.name
    check_topic(topic)
    header = RecallMessageRequestHeader(producer_group=topic, topic=topic, recall_handle=request.recall_handle)
    (reply,) = yield from serve(call.request(RequestCode.RECALL_MESSAGE, header))
    fields = reply.fields
    message_id = fields.msg_id if isinstance(fields, RecallMessageResponseHeader) else ""
    return RecallMessageResponse(status=status_of_reply(reply), message_id=message_id)
