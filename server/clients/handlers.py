"""Requests of clients: heartbeats, leaving, group members, subscription checks, locks (34, 35, 38, 46, 41, 42)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from rocketwire.remoting.core.steps import Operation
from rocketwire.server.clients.groups import ClientGroups
from rocketwire.server.clients.heartbeats import Heartbeats, heartbeat_entries
from rocketwire.server.clients.order_locks import OrderLocks, check_size
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.errors import ServerError
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.long_tasks import (
    ReplyOperation,
    encode_answer,
    in_batches,
    json_size_of_texts,
    parse_body,
)
from rocketwire.server.core.request import Peer, Reply, Request
from rocketwire.server.core.route import RequestRoutes
from rocketwire.server.filters import selection
from rocketwire.server.filters.keys import FilterKeys
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.client import (
    CheckClientRequestBody,
    GetConsumerListByGroupResponseBody,
    LockBatchRequestBody,
    LockBatchResponseBody,
    MessageQueue,
    UnlockBatchRequestBody,
)
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.headers.client import (
    GetConsumerListByGroupRequestHeader,
    GetConsumerListByGroupResponseHeader,
    UnregisterClientRequestHeader,
    UnregisterClientResponseHeader,
)

_LEAST_QUEUE: Final = len('{"brokerName":"","queueId":0,"topic":""},')


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientServices:
    """The services of these requests.

    Attributes:
        consumer_left: Called with the connection and the group of a consumer that unregisters.
    """

    clients: ClientGroups
    consumer_left: Callable[[Peer, str], None]
    filter_keys: LiveGroup[FilterKeys]
    heartbeats: Heartbeats
    limit_keys: LiveGroup[LimitKeys]
    order_locks: OrderLocks


class ConsumerListEmpty(ServerError):
    """No member of the group is connected."""


family: Final = RequestRoutes[ClientServices]("client")


@family.route(RequestCode.HEART_BEAT, summary="a client's groups and subscriptions")
def _heartbeat(services: ClientServices, request: Request[None]) -> Reply | ReplyOperation:
    more = services.heartbeats.take(request.peer, request.header, request.body)
    return Reply() if more is None else _heard(more)


def _heard(more: Operation[None]) -> ReplyOperation:
    yield from more
    return Reply()


@family.route(
    RequestCode.UNREGISTER_CLIENT,
    header=UnregisterClientRequestHeader,
    response=UnregisterClientResponseHeader,
    summary="a client leaves a group",
)
def _unregister(services: ClientServices, request: Request[UnregisterClientRequestHeader]) -> Reply:
    fields = request.fields
    if fields.producer_group is not None:
        services.clients.unregister_producer(request.peer, fields.producer_group)
    if fields.consumer_group is not None:
        services.clients.unregister_consumer(request.peer, fields.consumer_group)
        services.consumer_left(request.peer, fields.consumer_group)
    return Reply(ext={})


@family.route(
    RequestCode.GET_CONSUMER_LIST_BY_GROUP,
    header=GetConsumerListByGroupRequestHeader,
    response=GetConsumerListByGroupResponseHeader,
    summary="the client ids of a group",
)
def _consumer_list(services: ClientServices, request: Request[GetConsumerListByGroupRequestHeader]) -> ReplyOperation:
    group = services.clients.consumer(request.fields.consumer_group)
    if group is None:
        raise ConsumerListEmpty("no consumer for this group, " + request.fields.consumer_group)
    client_ids = tuple(group.client_ids())
    return _consumers_reply(client_ids)


def _consumers_reply(client_ids: tuple[str, ...]) -> ReplyOperation:
    body = GetConsumerListByGroupResponseBody(consumer_id_list=client_ids)
    return Reply(ext={}, body=((yield from encode_answer(body, len(client_ids), json_size_of_texts(client_ids))),))


@family.route(RequestCode.CHECK_CLIENT_CONFIG, summary="check a subscription")
def _check_subscription(services: ClientServices, request: Request[None]) -> Reply:
    most = services.limit_keys.current.max_heartbeat_bytes
    if len(request.body) > most:
        raise LimitExceeded("maxHeartbeatBytes", most)
    body = decode_body(CheckClientRequestBody, request.body, most_entries=heartbeat_entries(most))
    subscription = body.subscription_data
    if subscription is not None:
        selection.check_expression(services.filter_keys.current, subscription.sub_string, subscription.expression_type)
    return Reply()


@family.route(RequestCode.LOCK_BATCH_MQ, summary="lock queues for orderly consumption")
def _lock(services: ClientServices, request: Request[None]) -> ReplyOperation:
    check_size(request.body)
    return _locked(services.order_locks, parse_body(LockBatchRequestBody, request.body))


def _locked(locks: OrderLocks, read: Operation[LockBatchRequestBody]) -> ReplyOperation:
    body = yield from read
    queues: dict[MessageQueue, None] = {}
    for part in in_batches(body.mq_set):
        queues.update(dict.fromkeys(part))
        yield None
    locks.check_room(body.consumer_group, queues)
    held: list[MessageQueue] = []
    for part in in_batches(queues):
        held += locks.lock(body.consumer_group, body.client_id, part)
        yield None
    least = _LEAST_QUEUE * len(held) + sum([len(queue.topic) + len(queue.broker_name) for queue in held])
    return Reply(
        body=((yield from encode_answer(LockBatchResponseBody(lock_ok_mq_set=tuple(held)), len(held), least)),)
    )


@family.route(RequestCode.UNLOCK_BATCH_MQ, summary="release queue locks")
def _unlock(services: ClientServices, request: Request[None]) -> ReplyOperation:
    check_size(request.body)
    return _unlocked(services.order_locks, parse_body(UnlockBatchRequestBody, request.body))


def _unlocked(locks: OrderLocks, read: Operation[UnlockBatchRequestBody]) -> ReplyOperation:
    body = yield from read
    for part in in_batches(body.mq_set):
        locks.unlock(body.consumer_group, body.client_id, part)
        yield None
    return Reply()
