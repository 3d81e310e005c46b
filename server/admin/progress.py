"""Requests about progress: the ends of a topic's queues (202), groups' offsets (208, 303, 317), its groups (300)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rocketwire.server.clients.groups import ClientGroups
from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.clocks.clock import Clock, local_text
from rocketwire.server.core.errors import TopicNotOnBroker
from rocketwire.server.core.long_tasks import (
    ROWS_PER_STEP,
    ReplyOperation,
    check_answer,
    encode_answer,
    in_batches,
    json_size_of_texts,
)
from rocketwire.server.core.request import Reply, Request
from rocketwire.server.core.route import RequestRoutes
from rocketwire.server.offsets.consumed import groups_of, topics_of
from rocketwire.server.statistics.counters import Counters, Period
from rocketwire.server.statistics.statistics import GroupTopic
from rocketwire.server.topics.subscription_groups import SubscriptionGroups
from rocketwire.server.topics.topics import MOST_QUEUES, BrokerTopics, check_queues
from rocketwire.store.protocol import StoreProtocol
from rocketwire.store.tables.offsets import OffsetTable
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
from rocketwire.wire.bodies.statistics import ConsumeStatsList
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.facts.codes import VERSION_5_0_0, RequestCode
from rocketwire.wire.headers import group as headers
from rocketwire.wire.headers.admin import GetConsumeStatsInBrokerHeader

_MOST_QUEUES_OF_A_GROUP: Final = 4 * MOST_QUEUES  # in all its topics; reporting so many takes a second
_LEAST_ROW: Final = 100  # bytes for one queue, without the names of its topic and broker


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressServices:
    """The services of these requests."""

    address: str
    broker_keys: LiveGroup[BrokerKeys]
    clients: ClientGroups
    clock: Clock
    deliveries: Counters[GroupTopic]
    groups: SubscriptionGroups
    offsets: OffsetTable
    store: StoreProtocol
    topics: BrokerTopics


family: Final = RequestRoutes[ProgressServices]("progress")


def _topic(services: ProgressServices, topic: str) -> TopicConfig:
    config = services.topics.get(topic)
    if config is None:
        raise TopicNotOnBroker(topic)
    return config


def _queue_ids(topic: str, queues: int) -> range:
    check_queues(f"topic[{topic}]", queues)
    return range(queues)


def _queue(services: ProgressServices, topic: str, queue_id: int) -> MessageQueue:
    return MessageQueue(topic=topic, broker_name=services.broker_keys.current.broker_name, queue_id=queue_id)


@family.route(
    RequestCode.GET_TOPIC_STATS_INFO,
    header=headers.GetTopicStatsInfoRequestHeader,
    summary="where the queues of a topic begin and end",
)
def _topic_stats(
    services: ProgressServices, request: Request[headers.GetTopicStatsInfoRequestHeader]
) -> ReplyOperation:
    topic = request.fields.topic
    store = services.store
    queues = _queue_ids(topic, _topic(services, topic).write_queue_nums)
    least = _least(services, topic, len(queues))
    check_answer(least)
    table = {}
    for part in in_batches(queues):
        for queue_id in part:
            end = store.max_offset(topic, queue_id)
            table[_queue(services, topic, queue_id)] = TopicOffset(
                min_offset=store.min_offset(topic, queue_id),
                max_offset=end,
                last_update_timestamp=store.store_time(topic, queue_id, end - 1) if end else 0,
            )
        yield None
    return Reply(body=((yield from encode_answer(TopicStatsTable(offset_table=table), len(table), least)),))


def _least(services: ProgressServices, topic: str, queues: int) -> int:
    """The least number of bytes of an answer about so many queues of a topic."""
    return queues * (_LEAST_ROW + len(topic) + len(services.broker_keys.current.broker_name))


@family.route(
    RequestCode.GET_CONSUME_STATS,
    header=headers.GetConsumeStatsRequestHeader,
    summary="a group's offsets in the queues of a topic",
)
def _consume_stats(
    services: ProgressServices, request: Request[headers.GetConsumeStatsRequestHeader]
) -> ReplyOperation:
    newer = request.header.version >= VERSION_5_0_0
    return _progress_reply(services, request.fields.consumer_group, request.fields.topic or "", newer=newer)


def _progress_reply(services: ProgressServices, group: str, topic: str, *, newer: bool) -> ReplyOperation:
    """Removed topics, and those that a connected group has unsubscribed from, are omitted."""
    topics = [topic] if topic.strip() else (yield from topics_of(services.offsets, group))
    table: dict[MessageQueue, OffsetWrapper] = {}
    rate = 0.0
    least = 0
    for number, each in enumerate(topics):
        if not number % ROWS_PER_STEP:
            yield None
        config = _consumed_topic(services, group, each)
        if config is None:
            continue
        check_queues(f"consumer group[{group}]", len(table) + config.read_queue_nums, most=_MOST_QUEUES_OF_A_GROUP)
        least += _least(services, each, config.read_queue_nums)
        check_answer(least)
        for part in in_batches(range(config.read_queue_nums)):
            for queue_id in part:
                table[_queue(services, each, queue_id)] = _progress(services, group, each, queue_id, newer=newer)
            yield None
        rate += _rate(services, group, each)
    body = ConsumeStats(offset_table=table, consume_tps=rate)
    return Reply(body=((yield from encode_answer(body, len(table), least)),))


def _rate(services: ProgressServices, group: str, topic: str) -> float:
    return services.deliveries.sums((group, topic), Period.MINUTE).per_second


def _progress(services: ProgressServices, group: str, topic: str, queue_id: int, *, newer: bool) -> OffsetWrapper:
    """Pulled messages are not counted here, so a 5.x tool, which subtracts what is consumed, shows none on the way."""
    committed = services.offsets.query(group, topic, queue_id) or 0
    stored = services.store.store_time(topic, queue_id, committed - 1) if committed else 0
    return OffsetWrapper(
        broker_offset=services.store.max_offset(topic, queue_id),
        consumer_offset=committed,
        last_timestamp=max(0, stored),
        pull_offset=committed if newer else None,
    )


@family.route(
    RequestCode.GET_BROKER_CONSUME_STATS, header=GetConsumeStatsInBrokerHeader, summary="the offsets of all groups"
)
def _all_stats(services: ProgressServices, request: Request[GetConsumeStatsInBrokerHeader]) -> ReplyOperation:
    newer = request.header.version >= VERSION_5_0_0
    return _all_progress_reply(services, ordered=request.fields.is_order, newer=newer)


def _all_progress_reply(services: ProgressServices, *, ordered: bool, newer: bool) -> ReplyOperation:
    """Each topic of a group is a separate entry. Groups without offsets are listed, too, without entries.

    The offsets of a broker may be more than an answer can hold: then it refuses the request.
    """
    topics: dict[str, dict[str, TopicConfig]] = {group: {} for group in services.groups.table.configs}
    for at in range(0, services.offsets.places, ROWS_PER_STEP):
        for topic, group in services.offsets.consumptions(at, ROWS_PER_STEP):
            config = _consumed_topic(services, group, topic) if group in topics else None
            if config is not None and (config.order or not ordered):
                topics[group][topic] = config
        yield None
    listed: list[dict[str, tuple[ConsumeStats, ...]]] = []
    behind = least = rows = 0
    for group, consumed in topics.items():
        stats: list[ConsumeStats] = []
        for topic, config in consumed.items():
            least += _least(services, topic, config.write_queue_nums)
            check_answer(least)
            table: dict[MessageQueue, OffsetWrapper] = {}
            for part in in_batches(range(config.write_queue_nums)):
                for queue_id in part:
                    table[_queue(services, topic, queue_id)] = _progress(services, group, topic, queue_id, newer=newer)
                yield None
            rows += len(table)
            behind += sum(each.broker_offset - each.consumer_offset for each in table.values())
            stats.append(ConsumeStats(offset_table=table, consume_tps=_rate(services, group, topic)))
        listed.append({group: tuple(stats)})
        least += len(group)
        if not len(listed) % ROWS_PER_STEP:
            yield None
    body = ConsumeStatsList(consume_stats_list=tuple(listed), broker_addr=services.address, total_diff=behind)
    return Reply(body=((yield from encode_answer(body, rows + len(listed), least)),))


def _consumed_topic(services: ProgressServices, group: str, topic: str) -> TopicConfig | None:
    """A topic's configuration, if the topic exists and the group, when connected, still subscribes to it."""
    consumers = services.clients.consumer(group)
    if consumers is not None and consumers.subscriptions and topic not in consumers.subscriptions:
        return None
    return services.topics.get(topic)


@family.route(
    RequestCode.QUERY_TOPIC_CONSUME_BY_WHO,
    header=headers.QueryTopicConsumeByWhoRequestHeader,
    summary="which groups consume a topic",
)
def _consumed_by(
    services: ProgressServices, request: Request[headers.QueryTopicConsumeByWhoRequestHeader]
) -> ReplyOperation:
    topic = request.fields.topic
    on_line = services.clients.groups_of(topic)
    with_offsets = yield from groups_of(services.offsets, topic)
    groups = tuple(dict.fromkeys([*on_line, *with_offsets]))
    return Reply(
        body=((yield from encode_answer(GroupList(group_list=groups), len(groups), json_size_of_texts(groups))),)
    )


@family.route(
    RequestCode.QUERY_CONSUME_TIME_SPAN,
    header=headers.QueryConsumeTimeSpanRequestHeader,
    summary="the store times at a group's offsets",
)
def _time_span(
    services: ProgressServices, request: Request[headers.QueryConsumeTimeSpanRequestHeader]
) -> ReplyOperation:
    topic, group = request.fields.topic, request.fields.group
    queues = _queue_ids(topic, _topic(services, topic).write_queue_nums)
    least = _least(services, topic, len(queues))
    check_answer(least)
    spans: list[QueueTimeSpan] = []
    for part in in_batches(queues):
        spans += [_span(services, group, topic, queue_id) for queue_id in part]
        yield None
    body = QueryConsumeTimeSpanBody(consume_time_span_set=tuple(spans))
    return Reply(body=((yield from encode_answer(body, len(spans), least)),))


def _span(services: ProgressServices, group: str, topic: str, queue_id: int) -> QueueTimeSpan:
    """A group that has consumed none of the remaining messages is at the oldest one."""
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
