"""Clients: heartbeats, leaving, who is in a group, subscription checks, queue locks (34, 35, 38, 46, 41, 42)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from rocketwire.server.errors import ServerError
from rocketwire.server.filters import selection
from rocketwire.server.filters.consumer_filters import Allowance
from rocketwire.server.handlers.route import Route
from rocketwire.server.request import Reply, Request
from rocketwire.server.services import BrokerServices
from rocketwire.server.topics import retry_config
from rocketwire.wire import names
from rocketwire.wire.bodies import decode_body, encode_body
from rocketwire.wire.bodies.client import (
    CheckClientRequestBody,
    ConsumerData,
    GetConsumerListByGroupResponseBody,
    HeartbeatData,
    LockBatchRequestBody,
    LockBatchResponseBody,
    UnlockBatchRequestBody,
)
from rocketwire.wire.bodies.group import SubscriptionGroupConfig
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.codes import RequestCode, TopicSysFlag
from rocketwire.wire.headers.client import (
    GetConsumerListByGroupRequestHeader,
    GetConsumerListByGroupResponseHeader,
    UnregisterClientRequestHeader,
    UnregisterClientResponseHeader,
)


class ConsumerListEmpty(ServerError):
    """Nobody of the group is connected."""


def _heartbeat(services: BrokerServices, request: Request[None]) -> Reply:
    data = decode_body(HeartbeatData, request.body)
    header = request.header
    consumers = data.consumer_data_set
    groups = services.groups.find_all(consumer.group_name for consumer in consumers)
    services.topics.create_retries(_retry_topics(consumers, groups))
    allowance = Allowance()
    for consumer in consumers:
        services.clients.register_consumer(
            request.peer, data.client_id, consumer, language=header.language, version=header.version
        )
        services.filters.register(consumer.group_name, consumer.subscription_data_set, allowance)
    for producer in data.producer_data_set:
        services.clients.register_producer(
            request.peer, data.client_id, producer.group_name, language=header.language, version=header.version
        )
    return Reply()


def _retry_topics(
    consumers: Iterable[ConsumerData], groups: Iterable[SubscriptionGroupConfig | None]
) -> Iterator[TopicConfig]:
    """The retry topics that the groups should have."""
    for consumer, group in zip(consumers, groups, strict=True):
        topic = names.retry_topic(consumer.group_name)
        if group is not None and group.retry_queue_nums > 0 and names.topic_problem(topic) is None:
            yield retry_config(topic, group.retry_queue_nums, TopicSysFlag.UNIT_SUB if consumer.unit_mode else 0)


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
