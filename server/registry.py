"""The list of all families of handlers, and so of every request code served.

A room's `family` has its request codes; called with services it gives what a server serves. The table of
docs/request-codes.md is made from `FAMILIES`. Handlers are given no more than the services that they touch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from rocketwire.server.acl import handlers as access
from rocketwire.server.admin import group_offsets, progress, topic_lists
from rocketwire.server.admin import groups as group
from rocketwire.server.admin import handlers as admin
from rocketwire.server.assignments import handlers as assignment
from rocketwire.server.broker.broker import Broker
from rocketwire.server.clients import handlers as client
from rocketwire.server.clients import online_handlers as online
from rocketwire.server.clients.offset_reset import OnlineServices
from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.core.route import Family, RequestRoutes, Route
from rocketwire.server.filters.keys import FilterKeys
from rocketwire.server.grpc import handlers as route
from rocketwire.server.grpc.front import GrpcParts, KernelCallParts
from rocketwire.server.grpc.keys import GrpcKeys
from rocketwire.server.grpc.tables.directories import OwnGroups, TopicDirectory
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

_OF_BROKERS: Final[Sequence[RequestRoutes[Any]]] = (
    send.family,
    reply.family,
    pull.family,
    pop.family,
    send_back.family,
    transaction.family,
    resuming.family,
    timer.family,
    offset.family,
    assignment.family,
    client.family,
    query.family,
    queue_entries.family,
    group.family,
    progress.family,
    group_offsets.family,
    statistics.family,
    online.family,
    admin.family,
    topic_lists.family,
    access.family,
)


def _by_name(families: Iterable[RequestRoutes[Any]]) -> dict[str, tuple[Route, ...]]:
    found: dict[str, tuple[Route, ...]] = {}
    for each in families:
        found[each.name] = (*found.get(each.name, ()), *each.routes)
    return found


BROKER_FAMILIES: Final[Mapping[str, tuple[Route, ...]]] = _by_name(_OF_BROKERS)
NAME_SERVER_FAMILIES: Final[Mapping[str, tuple[Route, ...]]] = _by_name((name_server.family, name_server_admin.family))
FAMILIES: Final[Mapping[str, tuple[Route, ...]]] = {**BROKER_FAMILIES, **NAME_SERVER_FAMILIES}

UNSUPPORTED: Final = frozenset(RequestCode) - {route.code for routes in FAMILIES.values() for route in routes}
"""Codes that have a name and no handler."""


def broker_families(broker: Broker) -> Sequence[Family]:
    """The families of a broker, each with the services that its handlers touch."""
    base, sends, delays, administration = broker.base, broker.sends, broker.delays, broker.administration
    live, store, storing = base.config, base.store, sends.storing
    broker_keys = live[BrokerKeys]
    offsets, topics, clients = broker.tables.offsets, broker.tables.topics, broker.clients
    progress_services = progress.ProgressServices(
        address=broker.cluster.address,
        broker_keys=broker_keys,
        clients=clients,
        clock=base.clock,
        deliveries=broker.statistics.delivered,
        groups=broker.tables.groups,
        offsets=offsets,
        store=store,
        topics=topics,
    )
    admin_services = admin.AdminServices(
        keys=live,
        lifetime=administration.lifetime,
        queue_removal=administration.queue_removal,
        runtime_info=administration.runtime_info,
        topic_removal=administration.topic_removal,
        when_registered=broker.cluster.elsewhere.when_registered,
        topics=topics,
    )
    return (
        send.family(send.SendServices(sending=sends.sending, answers=sends.answers, store_host=base.store_host)),
        reply.family(
            reply.ReplyServices(
                keys=live[ReplyKeys],
                broker_keys=broker_keys,
                replies=sends.replies,
                sending=sends.sending,
                storing=storing,
                store_host=base.store_host,
                wake=broker.wake,
            )
        ),
        pull.family(broker.pulls),
        pop.family(broker.pops.pops.services),
        send_back.family(sends.send_back),
        transaction.family(delays.transactions.ending),
        resuming.family(delays.transactions.resuming),
        timer.family(timer.TimerServices(broker_keys=broker_keys, recall=sends.recall, timer=delays.timer)),
        offset.family(offset.OffsetServices(offsets=offsets, store=store)),
        assignment.family(broker.cluster.assignments),
        client.family(
            client.ClientServices(
                clients=clients,
                consumer_left=broker.pops.pops.consumer_left,
                filter_keys=live[FilterKeys],
                heartbeats=administration.heartbeats,
                limit_keys=live[LimitKeys],
                order_locks=administration.order_locks,
            )
        ),
        query.family(query.QueryServices(access=base.access, keys=live[QueryKeys], store=store)),
        queue_entries.family(queue_entries.QueueEntryServices(clients=clients, store=store, topics=topics)),
        group.family(group.GroupServices(groups=broker.tables.groups, offsets=offsets)),
        progress.family(progress_services),
        group_offsets.family(progress_services),
        statistics.family(statistics.StatisticsServices(broker_keys=broker_keys, statistics=broker.statistics)),
        online.family(
            OnlineServices(
                broker_keys=broker_keys,
                clients=clients,
                clock=base.clock,
                offsets=offsets,
                resets=broker.pops.resets,
                store=store,
                topics=topics,
            )
        ),
        admin.family(admin_services),
        topic_lists.family(admin_services),
        access.family(
            access.AccessServices(access=base.access, address=broker.cluster.address, broker_keys=broker_keys)
        ),
    )


def grpc_families(broker: Broker) -> Sequence[Family]:
    """What a broker serves for gRPC calls only."""
    return (route.family(route.GrpcRouteServices(topics=broker.tables.topics)),)


def front_parts(broker: Broker, topics: TopicDirectory) -> GrpcParts:
    """What gRPC calls reach of a broker beside its families; `topics` are those of routes."""
    live = broker.base.config

    def kernel() -> KernelCallParts:
        return KernelCallParts(
            invalidation=broker.base.invalidation,
            metrics=broker.base.metrics,
            pops=broker.pops.pops.services,
            sends=broker.sends.kernel_for_calls(),
            storing=broker.sends.storing,
            topics=broker.tables.topics,
        )

    return GrpcParts(
        clock=broker.base.clock,
        groups=OwnGroups(broker.tables.groups),
        keys=live[GrpcKeys],
        renewals=broker.pops.renewals,
        send_keys=live[SendKeys],
        topics=topics,
        kernel=kernel,
    )


def name_server_families(
    routes: RouteTable, key_values: KeyValueConfig, limits: Limits, config: NameServerConfig
) -> Sequence[Family]:
    """The families of a name server."""
    services = name_server.NameServerServices(routes=routes, key_values=key_values, limits=limits, config=config)
    return (
        name_server.family(services),
        name_server_admin.family(name_server_admin.NameServerAdminServices(routes=routes, config=config)),
    )
