"""Every request code served, one table a family, listed openly.

A family is a module with a `ROUTES` tuple; the table of docs/request-codes.md is made from `FAMILIES`. Handlers are
given no more than the services that they touch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from rocketwire.server.acl import handlers as access
from rocketwire.server.admin import group_offsets, progress, topic_lists
from rocketwire.server.admin import groups as group
from rocketwire.server.admin import handlers as admin
from rocketwire.server.assignments import handlers as assignment
from rocketwire.server.broker import Broker
from rocketwire.server.clients import handlers as client
from rocketwire.server.clients import online_handlers as online
from rocketwire.server.clients.offset_reset import OnlineServices
from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.core.route import Family, Route
from rocketwire.server.filters.keys import FilterKeys
from rocketwire.server.grpc import handlers as route
from rocketwire.server.grpc.front import GrpcParts, KernelCallParts
from rocketwire.server.grpc.keys import GrpcKeys
from rocketwire.server.grpc.tables.groups import OwnGroups
from rocketwire.server.grpc.tables.topics import OwnTopics
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.server.limits.limits import Limits
from rocketwire.server.name_server import admin_handlers as name_server_admin
from rocketwire.server.name_server import handlers as name_server
from rocketwire.server.name_server.config import NameServerConfig
from rocketwire.server.name_server.key_values import KeyValueConfig
from rocketwire.server.name_server.routes import RouteTable
from rocketwire.server.offsets import handlers as offset
from rocketwire.server.pop import handlers as pop
from rocketwire.server.pull import handlers as pull
from rocketwire.server.query import handlers as query
from rocketwire.server.query import queue_entries
from rocketwire.server.query.keys import QueryKeys
from rocketwire.server.retry import handlers as send_back
from rocketwire.server.send import handlers as send
from rocketwire.server.send import reply_handlers as reply
from rocketwire.server.send.keys import ReplyKeys, SendKeys
from rocketwire.server.statistics import handlers as statistics
from rocketwire.server.timer import handlers as timer
from rocketwire.server.transactions import handlers as transaction
from rocketwire.server.transactions import resuming
from rocketwire.wire.facts.codes import RequestCode

BROKER_FAMILIES: Final[Mapping[str, tuple[Route, ...]]] = {
    "send": send.ROUTES,
    "reply": reply.ROUTES,
    "pull": pull.ROUTES,
    "pop": pop.ROUTES,
    "send back": send_back.ROUTES,
    "transaction": transaction.ROUTES,
    "half message": resuming.ROUTES,
    "timer": timer.ROUTES,
    "offset": offset.ROUTES,
    "assignment": assignment.ROUTES,
    "client": client.ROUTES,
    "query": query.ROUTES,
    "queue": queue_entries.ROUTES,
    "group": group.ROUTES,
    "progress": (*progress.ROUTES, *group_offsets.ROUTES),
    "statistics": statistics.ROUTES,
    "online": online.ROUTES,
    "admin": (*admin.ROUTES, *topic_lists.ROUTES),
    "access": access.ROUTES,
}
NAME_SERVER_FAMILIES: Final[Mapping[str, tuple[Route, ...]]] = {
    "name server": name_server.ROUTES,
    "name server's administration": name_server_admin.ROUTES,
}
FAMILIES: Final[Mapping[str, tuple[Route, ...]]] = {**BROKER_FAMILIES, **NAME_SERVER_FAMILIES}

UNSUPPORTED: Final = frozenset(RequestCode) - {route.code for routes in FAMILIES.values() for route in routes}
"""Codes that have a name and no handler."""


def broker_families(broker: Broker) -> Iterator[Family]:
    """The families of a broker, each with the services that its handlers touch."""
    live, store, storing = broker.config, broker.store, broker.storing
    broker_keys = live[BrokerKeys]
    offsets, topics, clients = broker.offsets, broker.topics, broker.clients
    services: Mapping[str, object] = {
        "send": send.SendServices(sending=broker.sending, answers=broker.send_answers, store_host=broker.store_host),
        "reply": reply.ReplyServices(
            keys=live[ReplyKeys],
            broker_keys=broker_keys,
            replies=broker.replies,
            sending=broker.sending,
            storing=storing,
            store_host=broker.store_host,
            wake=broker.wake,
        ),
        "pull": broker.pulls,
        "pop": broker.pops.services,
        "send back": broker.send_back,
        "transaction": broker.transactions.ending,
        "half message": broker.transactions.resuming,
        "timer": timer.TimerServices(broker_keys=broker_keys, recall=broker.recall, timer=broker.timer),
        "offset": offset.OffsetServices(offsets=offsets, store=store),
        "assignment": broker.assignments,
        "client": client.ClientServices(
            clients=clients,
            filter_keys=live[FilterKeys],
            heartbeats=broker.heartbeats,
            limit_keys=live[LimitKeys],
            order_locks=broker.order_locks,
        ),
        "query": query.QueryServices(access=broker.access, keys=live[QueryKeys], store=store),
        "queue": queue_entries.QueueEntryServices(clients=clients, store=store, topics=topics),
        "group": group.GroupServices(groups=broker.groups, offsets=offsets),
        "progress": progress.ProgressServices(
            address=broker.address,
            broker_keys=broker_keys,
            clients=clients,
            clock=broker.clock,
            deliveries=broker.statistics.delivered,
            groups=broker.groups,
            offsets=offsets,
            store=store,
            topics=topics,
        ),
        "statistics": statistics.StatisticsServices(broker_keys=broker_keys, statistics=broker.statistics),
        "online": OnlineServices(
            broker_keys=broker_keys,
            clients=clients,
            clock=broker.clock,
            offsets=offsets,
            resets=broker.resets,
            store=store,
            topics=topics,
        ),
        "admin": admin.AdminServices(
            keys=live,
            lifetime=broker.lifetime,
            queue_removal=broker.queue_removal,
            runtime_info=broker.runtime_info,
            topic_removal=broker.topic_removal,
            told=broker.elsewhere.when_registered,
            topics=topics,
        ),
        "access": access.AccessServices(access=broker.access, address=broker.address, broker_keys=broker_keys),
    }
    return _families(BROKER_FAMILIES, services)


def grpc_families(broker: Broker) -> Iterator[Family]:
    """What a broker serves for gRPC calls only."""
    services = route.GrpcRouteServices(topics=broker.topics)
    yield Family(routes=route.ROUTES, services=services)


def front_parts(broker: Broker) -> GrpcParts:
    """What gRPC calls reach of a broker beside its families."""
    live = broker.config

    def kernel() -> KernelCallParts:
        return KernelCallParts(
            invalidation=broker.invalidation,
            metrics=broker.metrics,
            pops=broker.pops.services,
            sends=broker.kernel_sends_of_calls(),
            storing=broker.storing,
            topics=broker.topics,
        )

    return GrpcParts(
        clock=broker.clock,
        groups=OwnGroups(broker.groups),
        keys=live[GrpcKeys],
        presence=broker.renewals,
        send_keys=live[SendKeys],
        topics=OwnTopics(broker.topics, live[BrokerKeys]),
        kernel=kernel,
    )


def name_server_families(
    routes: RouteTable, key_values: KeyValueConfig, limits: Limits, config: NameServerConfig
) -> Iterator[Family]:
    """The families of a name server."""
    services: Mapping[str, object] = {
        "name server": name_server.NameServerServices(
            routes=routes, key_values=key_values, limits=limits, config=config
        ),
        "name server's administration": name_server_admin.NameServerAdminServices(routes=routes, config=config),
    }
    return _families(NAME_SERVER_FAMILIES, services)


def _families(families: Mapping[str, tuple[Route, ...]], services: Mapping[str, object]) -> Iterator[Family]:
    return (Family(routes=routes, services=services[name]) for name, routes in families.items())
