"""Peeks: the messages that a group would get, without taking them, and whether there are any."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from rocketwire.server.core.request import Reply
from rocketwire.server.pop.keys import PERCENT
from rocketwire.server.pop.ordered import PopQueue
from rocketwire.server.pop.parts import PopAccounting, PopState
from rocketwire.server.pop.pop_result import without_handles
from rocketwire.server.pop.pop_topics import PopTopics
from rocketwire.store.read.fetch import FetchStatus
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.facts.codes import ResponseCode
from rocketwire.wire.headers.pop import NotificationRequestHeader, PeekMessageRequestHeader, PopMessageResponseHeader

_ELSEWHERE: Final = frozenset({FetchStatus.OFFSET_TOO_SMALL, FetchStatus.OFFSET_OVERFLOW_BADLY})


class Peeking:
    """Reads the queues of one broker as pops do; see `taking.PopReader` for the arguments."""

    def __init__(
        self,
        state: PopState,
        accounting: PopAccounting,
        *,
        pop_topics: PopTopics,
        choose: Callable[[int], int],
    ) -> None:
        self._store = state.store
        self._offsets = state.offsets
        self._ordered = state.ordered
        self._metrics = accounting.metrics
        self._deliveries = accounting.deliveries
        self._pop_topics = pop_topics
        self._choose = choose

    def peek(self, fields: PeekMessageRequestHeader, config: TopicConfig) -> Reply:
        """The answer with the messages that a group would get of a topic."""
        body: list[bytes] = []
        count = size = rest = 0
        for queue in self._queues(config, fields.consumer_group, fields.queue_id):
            topic, group, queue_id = queue
            offset = self._offset(queue)
            most = fields.max_msg_nums - count
            if most > 0:
                fetched = self._store.get(topic, queue_id, offset, most)
                if fetched.status in _ELSEWHERE:
                    fetched = self._store.get(topic, queue_id, fetched.next_offset, most)
                if fetched.count:
                    body.append(without_handles(b"".join(fetched.chunks)))
                    count += fetched.count
                    size += fetched.size
                    self._deliveries.add((group, topic), fetched.count, fetched.size)
            rest += max(0, self._store.max_offset(topic, queue_id) - offset)
        fields_of_answer = PopMessageResponseHeader(rest_num=rest)
        if not count:
            return Reply(code=ResponseCode.PULL_NOT_FOUND, remark="NO_MESSAGE_IN_QUEUE", fields=fields_of_answer)
        self._metrics.delivered(count, size)
        return Reply(remark="FOUND", fields=fields_of_answer, body=body)

    def has_message(self, fields: NotificationRequestHeader, config: TopicConfig) -> bool:
        """Whether there is a message for a group in a topic, or in its retry topics; filters do not count."""
        for queue in self._queues(config, fields.consumer_group, fields.queue_id):
            if fields.order and self._ordered.is_blocked(queue, fields.attempt_id, 0):
                continue
            if self._store.max_offset(queue.topic, queue.queue_id) > self._offset(queue):
                return True
        return False

    def _queues(self, config: TopicConfig, group: str, queue_id: int) -> Iterator[PopQueue]:
        coin = self._choose(PERCENT)
        if queue_id >= 0:
            yield PopQueue(config.topic_name, group, queue_id)
        else:
            yield from _from(coin, config, group)
        for retry in self._pop_topics.retry_topics(config.topic_name, group, coin):
            yield from _from(coin, retry, group)

    def _offset(self, queue: PopQueue) -> int:
        known = self._offsets.query(queue.group, queue.topic, queue.queue_id)
        return self._store.min_offset(queue.topic, queue.queue_id) if known is None else known


def _from(first: int, config: TopicConfig, group: str) -> Iterator[PopQueue]:
    queues = config.read_queue_nums
    return (PopQueue(config.topic_name, group, number % queues) for number in range(first, first + queues))
