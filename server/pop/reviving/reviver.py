"""The reviver: makes messages visible again that were popped and not acknowledged in time.

It reads the revive topic as the timer fills it. A check point is decided when its time is over and the timer has
delivered all that was due by then, acknowledgements among it. What is not acknowledged is stored in a retry topic, and
with it in one group an acknowledgement by the broker, behind the check point. So after a kill the same records are read
again, from the group CID_RMQ_SYS_REVIVE_GROUP's offset on, and no message comes again twice; nor does it when Apache's
broker reads them.
"""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Callable, Iterable
from typing import Final, Protocol

import trio
from msgspec.structs import replace

from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.errors import ServerError
from rocketwire.server.messages.stored_message import StoredMessage, stored_message
from rocketwire.server.messages.storing import Storing
from rocketwire.server.pop.pop_topics import PopTopics
from rocketwire.server.pop.records import PopRecords
from rocketwire.server.pop.renewals import Renewals
from rocketwire.server.pop.reviving.came_again import CameAgain
from rocketwire.server.pop.reviving.joining import NONE, Pending, Points
from rocketwire.server.pop.reviving.revived import revived
from rocketwire.server.timer.tasks import Bell, JobFaults
from rocketwire.server.topics.subscription_groups import SubscriptionGroups
from rocketwire.store.append.drafts import Draft
from rocketwire.store.errors import OffsetsTooMany, RecordTooLarge, StoreError, TopicUnusable
from rocketwire.store.layout.consume_queue import ENTRY_STRUCT
from rocketwire.store.protocol import Messages
from rocketwire.store.tables.offsets import OffsetTable
from rocketwire.wire import names
from rocketwire.wire import properties as property_names
from rocketwire.wire.errors import PopRecordInvalid, RecordInvalid
from rocketwire.wire.java import natural_number
from rocketwire.wire.pop_records import (
    ACK_TAG,
    BATCH_ACK_TAG,
    CHECK_POINT_TAG,
    Ack,
    CheckPoint,
    ack_of_several,
    decode_ack,
    decode_check_point,
)
from rocketwire.wire.properties import reader_of

log = logging.getLogger(__name__)

_STEP_SECONDS: Final = 0.002
_READ_AT_ONCE: Final = 256
_MOST_DRAFTS: Final = 256
_MOST_BYTES: Final = 512 << 10
#: Records are read to the end before anything is decided, unless so many check points are in memory. Then what is read
#: decides: records stand about in the order of their times.
_MOST_PENDING: Final = 50_000
_APART_MS: Final = 2000
_LONGEST_PAUSE: Final = 0.5
_AFTER_DUE: Final = 0.002
#: What comes within this time is read together: check points come a second early.
_GATHER_SECONDS: Final = 0.01
_AGAIN_MS: Final = 1000
#: The index may have a message as due 1 ms after its time: see `store.timer.units.due`.
_GRAIN_MS: Final = 2
_tags: Final = reader_of(property_names.TAGS.encode())
_deliver_at: Final = reader_of(property_names.TIMER_DELIVER_MS.encode())
_ACK_TAGS: Final = (ACK_TAG.encode(), BATCH_ACK_TAG.encode())
_CK_TAG: Final = CHECK_POINT_TAG.encode()
_FOR_EVER: Final = (RecordTooLarge, TopicUnusable)


class Delivered(Protocol):
    """What the timer has delivered: see `timer.Timer`."""

    @property
    def enqueued(self) -> int:
        """How many records of the timer's topic are in its index, or were."""

    @property
    def known(self) -> int:
        """How many records the timer's topic has."""

    def delivered_before(self, now: int) -> int:
        """All that is in the index and due before this time in ms is delivered; `now` at most."""


class PopCounts:
    """What the reviver did since the start.

    Attributes:
        revived: Messages that came again.
        renewed: Check points that were written anew, because their client is still here.
        settled: Check points that are done.
        unreadable: Records that are neither check points nor acknowledgements.
        lost: Messages that could not come again: they are not in the log any more, or can never be stored.
        lateness: How late the last messages came again, in ms.
    """

    __slots__ = ("lateness", "lost", "renewed", "revived", "settled", "unreadable")

    def __init__(self) -> None:
        self.revived = 0
        self.renewed = 0
        self.settled = 0
        self.unreadable = 0
        self.lost = 0
        self.lateness = 0


class Reviver:
    """Makes messages of one broker visible again.

    Args:
        store: The store.
        storing: Stores messages.
        offsets: The groups' offsets.
        pop_topics: Creates retry topics.
        records: Makes acknowledgements.
        groups: The consumer groups.
        timer: What the timer has delivered.
        clock: Gives the time in ms since 1970.
        wake: Called when messages were stored.
        broker_name: The broker's name.
        host: Its address, as records have it.
        renewals: Which messages are renewed instead.

    Attributes:
        counts: What it did.
    """

    def __init__(
        self,
        *,
        store: Messages,
        storing: Storing,
        offsets: OffsetTable,
        pop_topics: PopTopics,
        records: PopRecords,
        groups: SubscriptionGroups,
        timer: Delivered,
        clock: Clock,
        wake: Callable[[], None],
        broker_name: str,
        host: bytes,
        renewals: Renewals,
    ) -> None:
        self.counts = PopCounts()
        self._store = store
        self._storing = storing
        self._offsets = offsets
        self._pop_topics = pop_topics
        self._records = records
        self._groups = groups
        self._timer = timer
        self._clock = clock
        self._wake = wake
        self._broker_name = broker_name
        self._host = host
        self._renewals = renewals
        self._topic = pop_topics.revive
        self._came_again = CameAgain(store, None if store.stopped_cleanly else clock())
        self._queues: dict[int, Points] = {}
        self._bell = Bell()
        self._faults = JobFaults("messages that were popped come again later")
        #: A moment, and how many records the timer's topic had then: they have to be in the index.
        self._since: tuple[int, int] | None = None
        #: When they were.
        self._entered: int | None = None
        #: All that was due up to a moment is in the revive topic, before these ends of its queues.
        self._until = 0
        self._ends: dict[int, int] = {}

    @property
    def pending(self) -> int:
        """How many check points are in memory."""
        return sum(map(len, self._queues.values()))

    def arrived(self, queues: Iterable[tuple[str, int]]) -> None:
        """Note that messages were stored in these queues."""
        for topic, _ in queues:
            if topic == self._topic:
                self._bell.ring()
                return

    def moved(self) -> None:
        """Note that the clock has jumped."""
        self._bell.ring()

    async def run(self) -> None:
        """Revive for ever."""
        while True:
            pause = _LONGEST_PAUSE
            async with self._faults.told():
                pause = await self.round()
            until = trio.current_time() + pause
            await self._bell.heard(pause)
            await trio.sleep(max(0.0, min(until - trio.current_time(), _GATHER_SECONDS)))

    async def round(self) -> float:
        """Read what is new, and decide what can be decided; in how many seconds there may be more.

        Raises:
            StoreError, OSError: the revive topic cannot be read now.
        """
        store = self._store
        for queue_id in store.queue_ids(self._topic):
            if queue_id not in self._queues:
                committed = self._offsets.query(names.REVIVE_GROUP, self._topic, queue_id)
                last = store.max_offset(self._topic, queue_id) - 1
                self._queues[queue_id] = Points(NONE if committed is None else min(committed, last), self._broker_name)
        self._look_at_timer()
        for queue_id, points in self._queues.items():
            await self._read(queue_id, points)
            await self._decide(queue_id, points)
        return self._pause()

    def _look_at_timer(self) -> None:
        """Find out up to when all that was due is in the revive topic, and where it ends then.

        What the timer's topic has at one moment is in its index at a later one, or an earlier by the clock, if that is
        set back. A message that is entered when it is overdue is due then, by the index.
        """
        timer, now = self._timer, self._clock()
        if self._since is None:
            self._since = now, timer.known
            self._entered = None
        moment, known = self._since
        if self._entered is None and timer.enqueued >= known:
            self._entered = now
        if self._entered is not None and timer.delivered_before(now) > self._entered + _GRAIN_MS:
            self._until = min(moment, self._entered)
            self._ends = {queue_id: self._store.max_offset(self._topic, queue_id) for queue_id in self._queues}
            self._since = None

    def _pause(self) -> float:
        due = min((points.next_due for points in self._queues.values() if points.next_due is not None), default=None)
        if due is None:
            self._since = None
            return math.inf
        left = due - self._clock()
        if left > 0:
            self._since = None
        return min(max(left / 1000 + _AFTER_DUE, _AFTER_DUE), _LONGEST_PAUSE)

    # --- reading ---

    async def _read(self, queue_id: int, points: Points) -> None:
        end = self._store.max_offset(self._topic, queue_id)
        until = trio.current_time() + _STEP_SECONDS
        while points.read_to < end and len(points) < _MOST_PENDING:
            self._read_some(queue_id, points)
            if trio.current_time() > until:
                await trio.lowlevel.checkpoint()
                until = trio.current_time() + _STEP_SECONDS

    def _read_some(self, queue_id: int, points: Points) -> None:
        first, entries = self._store.queue_entries(self._topic, queue_id, points.read_to, _READ_AT_ONCE)
        if not entries:
            points.read_to = max(first, self._store.max_offset(self._topic, queue_id))
            return
        offset = first
        for place, size, _ in ENTRY_STRUCT.iter_unpack(entries):
            record = self._store.record_at(place, size)
            if record is not None:
                self._note(points, offset, record)
            offset += 1
        points.read_to = offset

    def _note(self, points: Points, offset: int, record: memoryview) -> None:
        """Add a record to what is known."""
        try:
            message = stored_message(record)
            tag = _tags(message.properties)
            if tag == _CK_TAG:
                points.add(decode_check_point(message.body), offset, message.prepared_offset or message.physical_offset)
            elif tag in _ACK_TAGS:
                points.ack(decode_ack(message.body))
            else:
                self.counts.unreadable += 1
        except (RecordInvalid, PopRecordInvalid) as error:
            self.counts.unreadable += 1
            log.warning("revive topic: record at %(offset)d: %(reason)s", {"offset": offset, "reason": error})
        else:
            points.seen = max(points.seen, natural_number(_deliver_at(message.properties) or b"") or 0)

    # --- deciding ---

    async def _decide(self, queue_id: int, points: Points) -> None:
        until = self._until
        if points.read_to < self._ends.get(queue_id, 0):  # too many are in memory
            until = min(until, points.seen - _APART_MS)
        while points.next_due is not None and points.next_due <= until:
            self._revive(queue_id, points, until)
            await trio.lowlevel.checkpoint()
        committed = points.committed
        if committed != NONE and committed != self._offsets.query(names.REVIVE_GROUP, self._topic, queue_id):
            self._offsets.put(names.REVIVE_GROUP, self._topic, queue_id, committed)

    def _revive(self, queue_id: int, points: Points, until: int) -> None:
        """Decide some check points, and store what comes again of them as one group."""
        drafts: list[Draft] = []
        entries: list[tuple[Pending, int]] = []
        renewed: list[tuple[Pending, int]] = []
        size = 0
        now = self._clock()
        while (
            len(drafts) + 2 * len(renewed) < _MOST_DRAFTS
            and size < _MOST_BYTES
            and (pending := points.take_due(until)) is not None
        ):
            invisible_time = self._renewals.renewed(pending.point.renewer, pending.point.pop_time, now)
            if invisible_time is not None and pending.unacked:
                renewed.append((pending, invisible_time))
                continue
            try:
                made = self._made(pending, queue_id, now)
            except (ServerError, StoreError) as error:  # its retry topic cannot be created now
                self._faults.note(error)
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

    def _renew(self, points: Points, renewed: list[tuple[Pending, int]], queue_id: int, until: int) -> None:
        """Write check points anew, and acknowledge the former ones."""
        now = self._clock()
        drafts: list[Draft] = []
        for pending, invisible_time in renewed:
            point = pending.point
            offsets = list(pending.unacked)
            anew = replace(
                point,
                differences=tuple([each - point.start_offset for each in offsets]),
                count=len(offsets),
                bit_map=0,
                invisible_time=invisible_time,
            )
            draft = self._records.check_point(anew, queue_id, now)
            draft.together = 2
            former = ack_of_several(self._ack_of(point, offsets[0]), offsets)
            drafts += (draft, self._records.settled(former, queue_id, point.due, now))
        _, refusals = self._storing.append(drafts)
        for number, (pending, _) in enumerate(renewed):
            refusal = refusals.get(2 * number)
            if refusal is None:
                self.counts.renewed += 1
                self._finish(points, pending)
            else:
                self._faults.note(refusal)
                points.postpone(pending, until + _AGAIN_MS)

    def _made(self, pending: Pending, queue_id: int, now: int) -> list[tuple[int, Draft, Draft]]:
        """What is to be stored for the messages of a check point: each, and an acknowledgement; with queue offsets."""
        point = pending.point
        topic, group = point.topic, point.group
        if not pending.unacked or not self._pop_topics.exists(topic, group) or self._groups.table.get(group) is None:
            return []
        retry = self._pop_topics.retry_of(topic, group)
        made: list[tuple[int, Draft, Draft]] = []
        for offset in list(pending.unacked):
            message = self._message(topic, point.queue_id, offset, pending.place)
            if message is not None and self._came_again.take(message, point, retry):
                del pending.unacked[offset]
                continue
            draft = None if message is None else revived(message, point, retry, self._host)
            if draft is None:
                self._lose(pending, offset)
                continue
            draft.together = 2
            made.append((offset, draft, self._ack(point, queue_id, offset, now)))
        if made and self._pop_topics.make_retry(retry):
            with contextlib.suppress(OffsetsTooMany):  # then the group begins with the oldest message, too
                self._offsets.commit(group, retry, 0, 0)
        return made

    def _ack(self, point: CheckPoint, queue_id: int, offset: int, now: int) -> Draft:
        return self._records.settled(self._ack_of(point, offset), queue_id, point.due, now)

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

    def _lose(self, pending: Pending, offset: int) -> None:
        point = pending.point
        self.counts.lost += 1
        log.warning(
            "group %(group)s: message %(offset)d of queue %(queue)d of topic %(topic)s does not come again",
            {"group": point.group, "offset": offset, "queue": point.queue_id, "topic": point.topic},
        )
        del pending.unacked[offset]

    def _message(self, topic: str, queue_id: int, offset: int, before: int) -> StoredMessage | None:
        """A message that was popped; None when it is not there any more, but at best another one that came later."""
        place = self._store.place((topic, queue_id), offset)
        record = None if place is None or place >= before else self._store.record_at(place)
        if record is None:
            return None
        try:
            return stored_message(record)
        except RecordInvalid:
            return None

    def _store_group(self, points: Points, entries: list[tuple[Pending, int]], drafts: list[Draft], until: int) -> None:
        _, refusals = self._storing.append(drafts)
        for number, (pending, offset) in enumerate(entries):
            refusal = refusals.get(2 * number)
            if refusal is None:
                del pending.unacked[offset]
                self.counts.revived += 1
                self.counts.lateness = max(0, self._clock() - pending.point.due)
            elif isinstance(refusal, _FOR_EVER):
                self._lose(pending, offset)
            else:
                self._faults.note(refusal)
        for pending in dict.fromkeys(pending for pending, _ in entries):
            if pending.unacked:
                points.postpone(pending, until + _AGAIN_MS)
            else:
                self._finish(points, pending)
        self._wake()

    def _finish(self, points: Points, pending: Pending) -> None:
        points.finish(pending)
        self.counts.settled += 1
