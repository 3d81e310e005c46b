"""Subscription groups: their configurations (200, 201, 207)."""

from __future__ import annotations

from typing import Final

from rocketwire.server.handlers.route import Route
from rocketwire.server.request import Reply, Request
from rocketwire.server.services import BrokerServices
from rocketwire.wire.bodies import decode_body, encode_body
from rocketwire.wire.bodies.group import SubscriptionGroupConfig
from rocketwire.wire.codes import RequestCode
from rocketwire.wire.headers.group import DeleteSubscriptionGroupRequestHeader


def _put(services: BrokerServices, request: Request[None]) -> Reply:
    services.groups.put(decode_body(SubscriptionGroupConfig, request.body))
    return Reply()


def _all(services: BrokerServices, _request: Request[None]) -> Reply:
    return Reply(body=(encode_body(services.groups.table.wrapper()),))


def _remove(services: BrokerServices, request: Request[DeleteSubscriptionGroupRequestHeader]) -> Reply:
    fields = request.fields
    services.groups.remove(fields.group_name)
    if fields.remove_offset or fields.clean_offset:
        services.offsets.remove_group(fields.group_name)
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
        heading="remove a subscription group, and its offsets if asked so",
    ),
)
