"""Requests about several topics or one: creation of a list (18), the system topics (305), one configuration (351).

Of a list all names are checked before the first topic is entered; the topics are entered and saved in parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from rocketwire.remoting.core.steps import Operation
from rocketwire.server.admin.handlers import AdminServices, answer_to
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
from rocketwire.server.topics.attributes import altered_attributes
from rocketwire.wire import names
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.route import TopicList
from rocketwire.wire.bodies.topic import CreateTopicListRequestBody, TopicConfig
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.headers.admin import GetTopicConfigRequestHeader

family: Final = RequestRoutes[AdminServices]("admin")


@family.route(RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, summary="create or change several topics")
def _create(services: AdminServices, request: Request[None]) -> ReplyOperation:
    return _created(services, parse_body(CreateTopicListRequestBody, request.body), request.held())


def _created(
    services: AdminServices, read: Operation[CreateTopicListRequestBody], held: Request[None]
) -> ReplyOperation:
    topics = (yield from read).topic_config_list
    for part in in_batches(topics):
        _check(services, part)
        yield None
    for part in in_batches(topics):
        services.topics.put_all([_altered(services, topic) for topic in part])
        yield None
    services.when_registered(answer_to(held))
    return None


def _check(services: AdminServices, topics: Sequence[TopicConfig]) -> None:
    for topic in topics:
        name = topic.topic_name
        problem = names.topic_name_error(name) or names.system_topic_conflict(name, services.topics.own)
        if problem is not None:
            raise NameInvalid(problem)


def _altered(services: AdminServices, topic: TopicConfig) -> TopicConfig:
    """The topic with its attributes, which a request writes as changes: `+name`."""
    if not topic.attributes:
        return replace(topic, attributes=None)
    former = services.topics.get(topic.topic_name)
    text = ",".join(f"{name}={value}" for name, value in topic.attributes.items())
    current = None if former is None else former.attributes
    return replace(topic, attributes=altered_attributes(current, text, new=former is None))


@family.route(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER, summary="the names of the system's topics")
def _system_topics(services: AdminServices, _request: Request[None]) -> ReplyOperation:
    topics = tuple(sorted(names.SYSTEM_TOPICS | services.topics.own))
    return Reply(
        body=((yield from encode_answer(TopicList(topic_list=topics), len(topics), json_size_of_texts(topics))),)
    )


@family.route(RequestCode.GET_TOPIC_CONFIG, header=GetTopicConfigRequestHeader, summary="one topic's configuration")
def _one(services: AdminServices, request: Request[GetTopicConfigRequestHeader]) -> Reply:
    topic = request.fields.topic
    found = services.topics.get(topic)
    if found is None:
        return Reply(code=ResponseCode.TOPIC_NOT_EXIST, remark=f"No topic in this broker. topic: {topic}")
    return Reply(body=(encode_body(found),))
