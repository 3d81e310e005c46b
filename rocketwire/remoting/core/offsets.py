"""Offsets of queues at their brokers: the ends, the committed one, the one at a time."""

from __future__ import annotations

from enum import Enum

from rocketwire.remoting.core.group_requests import BrokerClient
from rocketwire.remoting.core.incoming import decode_messages
from rocketwire.remoting.core.session import ClientRequest
from rocketwire.remoting.core.steps import Operation, SendOneway
from rocketwire.remoting.messages import Queue
from rocketwire.remoting.requests import PULLED, pull_header
from rocketwire.wire.bodies.client import ConsumeFromWhere
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.headers.offset import (
    GetMaxOffsetRequestHeader,
    GetMinOffsetRequestHeader,
    QueryConsumerOffsetRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)


class Begin(Enum):
    """Where a group begins in a queue of which it has committed no offset."""

    FIRST = ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET
    """At the oldest message."""
    LAST = ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET
    """Behind the newest message. Brokers begin at the oldest if the queue has never lost a message to retention."""


class OffsetRequests:
    """The offsets of one consumer group."""

    def __init__(self, client: BrokerClient, group: str) -> None:
        self._client = client
        self._group = group

    def first(self, queue: Queue) -> Operation[int]:
        """The offset of the oldest message."""
        fields = GetMinOffsetRequestHeader(topic=queue.topic, queue_id=queue.queue_id)
        return (yield from self._number(queue, ClientRequest(RequestCode.GET_MIN_OFFSET, fields)))

    def end(self, queue: Queue) -> Operation[int]:
        """The offset that the next message will get."""
        fields = GetMaxOffsetRequestHeader(topic=queue.topic, queue_id=queue.queue_id)
        return (yield from self._number(queue, ClientRequest(RequestCode.GET_MAX_OFFSET, fields)))

    def at(self, queue: Queue, milliseconds: int) -> Operation[int]:
        """The offset of the first message that was stored at or after a time; the end if there is none.

        It reads messages and bisects, because brokers answer a query by time with that message or the one before. Store
        times are assumed to rise along the queue.
        """
        low = yield from self.first(queue)
        high = yield from self.end(queue)
        while low < high:
            middle = (low + high) // 2
            stored = yield from self._stored_at(queue, middle)
            if stored is None or stored < milliseconds:
                low = middle + 1
            else:
                high = middle
        return low

    def _stored_at(self, queue: Queue, offset: int) -> Operation[int | None]:
        """When a message was stored; None if it was removed."""
        fields = pull_header(queue.topic, queue.queue_id, offset, most=1, group=self._group)
        peer = yield from self._client.broker_of(queue)
        answer = yield from self._client.ask(peer, ClientRequest(RequestCode.PULL_MESSAGE, fields), PULLED)
        if answer.code != ResponseCode.SUCCESS:
            return None
        return next((each.store_timestamp for each in decode_messages(answer.body, queue)), None)

    def committed(self, queue: Queue, *, zero_if_young: bool = True) -> Operation[int | None]:
        """The group's committed offset: of the next message to consume. None without one.

        Args:
            queue: The queue.
            zero_if_young: Whether the broker may answer 0 of a queue whose first message is still there.
        """
        fields = QueryConsumerOffsetRequestHeader(
            consumer_group=self._group,
            topic=queue.topic,
            queue_id=queue.queue_id,
            set_zero_if_not_found=None if zero_if_young else False,
        )
        peer = yield from self._client.broker_of(queue)
        fine = (ResponseCode.SUCCESS, ResponseCode.QUERY_NOT_FOUND)
        answer = yield from self._client.ask(peer, ClientRequest(RequestCode.QUERY_CONSUMER_OFFSET, fields), fine)
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
        """Commit an offset; without `wait` it is unknown whether the broker has it."""
        peer = yield from self._client.broker_of(queue)
        fields = UpdateConsumerOffsetRequestHeader(
            consumer_group=self._group,
            topic=queue.topic,
            queue_id=queue.queue_id,
            commit_offset=offset,
        )
        request = ClientRequest(RequestCode.UPDATE_CONSUMER_OFFSET, fields)
        if wait:
            yield from self._client.ask(peer, request)
        else:
            yield SendOneway(peer, request)

    def _number(self, queue: Queue, request: ClientRequest) -> Operation[int]:
        peer = yield from self._client.broker_of(queue)
        answer = yield from self._client.ask(peer, request)
        return int(answer.ext["offset"])
