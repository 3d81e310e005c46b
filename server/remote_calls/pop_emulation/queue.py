"""One queue of a broker that is read for a group: what was pulled of it, and what of that is in flight.

It knows no network and no clock. What it holds is lost with the process: the offset that is committed lies below all
that is not acknowledged, so the next reader of the queue gets that again.
"""

from __future__ import annotations

import heapq
from struct import Struct
from typing import Final

from rocketwire.remoting.core.process_queue import MOST_MESSAGES, ProcessQueue
from rocketwire.wire.errors import RecordInvalid
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.facts.properties import RETRY_TOPIC
from rocketwire.wire.facts.record import BORN_HOST_AT, SYS_FLAG_AT, TOTAL_SIZE_AT
from rocketwire.wire.hosts import HOST_V4_SIZE, HOST_V6_SIZE
from rocketwire.wire.message import decode_record
from rocketwire.wire.properties import property_value

MOST_BYTES: Final = 8 << 20
"""Bytes of records of a queue that are held, in flight or not: beyond that it is not read on."""
MOST_SPAN: Final = 10_000
"""How far the lowest message that is not acknowledged may lie behind: so much is redelivered when the proxy dies."""
_ENOUGH: Final = 64
"""Messages that wait to be delivered: more are not read ahead."""
_MOST_TRIES: Final = 1 << 30
"""The highest number that a broker may send: they are counted on in an integer of 32 bits."""
_INT: Final = Struct(">i")
_LONG: Final = Struct(">q")
_RETRY_TOPIC: Final = RETRY_TOPIC.encode()


class PulledMessage:
    """A message that was pulled and is not acknowledged.

    Attributes:
        offset: Its queue offset.
        topic: That consumers know it by: of one that was sent back its first topic.
        tries: How often it was delivered without an acknowledgement, by the broker's count and here.
        pop_time: When it was delivered last, in ms since 1970; 0: it was not.
        due: When it is visible again, likewise.
    """

    __slots__ = ("_record", "_times_at", "counts", "due", "offset", "pop_time", "topic", "tries")

    def __init__(self, record: bytes, offset: int, topic: str) -> None:
        self._record = record
        self._times_at = _times_at(record)
        self.offset = offset
        self.topic = topic
        self.tries = min(_INT.unpack_from(record, self._times_at)[0], _MOST_TRIES)
        self.pop_time = 0
        self.due = 0
        self.counts = True

    def __len__(self) -> int:
        return len(self._record)

    def record(self) -> bytes:
        """The record, with the number of tries in it."""
        at = self._times_at
        return self._record[:at] + _INT.pack(self.tries) + self._record[at + _INT.size :]


def _times_at(record: bytes) -> int:
    """Where the reconsume times of a record are."""
    (sys_flag,) = _INT.unpack_from(record, SYS_FLAG_AT)
    hosts = sum(
        HOST_V6_SIZE if sys_flag & flag else HOST_V4_SIZE for flag in (SysFlag.BORN_HOST_V6, SysFlag.STORE_HOST_V6)
    )
    return BORN_HOST_AT + hosts + _LONG.size


class PulledQueue:
    """The queue, while the lock is held.

    Attributes:
        topic: As the broker has it: perhaps the group's retry topic.
        queue_id: The queue.
        begin: The offset from which it has been read.
        process: What was pulled and is not acknowledged; its offset is what may be committed.
        leaves: Whether nothing more is delivered, as another proxy is to have it.
        attempt_id: Of the receive in order that has its messages.
    """

    def __init__(self, topic: str, queue_id: int, begin: int) -> None:
        self.topic = topic
        self.queue_id = queue_id
        self.begin = begin
        self.process: ProcessQueue[PulledMessage] = ProcessQueue(begin, most_bytes=MOST_BYTES)
        self.process.committed = begin
        self.leaves = False
        self.attempt_id: str | None = None
        self._fresh: dict[int, None] = {}
        self._flying: list[tuple[int, int]] = []

    # --- reading

    @property
    def has_room(self) -> bool:
        """Whether there is room for more, and need."""
        return (
            not self.leaves
            and len(self._fresh) < _ENOUGH
            and self.process.has_room
            and self.process.next_offset - self.process.offset < MOST_SPAN
        )

    def add(self, body: bytes, next_offset: int, *, retried: bool) -> None:
        """Take the records of a pull; those in a retry topic are distinguished by their first topics.

        Raises:
            RecordInvalid: they are none, or many more than requested; also the other errors of `decode_record`.
        """
        at = count = 0
        while at < len(body):
            count += 1
            if count > MOST_MESSAGES:
                raise RecordInvalid(f"a pull brings more than {MOST_MESSAGES} messages")
            message = decode_record(body, at, check_crc=False)
            (size,) = _INT.unpack_from(body, at + TOTAL_SIZE_AT)
            record = body[at : at + size]
            at += size
            offset = message.queue_offset
            if offset < self.process.next_offset or offset in self.process:
                continue
            first = property_value(message.properties, _RETRY_TOPIC) if retried else None
            topic = self.topic if first is None else str(first, "utf-8", "replace")
            self.process.add(offset, PulledMessage(record, offset, topic), size)
            self._fresh[offset] = None
        self.process.next_offset = next_offset

    # --- delivering

    def take(self, topic: str, most: int, now: int) -> list[PulledMessage]:
        """Messages of a topic that may be delivered, redeliveries first; `deliver` takes them out."""
        found: list[PulledMessage] = []
        if self.leaves:
            return found
        self._come_again(now)
        for offset in self._fresh:
            if len(found) >= most:
                break
            each = self.process.get(offset)
            if each is not None and each.topic == topic:
                found.append(each)
        return found

    def take_in_order(self, topic: str, most: int, now: int, attempt_id: str | None) -> list[PulledMessage]:
        """Likewise the lowest ones, unless some are in flight for another receive."""
        again = attempt_id is not None and attempt_id == self.attempt_id
        self._come_again(now)
        flies = len(self._fresh) < len(self.process)
        if self.leaves or (flies and not again):
            return []
        found = [each for each in self.process if each.topic == topic and (not flies or each.due > now)]
        if found:
            self.attempt_id = attempt_id
        return found[:most]

    def deliver(self, taken: list[PulledMessage], now: int, invisible_ms: int) -> None:
        """Note that messages go out."""
        for each in taken:
            self._fresh.pop(each.offset, None)
            self._fly(each, now, now + invisible_ms)

    def _fly(self, each: PulledMessage, pop_time: int, due: int) -> None:
        each.pop_time, each.due, each.counts = pop_time, due, True
        heapq.heappush(self._flying, (due, each.offset))

    def _come_again(self, now: int) -> None:
        """Put what is due to what waits, in front of that."""
        came: dict[int, None] = {}
        while self._flying and self._flying[0][0] <= now:
            due, offset = heapq.heappop(self._flying)
            each = self.process.get(offset)
            if each is not None and each.due == due and offset not in self._fresh and offset not in came:
                each.tries += each.counts
                each.due = each.pop_time = 0
                came[offset] = None
        if came:
            self._fresh = dict.fromkeys((*sorted(came), *self._fresh))

    def next_due(self) -> int | None:
        """When a message is redelivered, in ms since 1970; None: nothing is in flight."""
        return self._flying[0][0] if self._flying else None

    # --- outcomes

    def known(self, offset: int) -> bool:
        """Whether a message was read here."""
        return self.begin <= offset < self.process.next_offset

    def find(self, offset: int, pop_time: int, now: int) -> PulledMessage | None:
        """A message in flight, by its last delivery."""
        each = self.process.get(offset)
        return each if each is not None and each.pop_time == pop_time and each.due > now else None

    def acknowledge(self, offset: int, pop_time: int, now: int) -> bool:
        """Forget a consumed message; False: its delivery is over, or is not known here."""
        if offset not in self.process:
            return self.known(offset)  # it was acknowledged before
        each = self.find(offset, pop_time, now)
        if each is None:
            return False
        self.process.remove(offset)
        return True

    def change(self, each: PulledMessage, now: int, invisible_ms: int, *, counts: bool) -> None:
        """Make a message in flight visible so many ms from now; it counts as a try, or not."""
        pop_time = max(now, each.pop_time + 1)  # the handle of before is over
        self._fly(each, pop_time, pop_time + invisible_ms)
        each.counts = counts

    def in_flight(self, now: int) -> bool:
        """Whether a client has messages of it."""
        self._come_again(now)
        return len(self._fresh) < len(self.process)
