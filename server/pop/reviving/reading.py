"""Reading the revive topic: which check points are out, and what is acknowledged of them."""

from __future__ import annotations

from typing import Final

from rocketwire.server.messages.loss_log import LossLog
from rocketwire.server.messages.stored_message import stored_message
from rocketwire.server.pop.reviving.pending_check_points import PendingCheckPoints
from rocketwire.store.layout.consume_queue import ENTRY_STRUCT
from rocketwire.store.protocol import StoreProtocol
from rocketwire.wire.errors import PopRecordInvalid, RecordInvalid
from rocketwire.wire.facts import properties as property_names
from rocketwire.wire.java import parse_natural_number
from rocketwire.wire.pop_records import ACK_TAG, BATCH_ACK_TAG, CHECK_POINT_TAG, decode_ack, decode_check_point
from rocketwire.wire.properties import property_reader


class PopCounts:
    """What the reviver did since the start.

    Attributes:
        revived: Messages that were redelivered.
        renewed: Check points that were written again, because their client is connected.
        settled: Check points that are done.
        unreadable: Records that are neither check points nor acknowledgements.
        lost: Messages that could not be redelivered: they are not in the log any more, or can never be stored.
        lateness: How late the last messages were redelivered, in ms.
    """

    __slots__ = ("lateness", "lost", "renewed", "revived", "settled", "unreadable")

    def __init__(self) -> None:
        self.revived = 0
        self.renewed = 0
        self.settled = 0
        self.unreadable = 0
        self.lost = 0
        self.lateness = 0


_tags: Final = property_reader(property_names.TAGS.encode())
_deliver_at: Final = property_reader(property_names.TIMER_DELIVER_MS.encode())
_ACK_TAGS: Final = (ACK_TAG.encode(), BATCH_ACK_TAG.encode())
_CK_TAG: Final = CHECK_POINT_TAG.encode()


class ReviveTopicReader:
    """Reads the queues of the revive topic.

    Args:
        store: The store.
        topic: The revive topic's name.
        counts: Counts records that are neither check points nor acknowledgements.
        losses: Logs those.
    """

    def __init__(self, store: StoreProtocol, topic: str, counts: PopCounts, losses: LossLog) -> None:
        self._store = store
        self._topic = topic
        self._counts = counts
        self._losses = losses

    def read(self, queue_id: int, points: PendingCheckPoints, most: int) -> None:
        """Read some records of a queue that were not read yet, `most` at most.

        Raises:
            StoreError, OSError: they cannot be read now.
        """
        first, entries = self._store.queue_entries(self._topic, queue_id, points.read_to, most)
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

    def _note(self, points: PendingCheckPoints, offset: int, record: memoryview) -> None:
        """Add a record to what is known."""
        try:
            message = stored_message(record)
            tag = _tags(message.properties)
            if tag == _CK_TAG:
                points.add(decode_check_point(message.body), offset, message.prepared_offset or message.physical_offset)
            elif tag in _ACK_TAGS:
                points.ack(decode_ack(message.body))
            else:
                self._counts.unreadable += 1
        except (RecordInvalid, PopRecordInvalid) as error:
            self._counts.unreadable += 1
            self._losses.add(f"revive topic: record at {offset}: {error}")
        else:
            points.seen = max(points.seen, parse_natural_number(_deliver_at(message.properties) or b"") or 0)
