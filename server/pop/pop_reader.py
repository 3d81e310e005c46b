"""Taking messages: a pop reads queues from its group's offsets on, and writes a check point for each that it takes of.

Nothing changes before the check points are stored: then `PopResult.stored` moves the offsets. So of two pops of one
queue in a group of appends the second is made again (`Append.conflict_keys`), and one whose check points are refused
takes nothing. Only where there is nothing to take an offset moves at once: to the group's first one, past messages that
its filter does not want, and into the queue if it was outside.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from itertools import count
from typing import Final, NamedTuple

from rocketwire.server.filters import MessageFilter
from rocketwire.server.offsets.consumed import commit_offset
from rocketwire.server.pop.checks import MOST_MESSAGES
from rocketwire.server.pop.keys import PERCENT
from rocketwire.server.pop.ordered import OrderedBatch, PopQueue
from rocketwire.server.pop.parts import PopAccounting, PopRuntime, PopSettings, PopState
from rocketwire.server.pop.pop_result import (
    PLACE,
    PopQueueResult,
    PopResult,
    records_of,
    without_handle,
    without_handles,
)
from rocketwire.server.pop.pop_topics import PopTopics
from rocketwire.server.pop.records import PopRecords
from rocketwire.server.pop.renewals import RenewedPopRequest
from rocketwire.store.read.fetch import FetchResult, FetchStatus
from rocketwire.wire import names
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.errors import RecordInvalid
from rocketwire.wire.facts import properties as property_names
from rocketwire.wire.facts.record import MAGIC_V1, MAGIC_V2, MAX_PROPERTIES_LENGTH, MAX_TOPIC_LENGTH_V1
from rocketwire.wire.headers.pop import PopMessageRequestHeader
from rocketwire.wire.message import MessageRecord, decode_record, encode_record
from rocketwire.wire.pop_handle import ORDER_REVIVE_QUEUE, PopHandle, PoppedQueue, topic_kind
from rocketwire.wire.property_edits import set_properties

_FROM_MIN: Final = 0
_POP_CK: Final = property_names.POP_CK.encode()
_IN_A_ROW: Final = [tuple(range(count)) for count in range(MOST_MESSAGES + 1)]
_ELSEWHERE: Final = frozenset(
    {FetchStatus.OFFSET_TOO_SMALL, FetchStatus.OFFSET_OVERFLOW_BADLY, FetchStatus.OFFSET_FOUND_NULL}
)
"""The offset is wrong, and the fetch has the offset where the messages are."""
_PASSED: Final = frozenset(
    {
        FetchStatus.NO_MATCHED_MESSAGE,
        FetchStatus.OFFSET_FOUND_NULL,
        FetchStatus.MESSAGE_WAS_REMOVING,
        FetchStatus.NO_MATCHED_LOGIC_QUEUE,
    }
)


class QueueBusy(Exception):
    """Another pop has taken messages of a queue, and its check point is not stored yet."""


class PopSpec(NamedTuple):
    """A pop that is served.

    Attributes:
        fields: Its header.
        wanted: Its filter.
        busy: The queues of pops whose check points are not stored yet: from these it takes nothing.
        counts_rest: Whether `PopResult.rest` is wanted of queues that come when the pop has all it may get.
        account: The account of the client; empty: there are no accounts.
    """

    fields: PopMessageRequestHeader
    message_filter: MessageFilter
    busy: Container[PopQueue] = ()
    counts_remaining: bool = True
    account: str = ""


class PopReader:
    """Takes messages of one broker.

    Args:
        state: What it reads, and whose offsets it moves.
        settings: The configuration.
        accounting: Counts what is taken.
        runtime: The clock, and chance.
        pop_topics: Finds retry topics.
        records: Makes check points.
    """

    def __init__(
        self,
        state: PopState,
        settings: PopSettings,
        accounting: PopAccounting,
        runtime: PopRuntime,
        *,
        pop_topics: PopTopics,
        records: PopRecords,
    ) -> None:
        self._store = state.store
        self._offsets = state.offsets
        self._topic = state.topics.get
        self._ordered = state.ordered
        self._keys = settings.pop
        self._transfer_keys = settings.transfer
        self._broker_name = settings.broker.current.broker_name
        self._metrics = accounting.metrics
        self._deliveries = accounting.deliveries
        self._throttle = accounting.throttle
        self._clock = runtime.clock
        self._choose = runtime.choose
        self._pop_topics = pop_topics
        self._records = records
        self._numbers = count()

    def take(self, spec: PopSpec) -> PopResult:
        """What a pop gets now.

        Raises:
            LimitExceeded: the group's offset in a queue is a new one, and too many are kept.
            QueueBusy: it would take of one of `busy`.
        """
        fields = spec.fields
        group, topic = fields.consumer_group, fields.topic
        coin = self._choose(PERCENT)
        taken = self.empty_result(fields, spec.account)
        retries = [] if fields.order else list(self._pop_topics.retry_topics(topic, group, coin))
        retries_first = coin < self._keys.current.pop_from_retry_probability
        if retries_first:
            self._take_of_topics(spec, taken, retries, coin)
        if fields.queue_id >= 0:
            self._take_of_queue(spec, taken, PopQueue(topic, group, fields.queue_id))
        else:
            config = self._topic(topic)
            self._take_of_topics(spec, taken, [] if config is None else [config], coin)
        if not retries_first:
            self._take_of_topics(spec, taken, retries, coin)
        return taken

    def may_find(self, topic: TopicConfig, group: str) -> bool:
        """Whether queues of a topic have messages that a group has not taken yet; its filter may want none."""
        name, end_of = topic.topic_name, self._store.max_offset
        offsets = self._offsets.queue_offsets(group, name)
        for number in range(topic.read_queue_nums):  # noqa: SIM110 - mostly the first decides, without a generator
            if offsets.get(number, -1) < end_of(name, number):
                return True
        return False

    def empty_result(self, fields: PopMessageRequestHeader, account: str) -> PopResult:
        """The result of a pop of an account before it has read a queue: nothing."""
        revive_queue = ORDER_REVIVE_QUEUE if fields.order else next(self._numbers) % self._pop_topics.revive_queues
        return PopResult(fields, account, self._clock(), revive_queue, self._count)

    def _take_of_topics(self, spec: PopSpec, taken: PopResult, topics: Sequence[TopicConfig], first: int) -> None:
        fields, end_of = spec.fields, self._store.max_offset
        group = fields.consumer_group
        for config in topics:
            topic, queues = config.topic_name, config.read_queue_nums
            offsets = self._offsets.queue_offsets(group, topic)
            for number in range(first, first + queues):
                if taken.count >= fields.max_msg_nums and not spec.counts_remaining:
                    return
                queue_id = number % queues
                offset = offsets.get(queue_id, -1)
                if offset >= 0 and not fields.order:  # most queues are empty, or come when the pop has all it may get
                    rest = end_of(topic, queue_id) - offset
                    if rest == 0 or taken.count >= fields.max_msg_nums:
                        taken.rest += rest
                        continue
                self._take_of_queue(spec, taken, PopQueue(topic, group, queue_id), offset)

    def _take_of_queue(self, spec: PopSpec, taken: PopResult, queue: PopQueue, offset: int = -1) -> None:
        """Take of a queue, from the group's offset on; negative: it is looked up."""
        fields = spec.fields
        topic, _, queue_id = queue
        if offset < 0:
            offset = self.offset(queue, fields.init_mode)
        if fields.order and self._ordered.is_blocked(queue, fields.attempt_id, fields.invisible_time):
            return  # what is behind does not count: the pop would be woken for nothing
        most = fields.max_msg_nums - taken.count
        most_bytes = self._transfer_keys.current.max_transfer_bytes_on_message_in_memory - taken.size
        end = self._store.max_offset(topic, queue_id)
        if most <= 0 or most_bytes <= 0 or offset == end:
            taken.rest += end - offset
            return
        if queue in spec.busy:
            raise QueueBusy
        fetched = self._fetch(queue, offset, most, most_bytes, spec.message_filter)
        if not fetched.count and fetched.status in _ELSEWHERE:
            offset = fetched.next_offset
            self._move(queue, offset)
            fetched = self._fetch(queue, offset, most, most_bytes, spec.message_filter)
        if fetched.count:
            self._add(taken, queue, offset, fetched, fields)
        elif fetched.status in _PASSED and fetched.next_offset >= 0:
            self._move(queue, fetched.next_offset)
        taken.rest += max(0, fetched.max_offset - fetched.next_offset)

    def _fetch(self, queue: PopQueue, offset: int, most: int, most_bytes: int, wanted: MessageFilter) -> FetchResult:
        return self._store.get(
            queue.topic,
            queue.queue_id,
            offset,
            most,
            most_bytes,
            wanted.by_code,
            wanted.by_properties,
            wanted.most_text,
        )

    def _move(self, queue: PopQueue, offset: int) -> None:
        commit_offset(self._offsets, queue.group, queue.topic, queue.queue_id, offset)

    def _add(
        self, taken: PopResult, queue: PopQueue, offset: int, fetched: FetchResult, fields: PopMessageRequestHeader
    ) -> None:
        """Add what was fetched of a queue from an offset on."""
        topic, _, queue_id = queue
        if fetched.count == fetched.next_offset - offset:
            offsets: Sequence[int] = range(offset, fetched.next_offset)
            differences = _IN_A_ROW[fetched.count]
        else:
            offsets = [
                PLACE.unpack_from(record)[1]
                for record in records_of(b"".join(fetched.chunks))
                if len(record) >= PLACE.size
            ]
            differences = tuple([each - offset for each in offsets])
        body = self._body(taken, queue, offset, fetched, fields)
        popped = PoppedQueue(topic_kind(topic), queue_id, offset, offsets)
        renewer = fields.renewer if isinstance(fields, RenewedPopRequest) else None
        if fields.order:
            batch = OrderedBatch(queue, fields.attempt_id, taken.pop_time, fields.invisible_time, offsets, renewer)
            taken.add(PopQueueResult(queue, popped, None, body), self._ordered.reconsume_counts(batch))
            taken.batches.append(batch)
            return
        times = taken.pop_time, fields.invisible_time
        point = self._records.pop_draft(
            queue, self._broker_name, offset, differences, *times, renewer, taken.revive_queue
        )
        taken.drafts.append(point)
        taken.add(PopQueueResult(queue, popped, fetched.next_offset, body))

    def _body(
        self, taken: PopResult, queue: PopQueue, start: int, fetched: FetchResult, fields: PopMessageRequestHeader
    ) -> bytes:
        """The records as consumers get them.

        Those of a retry topic have the topic that they were sent to, and their handle. A handle that a client stored in
        a record is taken out: consumers would believe it.
        """
        body = b"".join(fetched.chunks)
        if queue.topic == fields.topic or self._keys.current.pop_response_return_actual_retry_topic:
            return without_handles(body)
        found: list[bytes] = []
        for record in records_of(body):
            try:
                message = decode_record(record, check_crc=False)
            except RecordInvalid:  # the client decides about it
                found.append(record)
                continue
            found.append(self._rewritten(taken, start, message, fields))
        return b"".join(found)

    def _rewritten(
        self, taken: PopResult, start: int, message: MessageRecord, fields: PopMessageRequestHeader
    ) -> bytes:
        """The record of a message in a retry topic, with the topic that it was sent to, and its handle."""
        handle = PopHandle(
            start,
            taken.pop_time,
            fields.invisible_time,
            taken.revive_queue,
            topic_kind(message.topic),
            self._broker_name,
            message.queue_id,
            message.queue_offset,
        )
        properties = set_properties(message.properties, ((_POP_CK, handle.text.encode()),))
        if len(properties) > MAX_PROPERTIES_LENGTH:  # the client makes the handle of the answer's lists
            return without_handle(message)
        magic = MAGIC_V1 if len(fields.topic) <= MAX_TOPIC_LENGTH_V1 else MAGIC_V2
        return encode_record(replace(message, topic=fields.topic, properties=properties, magic=magic))

    def offset(self, queue: PopQueue, init_mode: int) -> int:
        """The offset where a group continues in a queue, or begins; the beginning is noted.

        Raises:
            LimitExceeded: too many offsets are kept.
        """
        topic, group, queue_id = queue
        known = self._offsets.query(group, topic, queue_id)
        if known is not None:
            return known
        offset = self._first(queue, init_mode)
        self._move(queue, offset)
        return offset

    def _first(self, queue: PopQueue, init_mode: int) -> int:
        topic, queue_id = queue.topic, queue.queue_id
        store = self._store
        least = store.min_offset(topic, queue_id)
        if init_mode == _FROM_MIN or topic.startswith(names.RETRY_PREFIX):
            return least
        if least <= 0 and self._keys.current.init_pop_offset_by_check_msg_in_mem:
            first = store.get(topic, queue_id, 0, 1)
            if first.count and not first.is_far_behind:
                return 0
        return max(0, store.max_offset(topic, queue_id) - 1)

    def _count(self, taken: PopResult, fields: PopMessageRequestHeader, account: str) -> None:
        """Move the offsets of a group, whose check points are stored, and count what it gets."""
        group = fields.consumer_group
        for batch in taken.batches:
            self._ordered.note_popped(batch)
        for queue, popped, next_offset, body in taken.queues:
            if next_offset is not None:
                self._offsets.commit(group, queue.topic, queue.queue_id, next_offset)
            self._deliveries.add((group, queue.topic), len(popped.offsets), len(body))
        self._metrics.delivered(taken.count, taken.size)
        throttle = self._throttle
        quota_set = throttle.receive(fields.topic, group, account) if throttle.receives else None
        if quota_set is not None:
            throttle.received(quota_set, [memoryview(each.body) for each in taken.queues])
