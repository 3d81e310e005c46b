"""Every request code served, one table a family, listed openly.

A family is a module with a `ROUTES` tuple; the README's table is made from `FAMILIES`. Handlers are given no more than
the services that they touch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from rocketwire.server.admin import groups as group
from rocketwire.server.admin import handlers as admin
from rocketwire.server.admin import progress
from rocketwire.server.broker import Broker
from rocketwire.server.clients import handlers as client
from rocketwire.server.clients import online_handlers as online
from rocketwire.server.clients.offset_reset import OnlineServices
from rocketwire.server.config.limits import Limits
from rocketwire.server.core.route import Family, Route
from rocketwire.server.guards.acl import handlers as access
from rocketwire.server.name_server import handlers as name_server
from rocketwire.server.name_server.key_values import KeyValueConfig
from rocketwire.server.name_server.routes import RouteTable
from rocketwire.server.offsets import handlers as offset
from rocketwire.server.pull import handlers as pull
from rocketwire.server.query import handlers as query
from rocketwire.server.retry import handlers as send_back
from rocketwire.server.send import handlers as send
from rocketwire.server.send import reply_handlers as reply
from rocketwire.server.timer import handlers as timer
from rocketwire.server.transactions import handlers as transaction
from rocketwire.wire.codes import RequestCode

BROKER_FAMILIES: Final[Mapping[str, tuple[Route, ...]]] = {
    "send": send.ROUTES,
    "reply": reply.ROUTES,
    "pull": pull.ROUTES,
    "send back": send_back.ROUTES,
    "transaction": transaction.ROUTES,
    "timer": timer.ROUTES,
    "offset": offset.ROUTES,
    "client": client.ROUTES,
    "query": query.ROUTES,
    "group": group.ROUTES,
    "progress": progress.ROUTES,
    "online": online.ROUTES,
    "admin": admin.ROUTES,
    "access": access.ROUTES,
}
NAME_SERVER_FAMILIES: Final[Mapping[str, tuple[Route, ...]]] = {"name server": name_server.ROUTES}
FAMILIES: Final[Mapping[str, tuple[Route, ...]]] = {**BROKER_FAMILIES, **NAME_SERVER_FAMILIES}

UNSUPPORTED: Final = frozenset(RequestCode) - {route.code for routes in FAMILIES.values() for route in routes}
"""Codes that have a name and no handler."""


def broker_families(broker: Broker) -> Iterator[Family]:
    """The families of a broker, each with the services that its handlers touch."""
    config, store, storing = broker.config, broker.store, broker.storing
    offsets, topics, clients = broker.offsets, broker.topics, broker.clients
    sends = send.SendServices(config=config, sending=broker.sending, storing=storing, store_host=broker.store_host)
    replies = reply.ReplyServices(
        config=config,
        replies=broker.replies,
        sending=broker.sending,
        storing=storing,
        store_host=broker.store_host,
        wake=broker.long_poll.wake,
    )
    transactions = transaction.TransactionServices(storing=storing, transactions=broker.transactions)
    timers = timer.TimerServices(config=config, recall=broker.recall, storing=storing, timer=broker.timer)
    themselves = client.ClientServices(
        clients=clients, config=config, heartbeats=broker.heartbeats, order_locks=broker.order_locks
    )
    progresses = progress.ProgressServices(
        clients=clients,
        clock=broker.clock,
        config=config,
        consume_rates=broker.consume_rates,
        offsets=offsets,
        store=store,
        topics=topics,
    )
    administration = admin.AdminServices(
        config=config,
        lifetime=broker.lifetime,
        queue_removal=broker.queue_removal,
        runtime_info=broker.runtime_info,
        topics=topics,
    )
    yield Family(routes=send.ROUTES, services=sends)
    yield Family(routes=reply.ROUTES, services=replies)
    yield Family(routes=pull.ROUTES, services=broker.pulls)
    yield Family(routes=send_back.ROUTES, services=broker.send_back)
    yield Family(routes=transaction.ROUTES, services=transactions)
    yield Family(routes=timer.ROUTES, services=timers)
    yield Family(routes=offset.ROUTES, services=offset.OffsetServices(offsets=offsets, store=store))
    yield Family(routes=client.ROUTES, services=themselves)
    yield Family(routes=query.ROUTES, services=query.QueryServices(access=broker.access, config=config, store=store))
    yield Family(routes=group.ROUTES, services=group.GroupServices(groups=broker.groups, offsets=offsets))
    yield Family(routes=progress.ROUTES, services=progresses)
    yield Family(
        routes=online.ROUTES,
        services=OnlineServices(clients=clients, config=config, offsets=offsets, store=store, topics=topics),
    )
    yield Family(routes=admin.ROUTES, services=administration)
    yield Family(
        routes=access.ROUTES,
        services=access.AccessServices(access=broker.access, address=broker.address, config=config),
    )


def name_server_families(routes: RouteTable, key_values: KeyValueConfig, limits: Limits) -> Iterator[Family]:
    """The families of a name server."""
    services = name_server.NameServerServices(routes=routes, key_values=key_values, limits=limits)
    yield Family(routes=name_server.ROUTES, services=services)
