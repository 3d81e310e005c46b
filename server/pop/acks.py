"""Requests about messages that clients popped: acknowledgements, and changes of the invisible time.

An acknowledgement is a record for the revive topic, and nothing else. A change of the time writes a new check point for
the one message, and acknowledges it in the old one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from rocketwire.server.core.append import Append
from rocketwire.server.core.client_errors import DeliveryOver, NotInQueue
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.errors import response_code
from rocketwire.server.core.request import Reply
from rocketwire.server.pop.checks import PopChecks
from rocketwire.server.pop.ordered import PopQueue
from rocketwire.server.pop.parts import PopState
from rocketwire.server.pop.pop_topics import PopTopics
from rocketwire.server.pop.records import AckedPoint, PopRecords, check_invisible_time
from rocketwire.server.pop.reviving.deliveries import UnorderedDeliveries
from rocketwire.store.append.drafts import AppendResult, Draft
from rocketwire.wire.bodies.pop import BatchAck, decode_bit_set
from rocketwire.wire.errors import PopHandleInvalid
from rocketwire.wire.facts.codes import ResponseCode, SerializeType
from rocketwire.wire.headers.pop import (
    AckMessageRequestHeader,
    ChangeInvisibleTimeRequestHeader,
    ChangeInvisibleTimeResponseHeader,
)
from rocketwire.wire.names import MAX_BROKER_NAME_LENGTH
from rocketwire.wire.pop_handle import ORDER_REVIVE_QUEUE, PopHandle, decode_pop_handle, topic_for_kind
from rocketwire.wire.pop_records import BATCH_ACK_OFFSET, Ack, CheckPoint

_JSON: Final = int(SerializeType.JSON)


class FixedReply:
    """An answer that does not depend on where something was stored, nor on whether the disk has it in time."""

    __slots__ = ("_reply",)

    def __init__(self, reply: Reply) -> None:
        self._reply = reply

    def reply(self, _appended: Sequence[AppendResult], _code: ResponseCode) -> Reply:
        """The answer."""
        return self._reply

    def refused(self, error: Exception) -> Reply:
        """The code and text of the error."""
        return Reply(code=response_code(error), remark=str(error))


_CLOCK_BACK_MS: Final = 24 * 60 * 60 * 1000
"""The clock may have been set back by so much since a handle was made."""
ACKED: Final = FixedReply(Reply())
"""The answer to an acknowledgement."""
_NOT_CHANGED: Final = ChangeInvisibleTimeResponseHeader(pop_time=0, invisible_time=0, revive_qid=0)
"""The answer about a message that was popped in order and acknowledged."""


class Acks:
    """Makes what one broker stores of acknowledgements and changes."""

    def __init__(
        self,
        state: PopState,
        checks: PopChecks,
        *,
        pop_topics: PopTopics,
        records: PopRecords,
        deliveries: UnorderedDeliveries,
        clock: Clock,
    ) -> None:
        self._ordered = state.ordered
        self._storing = state.storing
        self._resets = state.resets
        self._checks = checks
        self._timer_keys = checks.timer_keys
        self._pop_topics = pop_topics
        self._records = records
        self._deliveries = deliveries
        self._clock = clock

    def ack(self, fields: AckMessageRequestHeader, remote: str) -> Reply | Append:
        """Acknowledge a message; `remote` is the client's address, for the remark of a refusal.

        Raises:
            ServerError: the message is not known; see `PopChecks.message_may_be_popped`.
            PopHandleInvalid: the handle is not one.
        """
        queue = PopQueue(fields.topic, fields.consumer_group, fields.queue_id)
        self._checks.message_may_be_popped(queue, fields.offset, remote, behind=1)
        handle = self._handle(fields.extra_info)
        if handle.in_order:
            self._ordered.ack(queue, fields.offset, handle.pop_time, handle.invisible_time)
            return Reply()
        return self._appended([self._ack(queue, handle, fields.offset)])

    def draft(self, queue: PopQueue, broker: str, point: AckedPoint, remote: str, now: int) -> Draft:
        """What is stored of the acknowledgement of messages of a check point, which were not popped in order.

        Args:
            queue: Their queue.
            broker: That they were popped from.
            point: The check point, and which ones.
            remote: The client's address, for the text of an error.
            now: The time in ms since 1970.

        Raises:
            ServerError: a message is not known; see `PopChecks.message_may_be_popped`.
            PopHandleInvalid: the handle is not one.
        """
        self._checks.group_may_ack(queue, remote)
        least, end = self._checks.queue_bounds(queue)
        offsets, pop_time, revive_queue = point.offsets, point.pop_time, point.revive_queue
        if not (least <= min(offsets) and max(offsets) <= end):
            raise NotInQueue
        due = pop_time + point.invisible_ms
        self._check(revive_queue, broker, due, now)
        return self._records.acks_draft(queue, broker, point.start, pop_time, offsets, revive_queue, due, now)

    def ack_all(
        self, acks: Sequence[BatchAck], broker: str | None, remote: str, *, strict: bool = False
    ) -> Reply | Append:
        """Acknowledge messages of several check points; offsets outside their queues are ignored, as by Apache.

        Args:
            acks: Which ones.
            broker: That they were popped from.
            remote: The client's address, for the remark of a refusal.
            strict: Whether offsets outside their queues are refused instead.

        Raises:
            NotInQueue: there are none, or one is refused.
            TopicNotFound, GroupNotFound, MessageIllegal, PopHandleInvalid: as `ack`, of any of them; then none that is
                not in order is acknowledged.
            BodyInvalid: a set of offsets is not one.
        """
        if not acks:
            raise NotInQueue
        drafts: list[Draft] = []
        now = self._clock()
        for each in acks:
            queue = PopQueue(
                topic_for_kind(each.retry, each.topic, each.consumer_group), each.consumer_group, each.queue_id
            )
            self._checks.group_may_ack(queue, remote)
            least, end = self._checks.queue_bounds(queue)
            start = each.start_offset
            offsets = [start + bit for bit in decode_bit_set(each.bit_set)]
            if offsets and not (least <= offsets[0] and offsets[-1] <= end):
                if strict:
                    raise NotInQueue(f"offsets of {queue.topic}@{queue.queue_id} are not within {least}~{end}")
                offsets = [offset for offset in offsets if least <= offset <= end]
            if each.revive_queue_id == ORDER_REVIVE_QUEUE:
                for offset in offsets:
                    self._ordered.ack(queue, offset, each.pop_time, each.invisible_time)
            elif offsets:
                due = each.pop_time + each.invisible_time
                self._check(each.revive_queue_id, broker or "", due, now)
                ack = _ack_of(queue, each.start_offset, each.pop_time, broker, BATCH_ACK_OFFSET, tuple(offsets))
                drafts.append(self._records.ack(ack, each.revive_queue_id, due, now))
        return self._appended(drafts) if drafts else Reply()

    def change(self, fields: ChangeInvisibleTimeRequestHeader, remote: str) -> Reply | Append:
        """Keep a message from others for another time from now on.

        A handle may be changed once: the answer has what the next one is made from. Apache's broker takes each
        change, and gives the message as often.

        Raises:
            DeliveryOver: the message was acknowledged or changed with this handle, or is visible again.
            ServerError: the message does not exist, or the time is too long.
            PopHandleInvalid: the handle is not one.
        """
        queue = PopQueue(fields.topic, fields.consumer_group, fields.queue_id)
        self._checks.message_may_be_popped(queue, fields.offset, remote, behind=0)
        handle = self._handle(fields.extra_info)
        check_invisible_time(fields.invisible_time, self._timer_keys.current.timer_max_delay_sec, least=0)
        now = self._clock()
        if handle.in_order:  # a change of the batch in the table: no copy is made, and the handle stays good
            visible_at = now + fields.invisible_time
            if not self._ordered.change(queue, fields.offset, handle.pop_time, visible_at):
                return Reply(fields=_NOT_CHANGED)
            return Reply(fields=_changed(handle.pop_time, visible_at - handle.pop_time, handle))
        offset, pop_time = fields.offset, handle.pop_time
        if not self._deliveries.is_outstanding(queue, handle, offset, now):
            raise DeliveryOver
        if self._resets.cancels(queue, offset, pop_time):  # and so is the handle that it gets
            return Reply(fields=_changed(handle.pop_time, now + fields.invisible_time - handle.pop_time, handle))
        now = _after(handle, now)
        drafts = self._changed(queue, handle, offset, now, fields.invisible_time, suspend=fields.suspend)
        reply = Reply(fields=_changed(now, fields.invisible_time, handle))
        return Append(
            drafts,
            FixedReply(reply),
            wait=True,
            conflict_keys=(hash((queue, offset, pop_time)),),
            on_stored=lambda: self._deliveries.note_change(queue, offset, pop_time),
        )

    def give_back(self, messages: Iterable[tuple[PopQueue, PopHandle]]) -> None:
        """Make messages visible again at once, as if they had not been popped: their client has disconnected.

        What cannot be stored now is visible again when its time is up.
        """
        now = self._clock()
        drafts: list[Draft] = []
        for queue, handle in messages:
            if handle.in_order:
                self._ordered.change(queue, handle.offset, handle.pop_time, now)
            elif not self._resets.cancels(queue, handle.offset, handle.pop_time):
                drafts += self._changed(queue, handle, handle.offset, _after(handle, now), 0, suspend=True)
        if drafts:
            self._storing.append(drafts)

    def _handle(self, text: str) -> PopHandle:
        handle = decode_pop_handle(text)
        if not handle.in_order:
            self._check(handle.revive_queue, handle.broker, handle.due, self._clock())
        return handle

    def _check(self, revive_queue: int, broker: str, due: int, now: int) -> None:
        """Check what is written into a record, which must not wait in the timer without end."""
        if not 0 <= revive_queue < self._pop_topics.revive_queues:
            raise PopHandleInvalid
        if len(broker) > MAX_BROKER_NAME_LENGTH or (broker and not broker.isprintable()):
            raise PopHandleInvalid
        if due - now > self._timer_keys.current.timer_max_delay_sec * 1000 + _CLOCK_BACK_MS:
            raise PopHandleInvalid
        self._pop_topics.create_own()

    def _appended(self, drafts: list[Draft]) -> Append:
        return Append(drafts, ACKED, wait=True)

    def _ack(self, queue: PopQueue, handle: PopHandle, offset: int) -> Draft:
        ack = _ack_of(queue, handle.start_offset, handle.pop_time, handle.broker, offset)
        return self._records.ack(ack, handle.revive_queue, handle.due, self._clock())

    def _changed(
        self, queue: PopQueue, handle: PopHandle, offset: int, now: int, invisible_time: int, *, suspend: bool
    ) -> list[Draft]:
        """The new check point of a message, and its acknowledgement in the old one."""
        point = CheckPoint(
            topic=queue.topic,
            group=queue.group,
            queue_id=queue.queue_id,
            start_offset=offset,
            offset_differences=(0,),
            pop_time=now,
            invisible_time=invisible_time,
            broker=handle.broker,
            count=1,
            suspend=suspend,
        )
        drafts = [self._records.check_point(point, handle.revive_queue, now), self._ack(queue, handle, offset)]
        drafts[0].group_size = len(drafts)
        return drafts


def _after(handle: PopHandle, now: int) -> int:
    """When the new check point of a message begins: its acknowledgements must not be taken for those of the old one."""
    return max(now, handle.pop_time + 1)


def _ack_of(
    queue: PopQueue,
    start_offset: int,
    pop_time: int,
    broker: str | None,
    offset: int,
    offsets: tuple[int, ...] | None = None,
) -> Ack:
    return Ack(
        topic=queue.topic,
        group=queue.group,
        queue_id=queue.queue_id,
        start_offset=start_offset,
        pop_time=pop_time,
        broker=broker,
        offset=offset,
        offsets=offsets,
    )


def _changed(pop_time: int, invisible_time: int, handle: PopHandle) -> ChangeInvisibleTimeResponseHeader:
    return ChangeInvisibleTimeResponseHeader(
        pop_time=pop_time, invisible_time=invisible_time, revive_qid=handle.revive_queue
    )
