"""Requests about offsets of whole groups: copies (314), the slowest group (308), topics (343), subscriptions (345)."""

from __future__ import annotations

from typing import Final

from rocketwire.remoting.core.steps import Operation
from rocketwire.server.admin.progress import ProgressServices
from rocketwire.server.core.long_tasks import (
    ReplyOperation,
    check_answer,
    encode_answer,
    in_batches,
    json_size_of_texts,
)
from rocketwire.server.core.request import Reply, Request
from rocketwire.server.core.route import RequestRoutes
from rocketwire.server.offsets.consumed import groups_of, topics_of
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.client import SubscriptionData
from rocketwire.wire.bodies.online import QuerySubscriptionResponseBody
from rocketwire.wire.bodies.progress import QueryCorrectionOffsetBody
from rocketwire.wire.bodies.route import TopicList
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.headers import group as headers
from rocketwire.wire.java import INT64_MAX

_LEAST_QUEUE: Final = len("0:0,")


family: Final = RequestRoutes[ProgressServices]("progress")


@family.route(
    RequestCode.CLONE_GROUP_OFFSET,
    header=headers.CloneGroupOffsetRequestHeader,
    summary="give a group the offsets of another one",
)
def _clone(services: ProgressServices, request: Request[headers.CloneGroupOffsetRequestHeader]) -> ReplyOperation:
    """Copy the offsets of topics that exist; unless `offline`, of a connected group those that it subscribes to."""
    fields = request.fields
    source, topic = fields.src_group, fields.topic or ""
    topics = [topic] if topic.strip() else (yield from topics_of(services.offsets, source))
    for each in topics:
        if services.topics.get(each) is None:
            continue
        consumers = services.clients.consumer(source)
        if not fields.offline and consumers is not None and each not in consumers.subscriptions:
            continue
        for part in in_batches(list(services.offsets.queue_offsets(source, each).items())):
            for queue_id, offset in part:
                services.offsets.commit(fields.dest_group, each, queue_id, offset)
            yield None
    return Reply()


@family.route(
    RequestCode.QUERY_CORRECTION_OFFSET,
    header=headers.QueryCorrectionOffsetHeader,
    summary="offsets of the slowest group of a topic, where another group is farther",
)
def _correction(services: ProgressServices, request: Request[headers.QueryCorrectionOffsetHeader]) -> ReplyOperation:
    """Offsets by queue: of the group that is the farthest behind, or the highest number if the compared one is."""
    fields = request.fields
    ignored = frozenset((fields.filter_groups or "").split(","))
    least: dict[int, int] = {}
    groups = [group for group in (yield from groups_of(services.offsets, fields.topic)) if group not in ignored]
    for group in groups:
        yield from _lower(least, services, fields.topic, group)
    compared = services.offsets.queue_offsets(fields.compare_group, fields.topic)
    for part in in_batches(list(least)):
        least.update({queue: INT64_MAX for queue in part if least[queue] > compared.get(queue, INT64_MAX)})
        yield None
    body = QueryCorrectionOffsetBody(correction_offsets=least)
    return Reply(body=((yield from encode_answer(body, len(least), len(least) * _LEAST_QUEUE)),))


def _lower(least: dict[int, int], services: ProgressServices, topic: str, group: str) -> Operation[None]:
    begin = services.store.min_offset
    for part in in_batches(list(services.offsets.queue_offsets(group, topic).items())):
        for queue_id, offset in part:
            if begin(topic, queue_id) <= offset < least.get(queue_id, INT64_MAX):
                least[queue_id] = offset
        yield None


@family.route(
    RequestCode.QUERY_TOPICS_BY_CONSUMER,
    header=headers.QueryTopicsByConsumerRequestHeader,
    summary="the topics that a group has offsets in",
)
def _topics(services: ProgressServices, request: Request[headers.QueryTopicsByConsumerRequestHeader]) -> ReplyOperation:
    group = request.fields.group
    topics = yield from topics_of(services.offsets, group)
    least = 0
    for part in in_batches(topics):  # a group may have offsets in far more topics than there are
        least += json_size_of_texts(part)
        check_answer(least)
        yield None
    return Reply(body=((yield from encode_answer(TopicList(topic_list=tuple(topics)), len(topics), least)),))


@family.route(
    RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER,
    header=headers.QuerySubscriptionByConsumerRequestHeader,
    summary="what a connected group subscribes to of a topic",
)
def _subscription(
    services: ProgressServices, request: Request[headers.QuerySubscriptionByConsumerRequestHeader]
) -> Reply:
    fields = request.fields
    consumers = services.clients.consumer(fields.group)
    found: SubscriptionData | None = None
    if consumers is not None and fields.topic is not None:
        found = consumers.subscriptions.get(fields.topic)
    body = QuerySubscriptionResponseBody(subscription_data=found, group=fields.group, topic=fields.topic)
    return Reply(body=(encode_body(body),))
