"""The drafts of check points and acknowledgements: timer messages for the revive topic, as Apache 5.5.0 stores them.

A check point is due a second before its messages are visible again, an acknowledgement when they are. So the check
point of an acknowledgement always stands before it. What would be due in the past goes to the revive topic at once,
but only check points: an acknowledgement must not overtake one that still is with the timer.

The kernel makes those of most pops and acknowledgements.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from rocketwire import native
from rocketwire.server.core.client_errors import ParameterInvalid
from rocketwire.server.core.errors import MessageIllegal
from rocketwire.server.messages.real_queue import with_real_queue
from rocketwire.server.pop.ordered import PopQueue
from rocketwire.store.append.drafts import Draft
from rocketwire.store.timer.units import out_time
from rocketwire.wire.facts.properties import TAGS, TIMER_DELIVER_MS, TIMER_OUT_MS, UNIQ_KEY
from rocketwire.wire.names import TIMER_TOPIC
from rocketwire.wire.pop_records import (
    ACK_TAG,
    BATCH_ACK_OFFSET,
    BATCH_ACK_TAG,
    CHECK_POINT_TAG,
    Ack,
    CheckPoint,
    encode_names,
    encode_renewer,
)
from rocketwire.wire.stored_properties import tags_code

if TYPE_CHECKING:
    from rocketwire._kernel import PopDrafts

AHEAD: Final = 1000
"""So many ms before its messages are visible again a check point comes to the revive topic."""

_CODES: Final = {tag: tags_code(tag) for tag in (CHECK_POINT_TAG, ACK_TAG, BATCH_ACK_TAG)}
_MS_PER_SECOND: Final = 1000


PointNames: TypeAlias = tuple[bytes, bytes, bytes, bytes, bytes]
"""The names of a check point: the members of its body for broker and group, and for the topic; topic, group, broker."""

_REAL: Final = "REAL_"
_KEPT: Final = 1024
"""Brokers, groups and topics whose names are kept."""


class AckedPoint(Protocol):
    """Messages of one check point that are acknowledged together."""

    @property
    def start(self) -> int:
        """Where the check point begins."""

    @property
    def pop_time(self) -> int:
        """When it was written, in ms since 1970."""

    @property
    def invisible_ms(self) -> int:
        """For how long from then on others do not get the messages."""

    @property
    def revive_queue(self) -> int:
        """Its queue of the revive topic."""

    @property
    def offsets(self) -> Sequence[int]:
        """The queue offsets of the messages."""


class PopRecords:
    """Makes the drafts of one broker.

    Args:
        revive_topic: The name of the revive topic.
        host: The broker's address, as records have it.
    """

    def __init__(self, revive_topic: str, host: bytes) -> None:
        self._topic = revive_topic
        self._host = host
        self._native = pop_drafts(revive_topic, host)

    def pop_draft(
        self,
        queue: PopQueue,
        broker: str,
        start_offset: int,
        differences: tuple[int, ...],
        pop_time: int,
        invisible_time: int,
        renewer: str | None,
        revive_queue: int,
    ) -> Draft:
        """The draft of the check point of what a pop takes now; see `CheckPoint` for its parts."""
        topic, group, queue_id = queue
        names = None if self._native is None else point_names(topic, group, broker)
        if names is not None and self._native is not None:
            renewing = b"" if renewer is None else encode_renewer(renewer).encode()
            parts = queue_id, start_offset, differences, pop_time, invisible_time, renewing, revive_queue
            made = self._native.check_point(names, *parts)
            if made is not None:
                return made
        point = CheckPoint(
            topic=topic,
            group=group,
            queue_id=queue_id,
            start_offset=start_offset,
            offset_differences=differences,
            pop_time=pop_time,
            invisible_time=invisible_time,
            broker=broker,
            count=len(differences),
            renewer=renewer,
        )
        return self.check_point(point, revive_queue, pop_time)

    def acks_draft(
        self,
        queue: PopQueue,
        broker: str,
        start_offset: int,
        pop_time: int,
        offsets: Sequence[int],
        revive_queue: int,
        due: int,
        now: int,
    ) -> Draft:
        """The draft of an acknowledgement, as `ack`, of messages with offsets in any order."""
        topic, group, queue_id = queue
        names = None if self._native is None else point_names(topic, group, broker)
        if names is not None and self._native is not None:
            parts = queue_id, start_offset, pop_time, offsets, revive_queue, due, now
            made = self._native.ack(names, *parts)
            if made is not None:
                return made
        acked = tuple(sorted(set(offsets)))
        ack = Ack(
            topic=topic,
            group=group,
            queue_id=queue_id,
            start_offset=start_offset,
            pop_time=pop_time,
            broker=broker,
            offset=acked[0] if len(offsets) == 1 else BATCH_ACK_OFFSET,
            offsets=None if len(offsets) == 1 else acked,
        )
        return self.ack(ack, revive_queue, due, now)

    def check_point(self, point: CheckPoint, revive_queue: int, now: int) -> Draft:
        """The draft of a check point at a time in ms since 1970."""
        return self._draft(CHECK_POINT_TAG, point.unique_key, point.body(), revive_queue, point.due - AHEAD, now)

    def ack(self, ack: Ack, revive_queue: int, due: int, now: int) -> Draft:
        """The draft of an acknowledgement of messages that are visible again at a time, made at another."""
        return self._draft(ack.tag, ack.unique_key, ack.body(), revive_queue, max(due, now + 1), now)

    def settled_draft(self, ack: Ack, revive_queue: int, due: int, now: int) -> Draft:
        """The draft of an acknowledgement by the broker, whose check point is in the revive topic already."""
        return self._draft(ack.tag, ack.unique_key, ack.body(), revive_queue, min(due, now), now)

    def _draft(self, tag: str, key: str, body: bytes, queue_id: int, deliver: int, now: int) -> Draft:
        text = f"{TAGS}\x01{tag}\x02{UNIQ_KEY}\x01{key}\x02{TIMER_DELIVER_MS}\x01{deliver}"
        topic, code = self._topic, _CODES[tag]
        if deliver <= now:
            return Draft(topic, queue_id, body, text.encode(), 0, 0, now, self._host, 0, 0, code, key)
        waiting = with_real_queue(f"{text}\x02{TIMER_OUT_MS}\x01{out_time(deliver)}".encode(), topic, queue_id)
        return Draft(TIMER_TOPIC, 0, body, waiting, 0, 0, now, self._host, 0, 0, code, key)


def check_invisible_time(invisible_time: int, most_seconds: int, *, least: int) -> None:
    """Check an invisible time in ms: at least so long, and no longer than a timer message may wait.

    Raises:
        ParameterInvalid: it is too short.
        MessageIllegal: it is too long.
    """
    if invisible_time < least:
        raise ParameterInvalid(f"the invisible time of {invisible_time} ms is less than {least} ms")
    most = most_seconds * _MS_PER_SECOND
    if invisible_time > most:
        raise MessageIllegal(f"timer message illegal, the delay time should not be bigger than the max delay {most}ms")


def pop_drafts(revive_topic: str, host: bytes) -> PopDrafts | None:
    """What makes drafts for a revive topic, with the broker's address as records have it; None: the twin does."""
    if native.kernel is None or not _is_plain(revive_topic):
        return None
    made: PopDrafts = native.kernel.PopDrafts(
        draft=Draft, revive_topic=revive_topic, timer_topic=TIMER_TOPIC, host=host, codes=tuple(_CODES.values())
    )
    return made


@lru_cache(maxsize=_KEPT)
def point_names(topic: str, group: str, broker: str) -> PointNames | None:
    """The names of a check point for the kernel; None: its records are for the twin."""
    if not all(map(_is_plain, (topic, group, broker))):
        return None
    members, topic_member = encode_names(broker, group, topic)
    return members.encode(), topic_member.encode(), topic.encode(), group.encode(), broker.encode()


def _is_plain(name: str) -> bool:
    """Whether it is nothing but text within properties: none is added then but behind all others."""
    return name.isprintable() and _REAL not in name
