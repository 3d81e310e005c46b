"""After a stop that was not clean: the offsets of groups that popped, which the table may have lost.

The table of offsets is saved every few seconds, and a pop moves them as soon as its check point is stored. Without this
messages would be given that are out, or were acknowledged. So the check points of the last seconds move the offsets
past their messages again.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import Final

from rocketwire.server.messages.stored_message import stored_message
from rocketwire.server.pop.ordered import PopQueue
from rocketwire.server.pop.reviving.resetting import OffsetResetter
from rocketwire.store.errors import OffsetsTooMany
from rocketwire.store.layout.consume_queue import ENTRY_STRUCT
from rocketwire.store.protocol import StoreProtocol
from rocketwire.store.tables.offsets import OffsetTable
from rocketwire.wire.errors import PopRecordInvalid, RecordInvalid
from rocketwire.wire.facts import properties as property_names
from rocketwire.wire.names import TIMER_TOPIC
from rocketwire.wire.pop_records import CHECK_POINT_TAG, CheckPoint, decode_check_point
from rocketwire.wire.properties import property_reader

log = logging.getLogger(__name__)

_MARGIN_MS: Final = 3000
"""How long writing the table may take."""
_READ_AT_ONCE: Final = 1024
_CK_TAG: Final = CHECK_POINT_TAG.encode()
_tags: Final = property_reader(property_names.TAGS.encode())


def move_offsets(
    store: StoreProtocol,
    offsets: OffsetTable,
    resets: OffsetResetter,
    revive_topic: str,
    *,
    stopped: int,
    interval: int,
) -> int:
    """Move offsets past the messages of all check points that pops wrote in the last seconds before the stop.

    Groups that were set to other offsets in that time begin there.

    Args:
        store: The store.
        offsets: The table of offsets as it was saved.
        resets: The resets of offsets.
        revive_topic: The name of the revive topic.
        stopped: When the last record before the stop was stored, in ms since 1970; others may be there since.
        interval: How often the table is saved, in ms.

    Returns:
        how many were moved; then the table is saved.

    Raises:
        StoreNotWritable: it could not be saved.
    """
    moved = 0
    since = stopped - interval - _MARGIN_MS
    resets.repeat_since(since)
    queues = [(TIMER_TOPIC, 0), *((revive_topic, queue_id) for queue_id in store.queue_ids(revive_topic))]
    for topic, queue_id in queues:
        for point, place in _check_points(store, topic, queue_id, since):
            ends = point.offsets
            if point.pop_time < since or not ends:
                continue
            if resets.first_cancelled_offset(PopQueue(point.topic, point.group, point.queue_id), place) is not None:
                continue
            behind = max(ends) + 1
            known = offsets.query(point.group, point.topic, point.queue_id)
            if (known is None or known < behind) and behind <= store.max_offset(point.topic, point.queue_id):
                with contextlib.suppress(OffsetsTooMany):
                    offsets.commit(point.group, point.topic, point.queue_id, behind)
                    moved += 1
    if moved:
        offsets.persist()  # else another stop soon would leave the table older than the next start looks back
        log.info("pop: %(moved)d offsets moved past messages that are out since the last save", {"moved": moved})
    return moved


def _check_points(store: StoreProtocol, topic: str, queue_id: int, since: int) -> Iterator[tuple[CheckPoint, int]]:
    """The check points in a queue that were stored from about a time on, with where they were first stored."""
    end = store.max_offset(topic, queue_id)
    if not end:
        return
    offset = store.offset_by_time(topic, queue_id, since)
    while offset < end:
        first, entries = store.queue_entries(topic, queue_id, offset, _READ_AT_ONCE)
        if not entries:
            return
        for place, size, _ in ENTRY_STRUCT.iter_unpack(entries):
            record = store.record_at(place, size)
            if record is None:
                continue
            with contextlib.suppress(RecordInvalid, PopRecordInvalid):
                message = stored_message(record)
                if _tags(message.properties) == _CK_TAG:
                    yield decode_check_point(message.body), message.prepared_offset or message.physical_offset
        offset = first + len(entries) // ENTRY_STRUCT.size
