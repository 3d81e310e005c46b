"""Requests about subscription groups: their configurations (200, 201, 207, 225, 352)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rocketwire.remoting.core.steps import Operation
from rocketwire.server.core.errors import NameInvalid
from rocketwire.server.core.long_tasks import (
    ReplyOperation,
    encode_answer,
    in_batches,
    json_size_of_texts,
    parse_body,
)
from rocketwire.server.core.request import Reply, Request
from rocketwire.server.core.route import RequestRoutes
from rocketwire.server.offsets.consumed import topics_of
from rocketwire.server.topics.subscription_groups import SubscriptionGroups
from rocketwire.store.tables.offsets import OffsetTable
from rocketwire.wire import names
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.group import SubscriptionGroupConfig, SubscriptionGroupList
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.headers.group import (
    DeleteSubscriptionGroupRequestHeader,
    GetSubscriptionGroupConfigRequestHeader,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupServices:
    """The services of these requests."""

    groups: SubscriptionGroups
    offsets: OffsetTable


family: Final = RequestRoutes[GroupServices]("group")


@family.route(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, summary="create or change a subscription group")
def _put(services: GroupServices, request: Request[None]) -> ReplyOperation:
    return _put_one(services, parse_body(SubscriptionGroupConfig, request.body))


def _put_one(services: GroupServices, read: Operation[SubscriptionGroupConfig]) -> ReplyOperation:
    services.groups.put((yield from read))
    return Reply()


@family.route(
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST, summary="create or change several subscription groups"
)
def _put_list(services: GroupServices, request: Request[None]) -> ReplyOperation:
    return _put_all(services, parse_body(SubscriptionGroupList, request.body))


def _put_all(services: GroupServices, read: Operation[SubscriptionGroupList]) -> ReplyOperation:
    """All names are checked first; the groups are entered and saved in parts."""
    groups = (yield from read).group_config_list
    for part in in_batches(groups):
        for group in part:
            problem = names.group_name_error(group.group_name)
            if problem is not None:
                raise NameInvalid(problem)
        yield None
    for part in in_batches(groups):
        services.groups.put_all(part)
        yield None
    return Reply()


@family.route(
    RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG,
    header=GetSubscriptionGroupConfigRequestHeader,
    summary="one subscription group's configuration",
)
def _one(services: GroupServices, request: Request[GetSubscriptionGroupConfigRequestHeader]) -> Reply:
    found = services.groups.find(request.fields.group)
    if found is None:
        return Reply(code=ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, remark="No group in this broker")
    return Reply(body=(encode_body(found),))


@family.route(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, summary="all subscription groups' configurations")
def _all(services: GroupServices, _request: Request[None]) -> ReplyOperation:
    table = services.groups.table
    return Reply(body=((yield from encode_answer(table.wrapper(), len(table), 2 * json_size_of_texts(table.configs))),))


@family.route(
    RequestCode.DELETE_SUBSCRIPTIONGROUP,
    header=DeleteSubscriptionGroupRequestHeader,
    summary="remove a subscription group, and optionally its offsets",
)
def _remove(services: GroupServices, request: Request[DeleteSubscriptionGroupRequestHeader]) -> ReplyOperation:
    fields = request.fields
    services.groups.remove(fields.group_name)
    if fields.remove_offset or fields.clean_offset:
        for topic in (yield from topics_of(services.offsets, fields.group_name)):
            services.offsets.remove(fields.group_name, topic)
            yield None
    return Reply()
