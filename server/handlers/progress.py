"""Progress: where the queues of a topic end (202), how far groups are in them (208, 303), and which groups (300)."""

from __future__ import annotations

from typing import Final

from rocketwire.server.clock import local_text
from rocketwire.server.errors import TopicUnknown
from rocketwire.server.handlers.route import Route
from rocketwire.server.request import Reply, Request
from rocketwire.server.services import BrokerServices
from rocketwire.server.topics import MOST_QUEUES, check_queues
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.client import MessageQueue
from rocketwire.wire.bodies.progress import (
    ConsumeStats,
    GroupList,
    OffsetWrapper,
    QueryConsumeTimeSpanBody,
    QueueTimeSpan,
    TopicOffset,
    TopicStatsTable,
)
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.codes import RequestCode
from rocketwire.wire.headers import group as headers

_MOST_QUEUES_OF_A_GROUP: Final = 4 * MOST_QUEUES  # in all its topics; telling of so many takes a second


def _topic(services: BrokerServices, topic: str) -> TopicConfig:
    config = services.topics.get(topic)
    if config is None:
        raise TopicUnknown(topic)
    return config


def _queue_ids(topic: str, queues: int) -> range:
    check_queues(f"topic[{topic}]", queues)
    return range(queues)


def _queue(services: BrokerServices, topic: str, queue_id: int) -> MessageQueue:
    return MessageQueue(topic=topic, broker_name=services.config.current.broker_name, queue_id=queue_id)


def _topic_stats(services: BrokerServices, request: Request[headers.GetTopicStatsInfoRequestHeader]) -> Reply:
    topic = request.fields.topic
    store = services.store
    table = {}
    for queue_id in _queue_ids(topic, _topic(services, topic).write_queue_nums):
        end = store.max_offset(topic, queue_id)
        table[_queue(services, topic, queue_id)] = TopicOffset(
            min_offset=store.min_offset(topic, queue_id),
            max_offset=end,
            last_update_timestamp=store.store_time(topic, queue_id, end - 1) if end else 0,
        )
    return Reply(body=(encode_body(TopicStatsTable(offset_table=table)),))


def _consume_stats(services: BrokerServices, request: Request[headers.GetConsumeStatsRequestHeader]) -> Reply:
    """Topics that are gone, or that a group on line has unsubscribed from, are left out."""
    group, topic = request.fields.consumer_group, request.fields.topic or ""
    consumers = services.clients.consumer(group)
    subscriptions = {} if consumers is None else consumers.subscriptions
    table: dict[MessageQueue, OffsetWrapper] = {}
    rate = 0.0
    for each in [topic] if topic.strip() else services.offsets.topics(group):
        config = services.topics.get(each)
        if config is None or (subscriptions and each not in subscriptions):
            continue
        check_queues(f"consumer group[{group}]", len(table) + config.read_queue_nums, most=_MOST_QUEUES_OF_A_GROUP)
        for queue_id in range(config.read_queue_nums):
            table[_queue(services, each, queue_id)] = _progress(services, group, each, queue_id)
        rate += services.consume_rates.per_second(group, each)
    return Reply(body=(encode_body(ConsumeStats(offset_table=table, consume_tps=rate)),))


def _progress(services: BrokerServices, group: str, topic: str, queue_id: int) -> OffsetWrapper:
    committed = services.offsets.query(group, topic, queue_id) or 0
    stored = services.store.store_time(topic, queue_id, committed - 1) if committed else 0
    return OffsetWrapper(
        broker_offset=services.store.max_offset(topic, queue_id),
        consumer_offset=committed,
        last_timestamp=max(0, stored),
    )


def _consumed_by(services: BrokerServices, request: Request[headers.QueryTopicConsumeByWhoRequestHeader]) -> Reply:
    topic = request.fields.topic
    groups = dict.fromkeys([*services.clients.groups_of(topic), *services.offsets.groups(topic)])
    return Reply(body=(encode_body(GroupList(group_list=tuple(groups))),))


def _time_span(services: BrokerServices, request: Request[headers.QueryConsumeTimeSpanRequestHeader]) -> Reply:
    topic, group = request.fields.topic, request.fields.group
    queues = _queue_ids(topic, _topic(services, topic).write_queue_nums)
    spans = tuple(_span(services, group, topic, queue_id) for queue_id in queues)
    return Reply(body=(encode_body(QueryConsumeTimeSpanBody(consume_time_span_set=spans)),))


def _span(services: BrokerServices, group: str, topic: str, queue_id: int) -> QueueTimeSpan:
    """A group that has consumed none of the messages that are left is at the oldest one."""
    store = services.store
    begin, end = store.min_offset(topic, queue_id), store.max_offset(topic, queue_id)
    committed = max(begin, services.offsets.query(group, topic, queue_id) or 0)
    oldest = store.earliest_time(topic, queue_id)
    newest = store.store_time(topic, queue_id, end - 1)
    consumed = store.store_time(topic, queue_id, committed - 1) if committed > begin else oldest
    waiting = committed < end
    return QueueTimeSpan(
        message_queue=_queue(services, topic, queue_id),
        min_time_stamp=oldest,
        min_time_stamp_str=local_text(oldest),
        max_time_stamp=newest,
        max_time_stamp_str=local_text(newest),
        consume_time_stamp=consumed,
        consume_time_stamp_str=local_text(consumed),
        delay_time=services.clock() - store.store_time(topic, queue_id, committed) if waiting else 0,
    )


ROUTES: Final = (
    Route(
        code=RequestCode.GET_TOPIC_STATS_INFO,
        header=headers.GetTopicStatsInfoRequestHeader,
        handler=_topic_stats,
        heading="where the queues of a topic begin and end",
    ),
    Route(
        code=RequestCode.GET_CONSUME_STATS,
        header=headers.GetConsumeStatsRequestHeader,
        handler=_consume_stats,
        heading="how far a group has consumed",
    ),
    Route(
        code=RequestCode.QUERY_TOPIC_CONSUME_BY_WHO,
        header=headers.QueryTopicConsumeByWhoRequestHeader,
        handler=_consumed_by,
        heading="which groups consume a topic",
    ),
    Route(
        code=RequestCode.QUERY_CONSUME_TIME_SPAN,
        header=headers.QueryConsumeTimeSpanRequestHeader,
        handler=_time_span,
        heading="when what a group is at was stored",
    ),
)
