"""Redelivery: the messages of check points whose time is over are stored in their retry topics.

With each message an acknowledgement by the broker is stored in one group, behind the check point. So after a kill no
message is redelivered twice.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Generator
from typing import Final

from msgspec.structs import replace

from rocketwire.server.core.errors import ServerError
from rocketwire.server.messages.loss_log import LossLog
from rocketwire.server.messages.stored_message import StoredMessage, stored_message
from rocketwire.server.pop.ordered import PopQueue
from rocketwire.server.pop.parts import PopRuntime, PopState
from rocketwire.server.pop.pop_topics import PopTopics
from rocketwire.server.pop.records import PopRecords
from rocketwire.server.pop.renewals import Renewals
from rocketwire.server.pop.reviving.pending_check_points import PendingCheckPoint, PendingCheckPoints
from rocketwire.server.pop.reviving.reading import PopCounts
from rocketwire.server.pop.reviving.redelivered_index import RedeliveredIndex
from rocketwire.server.timer.tasks import JobFaults
from rocketwire.store.append.drafts import Draft
from rocketwire.store.errors import DraftRefused, OffsetsTooMany, StoreError
from rocketwire.store.records.lost_pages import guard_against_lost_pages
from rocketwire.wire.errors import RecordInvalid
from rocketwire.wire.facts import properties as property_names
from rocketwire.wire.facts.record import MAX_PROPERTIES_LENGTH
from rocketwire.wire.java import to_int32
from rocketwire.wire.pop_records import Ack, CheckPoint, batch_ack
from rocketwire.wire.properties import property_value
from rocketwire.wire.property_edits import set_properties
from rocketwire.wire.stored_properties import tags_code

log = logging.getLogger(__name__)

_MOST_BYTES: Final = 512 << 10
_AGAIN_MS: Final = 1000


class Redelivery:
    """Stores the redelivered messages of one broker.

    Args:
        state: What it reads and stores in.
        runtime: The clock, and what is woken.
        broker_name: The broker's name.
        pop_topics: Creates retry topics.
        records: Makes acknowledgements.
        renewals: Which messages are renewed instead.

    Attributes:
        counts: What the reviver did.
        faults: Logs errors after which it is tried again.
        losses: Logs messages that cannot be redelivered.
    """

    def __init__(
        self,
        state: PopState,
        runtime: PopRuntime,
        broker_name: str,
        *,
        pop_topics: PopTopics,
        records: PopRecords,
        renewals: Renewals,
    ) -> None:
        self.counts = PopCounts()
        self.losses = LossLog(log, logging.WARNING)
        self.faults = JobFaults("popped messages are redelivered later")
        self._store = state.store
        self._storing = state.storing
        self._offsets = state.offsets
        self._groups = state.groups
        self._resets = state.resets
        self._clock = runtime.clock
        self._wake = runtime.wake
        self._host = runtime.host
        self._broker_name = broker_name
        self._pop_topics = pop_topics
        self._records = records
        self._renewals = renewals
        self._came_again = RedeliveredIndex(state.store, None if state.store.stopped_cleanly else runtime.clock())

    def revive(self, queue_id: int, points: PendingCheckPoints, until: int, most: int) -> Generator[None, None, None]:
        """Decide some check points, and store the messages that are redelivered as one group of about `most` records.

        It is done in one step, unless much has to be read before.
        """
        drafts: list[Draft] = []
        entries: list[tuple[PendingCheckPoint, int]] = []
        renewed: list[tuple[PendingCheckPoint, int]] = []
        size = looked = 0
        now = self._clock()
        while (
            len(drafts) + 2 * len(renewed) < most
            and looked < most
            and size < _MOST_BYTES
            and (pending := points.take_due(until)) is not None
        ):
            looked += 1
            point = pending.point
            if pending.unacked:
                yield from self._came_again.read(point, self._pop_topics.retry_topic(point.topic, point.group))
            self._drop_cancelled(pending)
            invisible_time = self._renewals.renewal_ms(point.renewer, point.pop_time, now, point.invisible_time)
            if invisible_time is not None and pending.unacked:
                renewed.append((pending, invisible_time))
                continue
            try:
                made = self._make_drafts(pending, queue_id, now)
            except (ServerError, StoreError) as error:  # its retry topic cannot be created now
                self.faults.note(error)
                points.postpone(pending, until + _AGAIN_MS)
                continue
            if not pending.unacked or not made:
                self._finish(points, pending)
            for offset, message, ack in made:
                entries.append((pending, offset))
                drafts += (message, ack)
                size += len(message.body)
        if drafts:
            self._store_group(points, entries, drafts, until)
        if renewed:
            self._renew(points, renewed, queue_id, until)

    def _drop_cancelled(self, pending: PendingCheckPoint) -> None:
        """Drop the messages that come by an offset to which their group was set since they were popped."""
        point = pending.point
        first = self._resets.first_cancelled_offset(PopQueue(point.topic, point.group, point.queue_id), pending.place)
        if first is not None:
            for offset in [each for each in pending.unacked if each >= first]:
                del pending.unacked[offset]

    def _renew(
        self, points: PendingCheckPoints, renewed: list[tuple[PendingCheckPoint, int]], queue_id: int, until: int
    ) -> None:
        """Write check points again, and acknowledge the former ones."""
        now = self._clock()
        drafts: list[Draft] = []
        for pending, invisible_time in renewed:
            point = pending.point
            offsets = list(pending.unacked)
            written = replace(
                point,
                offset_differences=tuple([each - point.start_offset for each in offsets]),
                count=len(offsets),
                bit_map=0,
                invisible_time=invisible_time,
            )
            draft = self._records.check_point(written, queue_id, now)
            draft.group_size = 2
            former = batch_ack(self._ack_of(point, offsets[0]), offsets)
            drafts += (draft, self._records.settled_draft(former, queue_id, point.due, now))
        _, refusals = self._storing.append(drafts)
        for number, (pending, _) in enumerate(renewed):
            refusal = refusals.get(2 * number)
            if refusal is None:
                self.counts.renewed += 1
                self._finish(points, pending)
            else:
                self.faults.note(refusal)
                points.postpone(pending, until + _AGAIN_MS)

    def _make_drafts(self, pending: PendingCheckPoint, queue_id: int, now: int) -> list[tuple[int, Draft, Draft]]:
        """What is to be stored for the messages of a check point: each, and an acknowledgement; with queue offsets."""
        point = pending.point
        topic, group = point.topic, point.group
        if not pending.unacked or not self._pop_topics.exists(topic, group) or self._groups.table.get(group) is None:
            return []
        retry = self._pop_topics.retry_topic(topic, group)
        made: list[tuple[int, Draft, Draft]] = []
        for offset in list(pending.unacked):
            message = self._message(topic, point.queue_id, offset, pending.place)
            if message is not None and self._came_again.was_redelivered(message, point, retry):
                del pending.unacked[offset]
                continue
            draft = None if message is None else retry_draft(message, point, retry, self._host)
            if draft is None:
                self._lose(pending, offset)
                continue
            draft.group_size = 2
            made.append((offset, draft, self._ack(point, queue_id, offset, now)))
        if made and self._pop_topics.create_retry(retry):
            with contextlib.suppress(OffsetsTooMany):  # then the group begins with the oldest message, too
                self._offsets.commit(group, retry, 0, 0)
        return made

    def _ack(self, point: CheckPoint, queue_id: int, offset: int, now: int) -> Draft:
        return self._records.settled_draft(self._ack_of(point, offset), queue_id, point.due, now)

    def _ack_of(self, point: CheckPoint, offset: int) -> Ack:
        return Ack(
            topic=point.topic,
            group=point.group,
            queue_id=point.queue_id,
            start_offset=point.start_offset,
            pop_time=point.pop_time,
            broker=point.broker or self._broker_name,
            offset=offset,
        )

    def _lose(self, pending: PendingCheckPoint, offset: int) -> None:
        point = pending.point
        self.counts.lost += 1
        queue = f"queue {point.queue_id} of topic {point.topic}"
        self.losses.add(f"group {point.group}: message {offset} of {queue} is not redelivered")
        del pending.unacked[offset]

    def _message(self, topic: str, queue_id: int, offset: int, before: int) -> StoredMessage | None:
        """A message that was popped; None when the queue has it no more, or a later one in its place."""
        place = self._store.place((topic, queue_id), offset)
        record = None if place is None or place >= before else self._store.record_at(place)
        if record is None:
            return None
        try:
            return stored_message(record)
        except RecordInvalid:
            return None

    def _store_group(
        self, points: PendingCheckPoints, entries: list[tuple[PendingCheckPoint, int]], drafts: list[Draft], until: int
    ) -> None:
        _, refusals = self._storing.append(drafts)
        for number, (pending, offset) in enumerate(entries):
            refusal = refusals.get(2 * number)
            if refusal is None:
                del pending.unacked[offset]
                self.counts.revived += 1
                self.counts.lateness = max(0, self._clock() - pending.point.due)
            elif isinstance(refusal, DraftRefused):
                self._lose(pending, offset)
            else:
                self.faults.note(refusal)
        for pending in {pending.offset: pending for pending, _ in entries}.values():
            if pending.unacked:
                points.postpone(pending, until + _AGAIN_MS)
            else:
                self._finish(points, pending)
        self._wake()

    def _finish(self, points: PendingCheckPoints, pending: PendingCheckPoint) -> None:
        points.finish(pending)
        self.counts.settled += 1


_QUEUE: Final = 0
_FIRST_POP_TIME: Final = property_names.FIRST_POP_TIME.encode()
_ORIGIN_GROUP: Final = property_names.ORIGIN_GROUP.encode()
_TAGS: Final = property_names.TAGS.encode()
_KEYS: Final = property_names.KEYS.encode()
_UNIQ_KEY: Final = property_names.UNIQ_KEY.encode()


def retry_draft(message: StoredMessage, point: CheckPoint, topic: str, host: bytes) -> Draft | None:
    """The draft of a message for a retry topic, as Apache 5.5.0 makes it.

    None: its properties cannot be stored with the two for the time and the client of the pop.

    Args:
        message: The message.
        point: The check point of the pop.
        topic: The retry topic.
        host: The broker's address: the message now comes from there.
    """
    text = message.properties
    items = [(_ORIGIN_GROUP, point.group.encode())]
    if not message.reconsume_times or property_value(text, _FIRST_POP_TIME) is None:
        items.insert(0, (_FIRST_POP_TIME, b"%d" % point.pop_time))
    text = set_properties(text, items)
    if 0 in text:
        found = guard_against_lost_pages(text)
        if found is None:
            return None
        text = found
    if len(text) > MAX_PROPERTIES_LENGTH:
        return None
    tags, unique_key, keys = (_text(text, name) for name in (_TAGS, _UNIQ_KEY, _KEYS))
    draft = message.draft_with(topic, _QUEUE, text, tags_code(tags), unique_key, keys)
    draft.born_host = host
    if not point.suspend:
        draft.reconsume_times = to_int32(draft.reconsume_times + 1)
    return draft


def _text(properties: bytes, name: bytes) -> str | None:
    value = property_value(properties, name)
    return None if value is None else str(value, "utf-8", "replace")
