"""Which store a stream has read: the newest message that was read of each, kept beside the offsets.

Offsets are numbers, which another store may have, too. A continued stream compares one message with what the log has at
its place now. It is the one farthest in the log of those read, so that a log that lost any of them lacks this one. A
message that its broker removed meanwhile, as too old, shows nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rocketwire.spark.plan.entries import Entries
from rocketwire.spark.plan.planning import whole_queue
from rocketwire.spark.stores.snapshot import StoreSnapshot
from rocketwire.spark.stream.offsets import BrokerQueue, LastRead, Offsets
from rocketwire.store.offline.read.heads import LARGEST_HEAD, head_marks
from rocketwire.store.offline.read.log import CommitLogReader
from rocketwire.store.offline.read.opening import FileGone
from rocketwire.store.offline.read.queues import BLANK_SIZE


class ReplacedStore(NamedTuple):
    """A store that does not have the message that was read last.

    Attributes:
        broker: Its broker.
        what: What it has in its place.
    """

    broker: str
    what: str


def replaced_stores(stores: Iterable[StoreSnapshot], read: Mapping[str, LastRead]) -> list[ReplacedStore]:
    """The stores that are not those of which these messages were read.

    Raises:
        StoreUnreadable: a file cannot be read.
    """
    found = []
    for store in stores:
        last = read.get(store.broker)
        if last is None or last.physical_offset < store.start:
            continue
        place = last.physical_offset
        with CommitLogReader(store.directory.commit_log) as log:
            is_gone = log.file_of(place) is None and place < store.end
            try:
                there = last if is_gone else _message_at(log, place)
            except FileGone:
                continue
        if there != last:
            now = f"the log ends at {store.end} now" if place >= store.end else "the log has another one there now"
            what = f"the message at physical offset {place} of {store.broker} was read before, and {now}"
            found.append(ReplacedStore(store.broker, what))
    return found


def newest(stores: Iterable[StoreSnapshot], before: Mapping[BrokerQueue, int], ends: Offsets) -> dict[str, LastRead]:
    """Of each broker the message farthest in the log of those between `before` and `ends`, if there is one.

    A queue that is not in `before` counts from its first message on.

    Raises:
        StoreUnreadable: a file cannot be read.
    """
    by_broker = {store.broker: store for store in stores}
    places: dict[str, list[int]] = {}
    for queue, end in ends.items():
        if end != before.get(queue) and queue.broker in by_broker:
            place = _last_place(by_broker[queue.broker], queue, end)
            if place is not None:
                places.setdefault(queue.broker, []).append(place)
    found = {broker: _newest_of(by_broker[broker], mine) for broker, mine in places.items()}
    return {broker: message for broker, message in found.items() if message is not None}


def _newest_of(store: StoreSnapshot, places: Sequence[int]) -> LastRead | None:
    with CommitLogReader(store.directory.commit_log) as log:
        for place in sorted(places, reverse=True):
            try:
                message = _message_at(log, place)
            except FileGone:
                continue
            # A damaged entry, or a damaged message, is skipped.
            if message is not None:
                return message
    return None


def _last_place(store: StoreSnapshot, queue: BrokerQueue, end: int) -> int | None:
    """Where the last message before an offset is in the log; None if the log has none."""
    _, topic, queue_id = queue
    whole = whole_queue(store, topic, queue_id)
    if whole is None or end <= store.bounds(topic, queue_id)[0]:
        return None
    with Entries(whole) as entries:
        try:
            place, size, _ = entries.entry(end - 1)
        except FileGone:
            return None
    return place if 0 < size < BLANK_SIZE else None


def _message_at(log: CommitLogReader, place: int) -> LastRead | None:
    """The message there; None if the log has no valid one."""
    marks = head_marks(log.read(place, LARGEST_HEAD), place)
    return None if marks is None else LastRead(place, *marks)
