"""Requests about connected clients (203, 204, 328), and requests forwarded to them (222, 223, 307, 309).

A request for one client is forwarded with all its fields except those of its signature, and the client's answer is the
answer.
"""

from __future__ import annotations

from typing import Any, Final

import trio

from rocketwire.remoting.core.session import Response
from rocketwire.remoting.core.steps import Operation
from rocketwire.server.clients.client_requests import consumer_status, forward_to_client
from rocketwire.server.clients.members import ConsumerGroup, GroupMember
from rocketwire.server.clients.offset_reset import CPP, OnlineServices, reset
from rocketwire.server.core.client_errors import (
    ConsumerGroupOffline,
    ProducerGroupOffline,
)
from rocketwire.server.core.errors import (
    MessageNotFound,
    ServerError,
    response_code,
)
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.long_tasks import ROWS_PER_STEP, ReplyOperation, check_answer, encode_answer, in_batches
from rocketwire.server.core.request import Peer, Reply, Request
from rocketwire.server.core.route import RequestRoutes
from rocketwire.wire.bodies.online import (
    ClientConnection,
    ConsumerConnection,
    ProducerConnection,
    ProducerInfo,
    ProducerTableInfo,
)
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.headers import online as headers
from rocketwire.wire.message_id import parse_offset_message_id
from rocketwire.wire.signature import ACCESS_KEY, SIGNATURE

_LEAST_PRODUCER: Final = len('{"clientId":"","language":"GO","lastUpdateTimestamp":0,"remoteIP":"","version":1},')


family: Final = RequestRoutes[OnlineServices]("online")


@family.route(RequestCode.GET_ALL_PRODUCER_INFO, summary="all connected producers by group")
def _all_producers(services: OnlineServices, _request: Request[None]) -> ReplyOperation:
    """The producers of every group (328), as `mqadmin producer` shows them."""
    found: dict[str, tuple[ProducerInfo, ...]] = {}
    rows = least = 0
    for group in services.clients.producer_groups():
        producers: list[ProducerInfo] = []
        for peer, member in services.clients.producers(group):
            producers.append(_producer_info(services, peer, member))
            rows, least = rows + 1, least + _LEAST_PRODUCER + len(member.client_id)
            if not rows % ROWS_PER_STEP:
                check_answer(least)
                yield None
        if producers:
            found[group] = tuple(producers)
            least += len(group)
    return Reply(body=((yield from encode_answer(ProducerTableInfo(data=found), rows, least)),))


def _producer_info(services: OnlineServices, peer: Peer, member: GroupMember) -> ProducerInfo:
    ago = int((trio.current_time() - member.last_seen) * 1000)
    return ProducerInfo(
        client_id=member.client_id,
        remote_ip=f"/{peer.remote_text}",
        language=member.language,
        version=member.version,
        last_update_timestamp=services.clock() - ago,
    )


_LEAST_CONNECTION: Final = len('{"clientAddr":"1.1.1.1:1","clientId":"","language":"GO","version":1},')
_UNSET_REMARK: Final = "not set any response code"  # 4.9.7's remark beside the code 0 of 222 and 223
_CREDENTIALS: Final = frozenset({ACCESS_KEY, SIGNATURE})


@family.route(
    RequestCode.GET_CONSUMER_CONNECTION_LIST,
    header=headers.GetConsumerConnectionListRequestHeader,
    summary="the connections of a consumer group",
)
def _consumer_connections(
    services: OnlineServices, request: Request[headers.GetConsumerConnectionListRequestHeader]
) -> ReplyOperation:
    group = services.clients.consumer(request.fields.consumer_group)
    if group is None:
        raise ConsumerGroupOffline(request.fields.consumer_group)
    return _consumers_reply(group)


def _consumers_reply(group: ConsumerGroup) -> ReplyOperation:
    connections = yield from _connections(list(group.members.items()))
    body = ConsumerConnection(
        connection_set=connections,
        subscription_table=dict(group.subscriptions),
        consume_type=group.consume_type,
        message_model=group.message_model,
        consume_from_where=group.consume_from_where,
    )
    rows = len(connections) + len(body.subscription_table)
    least = _least(connections) + sum([len(each.sub_string or "") for each in body.subscription_table.values()])
    return Reply(body=((yield from encode_answer(body, rows, least)),))


@family.route(
    RequestCode.GET_PRODUCER_CONNECTION_LIST,
    header=headers.GetProducerConnectionListRequestHeader,
    summary="the connections of a producer group",
)
def _producer_connections(
    services: OnlineServices, request: Request[headers.GetProducerConnectionListRequestHeader]
) -> ReplyOperation:
    producers = services.clients.producers(request.fields.producer_group)
    if not producers:
        raise ProducerGroupOffline(request.fields.producer_group)
    return _producers_reply(producers)


def _producers_reply(producers: list[tuple[Peer, GroupMember]]) -> ReplyOperation:
    connections = yield from _connections(producers)
    body = ProducerConnection(connection_set=connections)
    return Reply(body=((yield from encode_answer(body, len(connections), _least(connections))),))


def _connections(members: list[tuple[Peer, GroupMember]]) -> Operation[tuple[ClientConnection, ...]]:
    found: list[ClientConnection] = []
    for part in in_batches(members):
        found += [
            ClientConnection(
                client_id=member.client_id,
                client_addr=peer.remote_text,
                language=member.language,
                version=member.version,
            )
            for peer, member in part
        ]
        yield None
    return tuple(found)


def _least(connections: tuple[ClientConnection, ...]) -> int:
    """The least number of bytes that they take in an answer."""
    return sum([_LEAST_CONNECTION + len(each.client_id) for each in connections])


@family.route(
    RequestCode.GET_CONSUMER_RUNNING_INFO,
    header=headers.GetConsumerRunningInfoRequestHeader,
    summary="a consumer's runtime information",
)
def _running_info(services: OnlineServices, request: Request[headers.GetConsumerRunningInfoRequestHeader]) -> None:
    fields = request.fields
    _hand_on(services, request, fields.consumer_group, fields.client_id, request.header.ext or {}, b"")


@family.route(
    RequestCode.CONSUME_MESSAGE_DIRECTLY,
    header=headers.ConsumeMessageDirectlyResultRequestHeader,
    summary="have one consumer process a stored message now",
)
def _consume_directly(
    services: OnlineServices, request: Request[headers.ConsumeMessageDirectlyResultRequestHeader]
) -> None:
    fields = request.fields
    if fields.msg_id is None:
        raise MessageNotFound("no message id is given")
    _, offset = parse_offset_message_id(fields.msg_id)
    record = services.store.record_at(offset)
    if record is None:
        raise MessageNotFound(f"can not find message by the offset, {offset}")
    ext = {**(request.header.ext or {}), "brokerName": services.broker_keys.current.broker_name}
    _hand_on(services, request, fields.consumer_group, fields.client_id or "", ext, bytes(record))


def _hand_on(
    services: OnlineServices, request: Request[Any], group: str, client_id: str, ext: dict[str, str], body: bytes
) -> None:
    held = request.held()

    def done(answer: Response | ServerError) -> None:
        if isinstance(answer, ServerError):
            _answer(held, Reply(code=response_code(answer), remark=str(answer)))
        else:
            parts = (answer.body,) if answer.body else ()
            _answer(held, Reply(code=answer.code, remark=answer.remark, ext=answer.ext or None, body=parts))

    # A signature does not cover the code: with it the client could send another request in the caller's name.
    ext = {name: value for name, value in ext.items() if name not in _CREDENTIALS}
    forward_to_client(services.clients, group, client_id, request.header.code, ext, body, done)


def _answer(held: Request[None], reply: Reply) -> None:
    held.peer.reply(held, reply)
    held.peer.flush()


@family.route(
    RequestCode.INVOKE_BROKER_TO_RESET_OFFSET,
    header=headers.ResetOffsetRequestHeader,
    summary="reset the offsets of a connected group to a time",
)
def _reset(services: OnlineServices, request: Request[headers.ResetOffsetRequestHeader]) -> ReplyOperation:
    return _offsets_reply(reset(services, request.fields, for_cpp=request.header.language == CPP))


def _offsets_reply(resets: Operation[bytes]) -> ReplyOperation:
    offsets = yield from resets
    return Reply(remark=_UNSET_REMARK, body=(offsets,))


@family.route(
    RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS,
    header=headers.GetConsumerStatusRequestHeader,
    summary="offsets as a group's clients hold them",
)
def _consumer_status(services: OnlineServices, request: Request[headers.GetConsumerStatusRequestHeader]) -> None:
    fields, held = request.fields, request.held()

    def done(body: bytes | LimitExceeded) -> None:
        if isinstance(body, LimitExceeded):
            held.peer.limited(body)
            _answer(held, Reply(code=response_code(body), remark=str(body)))
        else:
            _answer(held, Reply(remark=_UNSET_REMARK, body=(body,)))

    consumer_status(services.clients, fields.group, fields.topic, fields.client_addr, done)
