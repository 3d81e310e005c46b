"""Which records a request selects."""

from __future__ import annotations

from rocketwire.spark.request.ranges import requested_offset
from rocketwire.spark.request.request import FOREVER, ReadRequest
from rocketwire.spark.request.values import EARLIEST, LATEST
from rocketwire.store.offline.read.selected import SelectedMessage


class RowConditions:
    """The conditions of a request for the records of one store."""

    def __init__(self, request: ReadRequest, broker: str) -> None:
        self._request = request
        self._broker = broker
        options, narrowed = request.options, request.narrowed
        self._has_offsets = (narrowed.first_offset, narrowed.end_offset) != (0, FOREVER)
        self._edges = (options.starting_offsets, options.ending_offsets)

    def fits_entry(self, record: SelectedMessage) -> bool:
        """Whether a record matches whose topic, queue and offset were checked in its queue's entry."""
        request = self._request
        tags, time = request.narrowed.tags, record.message.store_timestamp
        fits_times = not request.has_times or request.since <= time < request.until
        return fits_times and (tags is None or record.tags in tags)

    def fits(self, record: SelectedMessage) -> bool:
        """Whether a record matches."""
        message, request = record.message, self._request
        narrowed = request.narrowed
        return (
            request.takes_topic(message.topic)
            and (request.queues is None or message.queue_id in request.queues)
            # Damaged or odd records may have negative offsets.
            and (not self._has_offsets or narrowed.first_offset <= message.queue_offset < narrowed.end_offset)
            and self._is_between_edges(message.topic, message.queue_id, message.queue_offset)
            and self.fits_entry(record)
            and (narrowed.message_ids is None or record.message_id in narrowed.message_ids)
            and (narrowed.offset_message_ids is None or record.offset_message_id in narrowed.offset_message_ids)
        )

    def _is_between_edges(self, topic: str, queue_id: int, offset: int) -> bool:
        """Whether an offset is within the requested ones; `earliest` and `latest` are not known here."""
        first, end = (
            requested_offset(edge if isinstance(edge, dict) else None, self._broker, topic, queue_id)
            for edge in self._edges
        )
        is_behind = first in (None, EARLIEST) or (first != LATEST and offset >= first)
        return is_behind and (end in (None, LATEST) or offset < end)
