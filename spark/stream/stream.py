"""Streams of stores: the reader that Spark polls for the end of what can be read.

A stream reads by consume queues. Each poll opens the stores again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeVar

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from rocketwire.spark.errors import NotAStore, PathUnreadable, TopicUnknown
from rocketwire.spark.plan.partitions import LogSpan
from rocketwire.spark.plan.planning import narrowed_ranges, plan_ranges
from rocketwire.spark.read.reading import read
from rocketwire.spark.request.ranges import REMOVED, lost
from rocketwire.spark.stores.opening import open_stores, source_error
from rocketwire.spark.stores.snapshot import StoreSnapshot, is_lagging
from rocketwire.spark.stream.admission import admitted
from rocketwire.spark.stream.last_read import newest, replaced_stores
from rocketwire.spark.stream.offsets import BrokerQueue, Offsets, Ranges, last_read, parse_offsets
from rocketwire.spark.stream.queue_stream import Last, QueueStreamReader, without
from rocketwire.store.errors import StoreError
from rocketwire.store.offline.read.directory import StoreState

_WAIT: Final = "Wait until it is ready, and start the query again"
_OTHERWISE: Final = "Use spark.read in place of readStream, or read from the running broker: option namesrv"
T = TypeVar("T")
Stores = list[StoreSnapshot]


class StoreStreamReader(QueueStreamReader[Stores]):
    """Reads the messages of store directories as they are appended."""

    replaced_remedy = "Was the store replaced? Begin with a new checkpointLocation, or set failOnDataLoss to false"

    def partitions(self, start: dict, end: dict) -> list[InputPartition]:  # type: ignore[type-arg] # Spark's signature
        """The tasks that read the messages between two offsets.

        Raises:
            SparkSourceError: a store cannot be read; messages are missing, and options make this an error.
        """
        begun, ended = parse_offsets(start), parse_offsets(end)
        return self._query(lambda stores: self._plan(stores, *self._of_these(stores, start, begun, end, ended)))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task.

        Raises:
            SparkSourceError: a file cannot be read; messages are missing or damaged, and options make this an error.
        """
        if isinstance(partition, LogSpan):
            yield from read(partition, self._request)

    def _query(self, query: Callable[[Stores], T]) -> T:
        try:
            return query(open_stores(self._options))
        except StoreError as error:
            raise source_error(error) from error

    def _begin(self, source: Stores) -> Offsets:
        found: Offsets = {}
        for store in source:
            self._check_queues(store)
            ranges = store.selected(self._options)
            narrowed = narrowed_ranges(store, self._request, ranges)
            for (topic, queue_id), (_, end) in ranges.items():
                first, _ = narrowed.get((topic, queue_id), (end, end))
                found[BrokerQueue(store.broker, topic, queue_id)] = first
        return found

    def _check_queues(self, store: StoreSnapshot) -> None:
        """Refuse stores and topics without consume queues: a stream would silently find nothing in them.

        Raises:
            NotAStore: there are messages, but no queues.
            TopicUnknown: a topic that is named has queues of another kind.
        """
        directory = store.directory
        elsewhere = any("consumequeue" in name.lower() for name in directory.others)
        # A live broker may be about to create its first queue, or to rebuild all of them.
        none_is_due = elsewhere or directory.state is not StoreState.LIVE
        if store.end > store.start and none_is_due and next(store.queue_files(), None) is None:
            raise NotAStore(f"{directory.root} has messages and no consume queues, which a stream follows", _OTHERWISE)
        for topic in self._options.topics:
            if any(queue.topic == topic and queue.files for queue in directory.batch_queues):
                raise TopicUnknown(f"{topic} is a batch topic of 5.x, whose queues no stream can follow", _OTHERWISE)

    def _bounds(self, source: Stores) -> Ranges:
        return {
            BrokerQueue(store.broker, topic, queue_id): bounds
            for store in source
            for (topic, queue_id), bounds in store.selected_bounds(self._options).items()
        }

    def _admitted(self, source: Stores, ranges: Ranges, rows: int | None, size: int | None) -> Offsets:
        return admitted(source, ranges, rows, size)

    def _replaced(self, source: Stores, last: Last) -> frozenset[str]:
        found = replaced_stores(source, last)
        for difference in found:
            lost(difference.what, fail=self._options.fail_on_data_loss, remedy=self.replaced_remedy)
        return frozenset(difference.broker for difference in found)

    def _last(self, source: Stores, begun: Offsets, ends: Offsets) -> Last:
        return newest(source, begun, ends)

    def _is_lagging(self, source: Stores, queue: BrokerQueue) -> bool:
        return any(is_lagging(store, queue.topic, queue.queue_id) for store in source if store.broker == queue.broker)

    def _named(self, queue: BrokerQueue) -> str:
        return f"{queue.topic}, queue {queue.queue_id} of {queue.broker}"

    def _of_these(
        self, stores: Stores, start: object, begun: Offsets, end: object, ended: Offsets
    ) -> tuple[Offsets, Offsets]:
        """Both offsets, less those of stores that were replaced since: they begin again, or wait for the next poll.

        Raises:
            StoreUnreadable: a file cannot be read.
            DataLost: a store was replaced, and options make this an error.
        """
        first, last = last_read(start), last_read(end)
        replaced_brokers = self._replaced(stores, last)
        replaced = self._replaced(stores, {broker: read for broker, read in first.items() if read != last.get(broker)})
        return without(replaced, begun), without(replaced_brokers, ended)

    def _plan(self, stores: Stores, begun: Offsets, ended: Offsets) -> list[InputPartition]:
        self._check_brokers(stores, ended)
        unread: dict[str, Offsets] = {}
        for queue, end in ended.items():
            if begun.get(queue) != end:
                unread.setdefault(queue.broker, {})[queue] = end
        spans: list[InputPartition] = []
        for store in stores:
            ranges = {
                (queue.topic, queue.queue_id): self._there(store, queue, begun.get(queue), end)
                for queue, end in unread.get(store.broker, {}).items()
            }
            spans += plan_ranges(
                store,
                ranges,
                max_bytes=self._options.max_bytes_per_partition,
                min_partitions=self._options.min_partitions,
                entries_only=self._request.needs_no_log,
            )
        return spans

    def _check_brokers(self, stores: Stores, offsets: Offsets) -> None:
        known = {store.broker for store in stores}
        for broker in {queue.broker for queue in offsets} - known:
            what = f"the checkpoint has offsets of {broker}, and none of the stores is of that broker"
            lost(what, fail=self._options.fail_on_data_loss, remedy=self.replaced_remedy)

    def _there(self, store: StoreSnapshot, queue: BrokerQueue, first: int | None, end: int) -> tuple[int, int]:
        """The part of a range that the store has: all of it, except for lost messages."""
        least, most = store.bounds(queue.topic, queue.queue_id)
        if first is None or first > end:  # the queue was recorded, or created again: see `_ranges`
            first = least
        where = f"{self._named(queue)} has the offsets from {least} to {most}"
        fail = self._options.fail_on_data_loss
        if end > most:
            if store.directory.state is StoreState.LIVE and is_lagging(store, queue.topic, queue.queue_id):
                raise PathUnreadable(f"{where}: the broker fills its queues again after a crash", _WAIT)
            lost(f"{where}: those up to {end} were there before", fail=fail, remedy=self.replaced_remedy)
        if first < least:
            lost(f"{where}: those from {first} on were to be read", fail=fail, remedy=REMOVED)
        return max(least, first), min(end, most)
