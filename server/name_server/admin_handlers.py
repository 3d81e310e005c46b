"""Administration of the name server: routes, lists of topics, and its configuration.

A topic's route (216), a broker's write permission (205, 327), lists (224, 304, 311-313), configuration (318, 319).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from rocketwire.remoting.core.steps import Operation
from rocketwire.server.config.java_properties import JavaPropertiesInvalid
from rocketwire.server.core.errors import ConfigRejected
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.long_tasks import ReplyOperation, as_one_step, encode_answer, json_size_of_texts
from rocketwire.server.core.request import Reply, Request
from rocketwire.server.core.route import RequestRoutes
from rocketwire.server.name_server.config import NameServerConfig
from rocketwire.server.name_server.routes import RouteTable
from rocketwire.wire.bodies.route import TopicList
from rocketwire.wire.facts.codes import Permission, RequestCode, TopicSysFlag
from rocketwire.wire.headers import route as headers

MOST_CONFIG: Final = 64 * 1024
"""The most bytes of a configuration change."""
_UNITS: Final = TopicSysFlag.UNIT | TopicSysFlag.UNIT_SUB


@dataclass(frozen=True, slots=True, kw_only=True)
class NameServerAdminServices:
    """The services of these requests."""

    routes: RouteTable
    config: NameServerConfig


family: Final = RequestRoutes[NameServerAdminServices]("name server's administration")


@family.route(
    RequestCode.DELETE_TOPIC_IN_NAMESRV,
    header=headers.DeleteTopicFromNamesrvRequestHeader,
    summary="delete a topic's route",
)
def _delete_topic(
    services: NameServerAdminServices, request: Request[headers.DeleteTopicFromNamesrvRequestHeader]
) -> Reply:
    services.routes.delete_topic(request.fields.topic, request.fields.cluster_name)
    return Reply()


@family.route(
    RequestCode.WIPE_WRITE_PERM_OF_BROKER,
    header=headers.WipeWritePermOfBrokerRequestHeader,
    response=headers.WipeWritePermOfBrokerResponseHeader,
    summary="take the permission to write from a broker's topics",
)
def _wipe_write(
    services: NameServerAdminServices, request: Request[headers.WipeWritePermOfBrokerRequestHeader]
) -> ReplyOperation:
    broker = request.fields.broker_name
    count = yield from services.routes.change_permission(broker, lambda perm: perm & ~Permission.WRITE)
    return Reply(fields=headers.WipeWritePermOfBrokerResponseHeader(wipe_topic_count=count))


@family.route(
    RequestCode.ADD_WRITE_PERM_OF_BROKER,
    header=headers.AddWritePermOfBrokerRequestHeader,
    response=headers.AddWritePermOfBrokerResponseHeader,
    summary="give a broker's topics the permission to write",
)
def _add_write(
    services: NameServerAdminServices, request: Request[headers.AddWritePermOfBrokerRequestHeader]
) -> ReplyOperation:
    broker = request.fields.broker_name
    count = yield from services.routes.change_permission(broker, lambda _: Permission.READ | Permission.WRITE)
    return Reply(fields=headers.AddWritePermOfBrokerResponseHeader(add_topic_count=count))


@family.route(
    RequestCode.GET_TOPICS_BY_CLUSTER, header=headers.GetTopicsByClusterRequestHeader, summary="the topics of a cluster"
)
def _of_cluster(
    services: NameServerAdminServices, request: Request[headers.GetTopicsByClusterRequestHeader]
) -> ReplyOperation:
    return _list_reply(services.routes.topics_of_cluster(request.fields.cluster))


def _with_flags(services: NameServerAdminServices, chosen: Callable[[int], bool]) -> ReplyOperation:
    return _list_reply(services.routes.topics_with_flags(chosen))


@family.route(RequestCode.GET_UNIT_TOPIC_LIST, summary="the topics of units")
def _of_units(services: NameServerAdminServices, _request: Request[None]) -> ReplyOperation:
    return _with_flags(services, lambda flags: bool(flags & TopicSysFlag.UNIT))


@family.route(RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST, summary="the topics that units subscribe to")
def _with_unit_subscribers(services: NameServerAdminServices, _request: Request[None]) -> ReplyOperation:
    return _with_flags(services, lambda flags: bool(flags & TopicSysFlag.UNIT_SUB))


@family.route(
    RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST, summary="the topics that units subscribe to and that are of none"
)
def _of_no_unit_with_subscribers(services: NameServerAdminServices, _request: Request[None]) -> ReplyOperation:
    return _with_flags(services, lambda flags: flags & _UNITS == TopicSysFlag.UNIT_SUB)


def _list_reply(topics: Operation[list[str]]) -> ReplyOperation:
    names = tuple((yield from topics))
    return Reply(body=((yield from encode_answer(TopicList(topic_list=names), len(names), json_size_of_texts(names))),))


@family.route(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS, summary="the topics named like clusters and brokers")
def _system_topics(services: NameServerAdminServices, request: Request[None]) -> ReplyOperation:
    info = services.routes.clusters(request.peer)
    addresses = [address for broker in info.broker_addr_table.values() for address in broker.broker_addrs.values()]
    # A broker has two internal topics: one named like its cluster, one like the broker.
    names = tuple(dict.fromkeys((*info.cluster_addr_table, *info.broker_addr_table)))
    body = TopicList(topic_list=names, broker_addr=addresses[0] if addresses else None)
    return _body_reply(body, names)


def _body_reply(body: TopicList, names: Sequence[str]) -> ReplyOperation:
    return Reply(body=((yield from encode_answer(body, len(names), json_size_of_texts(names))),))


@family.route(RequestCode.GET_NAMESRV_CONFIG, summary="the name server's configuration")
def _get_config(services: NameServerAdminServices, _request: Request[None]) -> Reply:
    return Reply(body=(services.config.text().encode(),))


@family.route(RequestCode.UPDATE_NAMESRV_CONFIG, summary="change the name server's configuration")
def _update_config(services: NameServerAdminServices, request: Request[None]) -> ReplyOperation:
    if len(request.body) > MOST_CONFIG:
        raise LimitExceeded("configBytes", MOST_CONFIG)
    return as_one_step(partial(_updated, services, str(request.body, "utf-8", "replace")))


def _updated(services: NameServerAdminServices, text: str) -> Reply:
    try:
        services.config.update(text)
    except JavaPropertiesInvalid as error:
        raise ConfigRejected(str(error)) from error
    return Reply()
