"""Requests about topics (17, 21, 215), configuration (25, 26), runtime information (28), and removal of expired data.

The last are 306, 316 and 329.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from rocketwire.server.admin.runtime_info import RuntimeInfo
from rocketwire.server.admin.topic_removal import TopicRemoval
from rocketwire.server.config.java_properties import format_java_properties, parse_java_properties
from rocketwire.server.config.keys import ConfigError
from rocketwire.server.config.live import LiveKeys
from rocketwire.server.core.errors import ConfigRejected, NameInvalid, response_code
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.long_tasks import ReplyOperation, as_one_step, encode_answer, json_size_of_texts
from rocketwire.server.core.request import Reply, Request
from rocketwire.server.core.route import RequestRoutes
from rocketwire.server.maintenance.queue_removal import QueueRemoval
from rocketwire.server.maintenance.retention import FileRetention
from rocketwire.server.topics.attributes import altered_attributes
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.wire import names
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.route import KVTable
from rocketwire.wire.bodies.topic import TopicConfig, TopicFilterType
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.headers.admin import (
    CreateTopicRequestHeader,
    DeleteTopicRequestHeader,
    GetBrokerConfigResponseHeader,
)

MOST_CONFIG: Final = 64 * 1024
"""The most bytes of a configuration change: all keys take a tenth of it."""
FIXED: Final = {
    "brokerRole": "ASYNC_MASTER",
    "filterServerNums": "0",
    "slaveReadEnable": "false",
    "useTLS": "false",
}
"""Keys of Apache's without effect here that its tools need in the configuration: `exportConfigs` fails without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminServices:
    """The services of these requests.

    Attributes:
        when_registered: Calls a function once the name servers of other processes know of the topics.
    """

    keys: LiveKeys
    lifetime: FileRetention
    queue_removal: QueueRemoval
    runtime_info: RuntimeInfo
    topic_removal: TopicRemoval
    when_registered: Callable[[Callable[[], None]], None]
    topics: BrokerTopics


family: Final = RequestRoutes[AdminServices]("admin")


@family.route(RequestCode.UPDATE_AND_CREATE_TOPIC, header=CreateTopicRequestHeader, summary="create or change a topic")
def _create_topic(services: AdminServices, request: Request[CreateTopicRequestHeader]) -> ReplyOperation:
    return as_one_step(partial(_created, services, request))


def _created(services: AdminServices, request: Request[CreateTopicRequestHeader]) -> None:
    fields = request.fields
    problem = names.topic_name_error(fields.topic) or names.system_topic_conflict(fields.topic, services.topics.own)
    if problem is not None:
        raise NameInvalid(problem)
    try:
        filter_type = TopicFilterType(fields.topic_filter_type)
    except ValueError as error:
        raise NameInvalid(f"topicFilterType [{fields.topic_filter_type}]: SINGLE_TAG or MULTI_TAG") from error
    former = services.topics.get(fields.topic)
    attributes = None
    if fields.attributes:
        current = None if former is None else former.attributes
        attributes = altered_attributes(current, fields.attributes, new=former is None)
    services.topics.put(
        TopicConfig(
            topic_name=fields.topic,
            read_queue_nums=fields.read_queue_nums,
            write_queue_nums=fields.write_queue_nums,
            perm=fields.perm,
            topic_filter_type=filter_type,
            topic_sys_flag=fields.topic_sys_flag or 0,
            order=fields.order,
            attributes=attributes,
        )
    )
    services.when_registered(answer_to(request.held()))


@family.route(
    RequestCode.DELETE_TOPIC_IN_BROKER,
    header=DeleteTopicRequestHeader,
    summary="delete a topic with its queues and consumer offsets",
)
def _delete_topic(services: AdminServices, request: Request[DeleteTopicRequestHeader]) -> None:
    topic = request.fields.topic
    problem = names.topic_name_error(topic) or names.system_topic_conflict(topic, services.topics.own)
    if problem is not None:
        raise NameInvalid(problem)
    held = request.held()

    def done(error: Exception | None) -> None:
        held.peer.reply(held, Reply() if error is None else Reply(code=response_code(error), remark=str(error)))
        held.peer.flush()

    services.topic_removal.remove(topic, done)


@family.route(RequestCode.GET_ALL_TOPIC_CONFIG, summary="all topics' configurations")
def _all_topics(services: AdminServices, _request: Request[None]) -> ReplyOperation:
    table = services.topics.table
    return Reply(
        ext={}, body=((yield from encode_answer(table.wrapper(), len(table), 2 * json_size_of_texts(table.configs))),)
    )


@family.route(RequestCode.UPDATE_BROKER_CONFIG, summary="change the broker's configuration")
def _update_config(services: AdminServices, request: Request[None]) -> ReplyOperation:
    if len(request.body) > MOST_CONFIG:
        raise LimitExceeded("configBytes", MOST_CONFIG)
    return as_one_step(partial(_updated, services, str(request.body, "utf-8", "replace")))


def _updated(services: AdminServices, text: str) -> Reply:
    changes = parse_java_properties(text)
    try:
        services.keys.update(changes)
    except ConfigError as error:
        raise ConfigRejected(str(error)) from error
    if "brokerPermission" in changes:
        services.topics.permission_changed()
    return Reply()


@family.route(
    RequestCode.GET_BROKER_CONFIG, response=GetBrokerConfigResponseHeader, summary="the broker's configuration"
)
def _get_config(services: AdminServices, _request: Request[None]) -> Reply:
    text = format_java_properties({**FIXED, **services.keys.properties()})
    version = encode_body(services.keys.version).decode()
    return Reply(fields=GetBrokerConfigResponseHeader(version=version), body=(text.encode(),))


@family.route(RequestCode.DELETE_EXPIRED_COMMITLOG, summary="remove expired commit log files soon, whatever the hour")
def _remove_expired_log(services: AdminServices, _request: Request[None]) -> Reply:
    services.lifetime.remove_expired_soon()
    return Reply()


@family.route(RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE, summary="remove queues without messages")
def _remove_expired_queues(services: AdminServices, request: Request[None]) -> None:
    services.queue_removal.remove_expired(answer_to(request))


@family.route(RequestCode.CLEAN_UNUSED_TOPIC, summary="remove queues of topics that do not exist any more")
def _remove_unused_topics(services: AdminServices, request: Request[None]) -> None:
    services.queue_removal.remove_unused(services.topics.table.configs, answer_to(request))


def answer_to(request: Request[None]) -> Callable[[], None]:
    """What answers a request later: it is done."""

    def done() -> None:
        request.peer.reply(request, Reply())
        request.peer.flush()

    return done


@family.route(RequestCode.GET_BROKER_RUNTIME_INFO, summary="the broker's runtime information")
def _runtime_info(services: AdminServices, _request: Request[None]) -> ReplyOperation:
    return Reply(body=(encode_body(KVTable(table=(yield from services.runtime_info.table()))),))
