"""Requests about subscription groups: their configurations (200, 201, 207)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rocketwire.server.core.request import Reply, Request
from rocketwire.server.core.route import Route
from rocketwire.server.core.works import Steps, Work, body_of, texts_size, written
from rocketwire.server.offsets.owners import topics_of
from rocketwire.server.topics.subscription_groups import SubscriptionGroups
from rocketwire.store.tables.offsets import OffsetTable
from rocketwire.wire.bodies.group import SubscriptionGroupConfig
from rocketwire.wire.codes import RequestCode
from rocketwire.wire.headers.group import DeleteSubscriptionGroupRequestHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupServices:
    """The services of these requests."""

    groups: SubscriptionGroups
    offsets: OffsetTable


def _put(services: GroupServices, request: Request[None]) -> Work:
    return _put_one(services, body_of(SubscriptionGroupConfig, request.body))


def _put_one(services: GroupServices, read: Steps[SubscriptionGroupConfig]) -> Work:
    services.groups.put((yield from read))
    return Reply()


def _all(services: GroupServices, _request: Request[None]) -> Work:
    table = services.groups.table
    return Reply(body=((yield from written(table.wrapper(), len(table), 2 * texts_size(table.configs))),))


def _remove(services: GroupServices, request: Request[DeleteSubscriptionGroupRequestHeader]) -> Work:
    return _removed(services, request.fields)


def _removed(services: GroupServices, fields: DeleteSubscriptionGroupRequestHeader) -> Work:
    services.groups.remove(fields.group_name)
    if fields.remove_offset or fields.clean_offset:
        for topic in (yield from topics_of(services.offsets, fields.group_name)):
            services.offsets.remove(fields.group_name, topic)
            yield None
    return Reply()


ROUTES: Final = (
    Route(
        code=RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
        handler=_put,
        heading="create or change a subscription group",
    ),
    Route(
        code=RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG,
        handler=_all,
        heading="all subscription groups' configurations",
    ),
    Route(
        code=RequestCode.DELETE_SUBSCRIPTIONGROUP,
        header=DeleteSubscriptionGroupRequestHeader,
        handler=_remove,
        heading="remove a subscription group, and optionally its offsets",
    ),
)
