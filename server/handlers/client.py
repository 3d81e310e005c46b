"""Clients: heartbeats, leaving, who is in a group, subscription checks, queue locks (34, 35, 38, 46, 41, 42)."""

from __future__ import annotations

from typing import Final

from rocketwire.server.errors import ServerError
from rocketwire.server.filters import selection
from rocketwire.server.handlers.route import Route
from rocketwire.server.request import Reply, Request
from rocketwire.server.services import BrokerServices
from rocketwire.wire.bodies import decode_body, encode_body
from rocketwire.wire.bodies.client import (
    CheckClientRequestBody,
    GetConsumerListByGroupResponseBody,
    LockBatchRequestBody,
    LockBatchResponseBody,
    UnlockBatchRequestBody,
)
from rocketwire.wire.codes import RequestCode
from rocketwire.wire.headers.client import (
    GetConsumerListByGroupRequestHeader,
    GetConsumerListByGroupResponseHeader,
    UnregisterClientRequestHeader,
    UnregisterClientResponseHeader,
)


class ConsumerListEmpty(ServerError):
    """Nobody of the group is connected."""


def _heartbeat(services: BrokerServices, request: Request[None]) -> Reply:
    services.heartbeats.take(request.peer, request.header, request.body)
    return Reply()


def _unregister(services: BrokerServices, request: Request[UnregisterClientRequestHeader]) -> Reply:
    fields = request.fields
    if fields.producer_group is not None:
        services.clients.unregister_producer(request.peer, fields.producer_group)
    if fields.consumer_group is not None:
        services.clients.unregister_consumer(request.peer, fields.consumer_group)
    return Reply(ext={})


def _consumer_list(services: BrokerServices, request: Request[GetConsumerListByGroupRequestHeader]) -> Reply:
    group = services.clients.consumer(request.fields.consumer_group)
    if group is None:
        raise ConsumerListEmpty("no consumer for this group, " + request.fields.consumer_group)
    body = GetConsumerListByGroupResponseBody(consumer_id_list=tuple(group.client_ids()))
    return Reply(ext={}, body=(encode_body(body),))


def _check_subscription(services: BrokerServices, request: Request[None]) -> Reply:
    body = decode_body(CheckClientRequestBody, request.body)
    subscription = body.subscription_data
    if subscription is not None:
        selection.check(services.config.current, subscription.sub_string, subscription.expression_type)
    return Reply()


def _lock(services: BrokerServices, request: Request[None]) -> Reply:
    body = decode_body(LockBatchRequestBody, request.body)
    held = services.order_locks.lock(body.consumer_group, body.client_id, body.mq_set)
    return Reply(body=(encode_body(LockBatchResponseBody(lock_ok_mq_set=tuple(held))),))


def _unlock(services: BrokerServices, request: Request[None]) -> Reply:
    body = decode_body(UnlockBatchRequestBody, request.body)
    services.order_locks.unlock(body.consumer_group, body.client_id, body.mq_set)
    return Reply()


ROUTES: Final = (
    Route(code=RequestCode.HEART_BEAT, handler=_heartbeat, heading="a client's groups and subscriptions"),
    Route(
        code=RequestCode.UNREGISTER_CLIENT,
        header=UnregisterClientRequestHeader,
        response=UnregisterClientResponseHeader,
        handler=_unregister,
        heading="a client leaves a group",
    ),
    Route(
        code=RequestCode.GET_CONSUMER_LIST_BY_GROUP,
        header=GetConsumerListByGroupRequestHeader,
        response=GetConsumerListByGroupResponseHeader,
        handler=_consumer_list,
        heading="the client ids of a group",
    ),
    Route(code=RequestCode.CHECK_CLIENT_CONFIG, handler=_check_subscription, heading="check a subscription"),
    Route(code=RequestCode.LOCK_BATCH_MQ, handler=_lock, heading="lock queues for orderly consumption"),
    Route(code=RequestCode.UNLOCK_BATCH_MQ, handler=_unlock, heading="give up queue locks"),
)
