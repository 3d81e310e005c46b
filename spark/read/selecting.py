"""Selects the requested records of a buffer, by whole columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rocketwire.spark.columns import kernel
from rocketwire.spark.columns.kernel import Positions
from rocketwire.spark.request.ranges import requested_offset
from rocketwire.spark.request.request import FOREVER, ReadRequest
from rocketwire.spark.request.values import EARLIEST, LATEST, RequestedOffsets
from rocketwire.store.records.columns import Buffer

_MOST_KNOWN: Final = 4096


class RowConditions:
    """The conditions of a request for the records of one store."""

    def __init__(self, request: ReadRequest, broker: str) -> None:
        self._request = request
        self._broker = broker
        self._topics: dict[bytes, bool] = {}
        narrowed, options = request.narrowed, request.options
        self._tags = None if narrowed.tags is None else frozenset(tag.encode() for tag in narrowed.tags)
        self._queues = None if request.queues is None else np.array(sorted(request.queues), np.int64)
        self._offsets = (narrowed.first_offset, narrowed.end_offset) != (0, FOREVER)
        self._edges: list[tuple[RequestedOffsets, bool]] = [
            (edge, is_start)
            for edge, is_start in ((options.starting_offsets, True), (options.ending_offsets, False))
            if isinstance(edge, dict)
        ]

    def of_entries(self, buffer: Buffer, positions: Positions) -> Positions:
        """Those that match, of records whose topic, queue and offset were checked in their queue's entries."""
        request = self._request
        if request.has_times and len(positions):
            [times] = kernel.heads(buffer, positions, ["store_timestamp"])
            positions = positions[(times >= request.since) & (times < request.until)]
        if self._tags is not None and len(positions):
            positions = positions[kernel.tags_are(buffer, positions, self._tags)]
        return positions

    def of_log(self, buffer: Buffer, positions: Positions) -> Positions:
        """Those that match, of any records."""
        if len(positions):
            codes, topics = kernel.topics(buffer, positions)
            taken = np.fromiter(map(self._takes, topics), bool, len(topics))
            passed = taken[codes]
            if self._has_queues:
                passed &= self._by_heads(buffer, positions, codes, topics)
            if not passed.all():
                positions = positions[passed]
        return self._by_ids(buffer, self.of_entries(buffer, positions))

    @property
    def cached_columns(self) -> frozenset[str]:
        """The columns beside a store that `of_columns` examines."""
        found = {"topic"}
        if self._request.has_times:
            found.add("store_timestamp")
        if self._tags is not None:
            found.add("tag")
        if self._has_queues:
            found |= {"queue_id", "queue_offset"}
        return frozenset(found)

    @property
    def _has_queues(self) -> bool:
        return bool(self._edges) or self._queues is not None or self._offsets

    def of_columns(
        self, columns: Mapping[str, NDArray[Any]], topics: Sequence[bytes], tags: Sequence[bytes | None]
    ) -> NDArray[np.bool_]:
        """Which rows match, of columns beside a store; `topics` and `tags` are the texts of their codes."""
        request = self._request
        codes = columns["topic"]
        passed: NDArray[np.bool_] = np.fromiter(map(self._takes, topics), bool, len(topics))[codes]
        if request.has_times:
            times = columns["store_timestamp"]
            passed &= (times >= request.since) & (times < request.until)
        if self._tags is not None:
            passed &= np.fromiter((tag in self._tags for tag in tags), bool, len(tags))[columns["tag"]]
        if self._has_queues:
            passed &= self._by_queues(columns["queue_id"], columns["queue_offset"], codes, topics)
        return passed

    def _takes(self, topic: bytes) -> bool:
        found = self._topics.get(topic)
        if found is None:
            if len(self._topics) >= _MOST_KNOWN:
                self._topics.clear()
            found = self._topics[topic] = self._request.takes_topic(topic.decode("utf-8", "replace"))
        return found

    def _by_heads(
        self, buffer: Buffer, positions: Positions, codes: NDArray[np.int32], topics: list[bytes]
    ) -> NDArray[np.bool_]:
        queue_ids, offsets = kernel.heads(buffer, positions, ["queue_id", "queue_offset"])
        return self._by_queues(queue_ids, offsets, codes, topics)

    def _by_queues(
        self,
        queue_ids: NDArray[np.integer[Any]],
        offsets: NDArray[np.int64],
        codes: NDArray[np.int32],
        topics: Sequence[bytes],
    ) -> NDArray[np.bool_]:
        narrowed = self._request.narrowed
        passed: NDArray[np.bool_] = (offsets >= narrowed.first_offset) & (offsets < narrowed.end_offset)
        if self._queues is not None:
            passed &= np.isin(queue_ids, self._queues)
        for edge, is_start in self._edges:
            for code, name in enumerate(topics):
                topic = name.decode("utf-8", "replace")
                numbers = {number for tables in edge.values() for number in tables.get(topic, {})}
                for number in numbers:
                    asked = requested_offset(edge, self._broker, topic, number)
                    here = (codes == code) & (queue_ids == number)
                    if asked is None or asked == (EARLIEST if is_start else LATEST):
                        continue
                    if asked < 0:  # from the latest on, or up to the earliest: nothing
                        passed &= ~here
                    else:
                        passed &= ~here | ((offsets >= asked) if is_start else (offsets < asked))
        return passed

    def _by_ids(self, buffer: Buffer, positions: Positions) -> Positions:
        narrowed = self._request.narrowed
        for name, ids in (
            ("message_id", narrowed.message_ids),
            ("offset_message_id", narrowed.offset_message_ids),
        ):
            if ids is not None and len(positions):
                import pyarrow.compute as pc

                [found] = kernel.arrays(buffer, positions, [name], decompress=False).batch.columns
                passed = pc.is_in(found, pa.array(sorted(ids), found.type))
                positions = positions[passed.to_numpy(zero_copy_only=False)]
        return positions
