"""Offsets of queues at their brokers: the ends, the committed one, the one at a time."""

from __future__ import annotations

from enum import Enum

from rocketwire.remoting.core.client import Client
from rocketwire.remoting.core.session import Request
from rocketwire.remoting.core.steps import Operation, Tell
from rocketwire.remoting.messages import Queue
from rocketwire.wire.bodies.client import ConsumeFromWhere
from rocketwire.wire.codes import RequestCode, ResponseCode
from rocketwire.wire.headers.offset import (
    GetMaxOffsetRequestHeader,
    GetMinOffsetRequestHeader,
    QueryConsumerOffsetRequestHeader,
    SearchOffsetRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)


class Begin(Enum):
    """Where a group begins in a queue of which it has committed no offset."""

    FIRST = ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET
    """At the oldest message."""
    LAST = ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET
    """Behind the newest message. Brokers begin at the oldest if the queue has never lost a message to retention."""


class Offsets:
    """The offsets of one consumer group."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def first(self, queue: Queue) -> Operation[int]:
        """The offset of the oldest message."""
        fields = GetMinOffsetRequestHeader(topic=queue.topic, queue_id=queue.queue_id)
        return (yield from self._number(queue, Request(RequestCode.GET_MIN_OFFSET, fields)))

    def end(self, queue: Queue) -> Operation[int]:
        """The offset that the next message will get."""
        fields = GetMaxOffsetRequestHeader(topic=queue.topic, queue_id=queue.queue_id)
        return (yield from self._number(queue, Request(RequestCode.GET_MAX_OFFSET, fields)))

    def at(self, queue: Queue, milliseconds: int) -> Operation[int]:
        """The offset of the first message that was stored at or after a time."""
        fields = SearchOffsetRequestHeader(topic=queue.topic, queue_id=queue.queue_id, timestamp=milliseconds)
        return (yield from self._number(queue, Request(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, fields)))

    def committed(self, queue: Queue) -> Operation[int | None]:
        """The group's committed offset: of the next message to consume. None without one."""
        fields = QueryConsumerOffsetRequestHeader(
            consumer_group=self._client.settings.group, topic=queue.topic, queue_id=queue.queue_id
        )
        peer = yield from self._client.located(queue)
        fine = (ResponseCode.SUCCESS, ResponseCode.QUERY_NOT_FOUND)
        answer = yield from self._client.ask(peer, Request(RequestCode.QUERY_CONSUMER_OFFSET, fields), fine)
        return int(answer.ext["offset"]) if answer.code == ResponseCode.SUCCESS else None

    def start(self, queue: Queue, begin: Begin | int) -> Operation[int]:
        """Where the group continues: at the committed offset, else where it begins; a number is a time in ms."""
        found = yield from self.committed(queue)
        if found is not None:
            return found
        if begin is Begin.FIRST:
            return (yield from self.first(queue))
        if begin is Begin.LAST:
            return (yield from self.end(queue))
        return (yield from self.at(queue, begin))

    def commit(self, queue: Queue, offset: int, *, wait: bool) -> Operation[None]:
        """Commit an offset; without `wait` nobody says whether the broker has it."""
        peer = yield from self._client.located(queue)
        fields = UpdateConsumerOffsetRequestHeader(
            consumer_group=self._client.settings.group,
            topic=queue.topic,
            queue_id=queue.queue_id,
            commit_offset=offset,
        )
        request = Request(RequestCode.UPDATE_CONSUMER_OFFSET, fields)
        if wait:
            yield from self._client.ask(peer, request)
        else:
            yield Tell(peer, request)

    def _number(self, queue: Queue, request: Request) -> Operation[int]:
        peer = yield from self._client.located(queue)
        answer = yield from self._client.ask(peer, request)
        return int(answer.ext["offset"])
