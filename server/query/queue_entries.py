"""Entries of a consume queue, and what a group subscribes to of its topic (321), as `mqadmin queryCq` shows them.

Entries have no extension here, so no filter is evaluated on them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rocketwire.remoting.core.steps import Operation
from rocketwire.server.clients.groups import ClientGroups
from rocketwire.server.core.errors import ServerError
from rocketwire.server.core.long_tasks import ReplyOperation, encode_answer, in_batches
from rocketwire.server.core.request import Reply, Request
from rocketwire.server.core.route import RequestRoutes
from rocketwire.server.filters.tag import is_tag_type
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.store.layout.consume_queue import ENTRY_SIZE, ENTRY_STRUCT
from rocketwire.store.protocol import StoreProtocol
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.client import SubscriptionData
from rocketwire.wire.bodies.progress import ConsumeQueueData, QueryConsumeQueueResponseBody
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.headers.query import QueryConsumeQueueRequestHeader

MOST_ENTRIES: Final = 16_384
"""The most entries of one answer."""
_LEAST_ENTRY: Final = len('{"eval":false,"physicOffset":0,"physicSize":0,"tagsCode":0},')


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueEntryServices:
    """The services of these requests."""

    clients: ClientGroups
    store: StoreProtocol
    topics: BrokerTopics


class QueueMissing(ServerError):
    """The topic has no such queue."""


family: Final = RequestRoutes[QueueEntryServices]("queue")


@family.route(
    RequestCode.QUERY_CONSUME_QUEUE, header=QueryConsumeQueueRequestHeader, summary="entries of a consume queue"
)
def _entries(services: QueueEntryServices, request: Request[QueryConsumeQueueRequestHeader]) -> ReplyOperation:
    fields = request.fields
    topic, queue_id, store = fields.topic, fields.queue_id, services.store
    end = store.max_offset(topic, queue_id)
    if not end and not _has(services.topics.get(topic), queue_id):
        raise QueueMissing(f"{queue_id}@{topic} is not exist!")
    begin = store.min_offset(topic, queue_id)
    if not begin <= fields.index < end:
        return Reply(remark=f"Index {fields.index} of {queue_id}@{topic} is not exist!")
    subscription, filter_data = _subscribed(services.clients, fields.consumer_group, topic)
    found = yield from _read(store, topic, queue_id, range(fields.index, min(end, fields.index + _count(fields))))
    body = QueryConsumeQueueResponseBody(
        subscription_data=subscription,
        filter_data=filter_data,
        queue_data=tuple(found),
        max_queue_index=end,
        min_queue_index=begin,
    )
    return Reply(body=((yield from encode_answer(body, len(found), len(found) * _LEAST_ENTRY)),))


def _has(topic: TopicConfig | None, queue_id: int) -> bool:
    return topic is not None and 0 <= queue_id < max(topic.read_queue_nums, topic.write_queue_nums)


def _count(fields: QueryConsumeQueueRequestHeader) -> int:
    return min(max(0, fields.count), MOST_ENTRIES)


def _subscribed(clients: ClientGroups, group: str | None, topic: str) -> tuple[SubscriptionData | None, str | None]:
    """What a group subscribes to, and the text about its filter."""
    if group is None:
        return None, None
    consumers = clients.consumer(group)
    subscription = None if consumers is None else consumers.subscriptions.get(topic)
    if subscription is None:
        return None, f"{group}@{topic} is not online!"
    return subscription, "null" if is_tag_type(subscription.expression_type) else encode_body(subscription).decode()


def _read(store: StoreProtocol, topic: str, queue_id: int, offsets: range) -> Operation[list[ConsumeQueueData]]:
    found: list[ConsumeQueueData] = []
    for part in in_batches(offsets):
        first, entries = store.queue_entries(topic, queue_id, offsets.start + len(found), len(part))
        if first != offsets.start + len(found) or not entries:
            break  # removed meanwhile
        found += [
            ConsumeQueueData(physic_offset=place, physic_size=size, tags_code=code)
            for place, size, code in ENTRY_STRUCT.iter_unpack(entries[: len(part) * ENTRY_SIZE])
        ]
        yield None
    return found
