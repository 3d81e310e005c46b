"""Offsets: what groups consumed (14, 15) and where queues begin, end and were at a time (29-32)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rocketwire.server.core.errors import NotFound
from rocketwire.server.core.request import Reply, Request
from rocketwire.server.core.route import RequestRoutes
from rocketwire.server.offsets.consumed import commit_offset
from rocketwire.store.protocol import StoreProtocol
from rocketwire.store.tables.offsets import OffsetTable
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.headers import offset as headers


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetServices:
    """The services of requests for offsets."""

    offsets: OffsetTable
    store: StoreProtocol


family: Final = RequestRoutes[OffsetServices]("offset")


@family.route(
    RequestCode.QUERY_CONSUMER_OFFSET,
    header=headers.QueryConsumerOffsetRequestHeader,
    response=headers.QueryConsumerOffsetResponseHeader,
    summary="a group's committed offset",
)
def _query(services: OffsetServices, request: Request[headers.QueryConsumerOffsetRequestHeader]) -> Reply:
    """The committed offset; 0 for a group without one while the whole queue is young, else "not found".

    With "not found" the client goes by its consumeFromWhere; Apache answers 0 while the queue's first message still
    counts as in memory, so that a group that is new on a small topic gets everything.
    """
    fields = request.fields
    offset = services.offsets.query(fields.consumer_group, fields.topic, fields.queue_id)
    if offset is None:
        from_start = fields.set_zero_if_not_found is not False and _starts_in_memory(
            services, fields.topic, fields.queue_id
        )
        if not from_start:
            raise NotFound("Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first")
        offset = 0
    return Reply(fields=headers.QueryConsumerOffsetResponseHeader(offset=offset))


def _starts_in_memory(services: OffsetServices, topic: str, queue_id: int) -> bool:
    store = services.store
    return store.min_offset(topic, queue_id) <= 0 and not store.get(topic, queue_id, 0, 1).is_far_behind


@family.route(
    RequestCode.UPDATE_CONSUMER_OFFSET,
    header=headers.UpdateConsumerOffsetRequestHeader,
    response=headers.UpdateConsumerOffsetResponseHeader,
    summary="commit a group's offset",
)
def _update(services: OffsetServices, request: Request[headers.UpdateConsumerOffsetRequestHeader]) -> Reply:
    fields = request.fields
    commit_offset(services.offsets, fields.consumer_group, fields.topic, fields.queue_id, fields.commit_offset)
    return Reply(ext={})


@family.route(
    RequestCode.SEARCH_OFFSET_BY_TIMESTAMP,
    header=headers.SearchOffsetRequestHeader,
    response=headers.SearchOffsetResponseHeader,
    summary="a queue's offset at a time",
)
def _search(services: OffsetServices, request: Request[headers.SearchOffsetRequestHeader]) -> Reply:
    fields = request.fields
    offset = services.store.offset_by_time(fields.topic, fields.queue_id, fields.timestamp)
    return Reply(fields=headers.SearchOffsetResponseHeader(offset=offset))


@family.route(
    RequestCode.GET_MAX_OFFSET,
    header=headers.GetMaxOffsetRequestHeader,
    response=headers.GetMaxOffsetResponseHeader,
    summary="the offset of a queue's next message",
)
def _max(services: OffsetServices, request: Request[headers.GetMaxOffsetRequestHeader]) -> Reply:
    offset = services.store.max_offset(request.fields.topic, request.fields.queue_id)
    return Reply(fields=headers.GetMaxOffsetResponseHeader(offset=offset))


@family.route(
    RequestCode.GET_MIN_OFFSET,
    header=headers.GetMinOffsetRequestHeader,
    response=headers.GetMinOffsetResponseHeader,
    summary="the offset of a queue's oldest message",
)
def _min(services: OffsetServices, request: Request[headers.GetMinOffsetRequestHeader]) -> Reply:
    offset = services.store.min_offset(request.fields.topic, request.fields.queue_id)
    return Reply(fields=headers.GetMinOffsetResponseHeader(offset=offset))


@family.route(
    RequestCode.GET_EARLIEST_MSG_STORETIME,
    header=headers.GetEarliestMsgStoretimeRequestHeader,
    response=headers.GetEarliestMsgStoretimeResponseHeader,
    summary="when a queue's oldest message was stored",
)
def _earliest(services: OffsetServices, request: Request[headers.GetEarliestMsgStoretimeRequestHeader]) -> Reply:
    timestamp = services.store.earliest_time(request.fields.topic, request.fields.queue_id)
    return Reply(fields=headers.GetEarliestMsgStoretimeResponseHeader(timestamp=timestamp))
