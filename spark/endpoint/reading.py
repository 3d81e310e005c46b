"""Messages of a running endpoint as rows: a batch read, from the start offsets to the present ends of the queues."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.spark.columns import kernel
from rocketwire.spark.columns.kernel import Positions
from rocketwire.spark.endpoint.options import EndpointOptions, endpoint_options
from rocketwire.spark.endpoint.planning import BrokerPart, plan
from rocketwire.spark.endpoint.pulling import PulledMessages, Puller
from rocketwire.spark.endpoint.queues import at_time, bounds, check_offsets, mean_size, requested_queues
from rocketwire.spark.endpoint.session import RetryPauses, Sleep, asked, source_errors
from rocketwire.spark.read.rows import DamagedPlace, Rows
from rocketwire.spark.read.selecting import RowConditions
from rocketwire.spark.request.option_parsing import options_for
from rocketwire.spark.request.pushing import NarrowedReader
from rocketwire.spark.request.ranges import lost, requested_range
from rocketwire.spark.request.request import FOREVER, ReadRequest, request_of
from rocketwire.spark.stream.offsets import Ranges
from rocketwire.store.records.walk import WalkEnd

_TOGETHER: Final = 2 << 20
"""Bytes of records that become one batch, about."""
_SIZE: Final = 4  # bytes at the beginning of a record


class EndpointReader(NarrowedReader):
    """Reads the messages that brokers have when the read is planned."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        """Take the options.

        Raises:
            OptionInvalid: one of them is wrong.
        """
        super().__init__(request_of(options_for(options, schema)))
        self.endpoint = endpoint_options(options)

    def partitions(self) -> list[BrokerPart]:
        """Ranges of queues.

        Raises:
            SparkSourceError: the endpoint does not answer, has no such topic, or has lost messages.
        """
        return asked(self.endpoint, self._plan)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The messages of one partition.

        Raises:
            SparkSourceError: the endpoint does not answer, or messages are damaged or gone.
        """
        if isinstance(partition, BrokerPart):  # else Spark's own partition of a plan without tasks
            yield from read(partition, self.request, self.endpoint)

    def _plan(self, cluster: BlockingCluster) -> list[BrokerPart]:
        options, group = self.request.options, self.endpoint.group
        ranges = snapshot(cluster, self.request, group)
        return plan(
            ranges,
            size=mean_size(cluster, ranges, group=group),
            max_bytes=options.max_bytes_per_partition,
            min_partitions=options.min_partitions,
        )


def snapshot(cluster: BlockingCluster, request: ReadRequest, group: str) -> Ranges:
    """The requested offsets of each queue, within those that exist now."""
    queues = requested_queues(cluster, request)
    check_offsets(request, queues)
    there = bounds(cluster, queues)
    narrowed = request.narrowed
    found: Ranges = {}
    for queue, limits in there.items():
        first, end = requested_range(request.options, queue.broker, queue.topic, queue.queue_id, limits)
        found[queue] = max(first, narrowed.first_offset), min(end, narrowed.end_offset)
    if request.since > -FOREVER:
        since = at_time(cluster, found, request.since, group=group)
        found = {queue: (max(first, since[queue]), end) for queue, (first, end) in found.items()}
    if request.until < FOREVER:
        until = at_time(cluster, found, request.until, group=group)
        found = {queue: (first, min(end, until[queue])) for queue, (first, end) in found.items()}
    return {queue: (first, max(first, end)) for queue, (first, end) in found.items()}


def read(
    part: BrokerPart, request: ReadRequest, endpoint: EndpointOptions, *, sleep: Sleep = time.sleep
) -> Iterator[pa.RecordBatch]:
    """The messages of some ranges of one broker's queues.

    Raises:
        SparkSourceError: the broker does not answer, or messages are damaged or gone.
    """
    puller = Puller(endpoint, part.broker, RetryPauses(sleep))
    rows = _PulledRows(request, part.broker)
    try:
        with source_errors(endpoint):
            for pulled in puller.pulled(part.spans):
                yield from rows.take(pulled)
        yield from rows.rest()
    finally:
        puller.close()


class _PulledRows:
    """Makes batches of pulled messages, each of several answers, since answers are small."""

    def __init__(self, request: ReadRequest, broker: str) -> None:
        self._fail = request.options.fail_on_data_loss
        self._has_ids = request.has_ids
        self._wanted = RowConditions(request, broker)
        self._rows = Rows(request, broker)
        self._pulled: list[PulledMessages] = []
        self._size = 0
        self._gone: PulledMessages | None = None

    def take(self, pulled: PulledMessages) -> Iterator[pa.RecordBatch]:
        """Batches, now or later."""
        if pulled.records is None:
            self._note_gone(pulled)
            return
        if self._pulled and self._size + len(pulled.records) > _TOGETHER:
            yield from self._flush()
        self._pulled.append(pulled)
        self._size += len(pulled.records)

    def rest(self) -> Iterator[pa.RecordBatch]:
        """What is left at the end."""
        yield from self._flush()
        yield from self._rows.rest()
        self._tell_gone()

    def _note_gone(self, gone: PulledMessages) -> None:
        """Remember missing messages; those of consecutive answers are reported together."""
        last = self._gone
        if last is not None and (last.queue, last.end) == (gone.queue, gone.first):
            gone = gone._replace(first=last.first)
        else:
            self._tell_gone()
        self._gone = gone
        if self._fail:
            self._tell_gone()

    def _tell_gone(self) -> None:
        gone, self._gone = self._gone, None
        if gone is not None:
            lost(f"{gone.queue}: the messages from offset {gone.first} to {gone.end - 1} are gone", fail=self._fail)

    def _flush(self) -> Iterator[pa.RecordBatch]:
        taken, self._pulled, self._size = self._pulled, [], 0
        buffer = b"".join([each.records for each in taken if each.records is not None])
        count = sum(each.end - each.first for each in taken)
        walked = kernel.walk(buffer, base=None, position=0, end=len(buffer), whole=True, most=max(1, count))
        places = walked.positions
        if walked.next < len(buffer) or len(places) < count:
            places = self._one_by_one(buffer, taken)
        select = self._wanted.of_log if self._has_ids else self._wanted.of_entries
        yield from self._rows.of(buffer, select(buffer, places), None)

    def _one_by_one(self, buffer: bytes, taken: list[PulledMessages]) -> Positions:
        """The places of the records, answer by answer: some are damaged, or there are gaps between their offsets."""
        found: list[Positions] = []
        start = 0
        for pulled in taken:
            end = start + len(pulled.records or b"")
            places = self._of_answer(buffer, start, end, pulled)
            if len(places):
                [offsets] = kernel.heads(buffer, places, ["queue_offset"])
                places = places[(offsets >= pulled.first) & (offsets < pulled.end)]
            found.append(places)
            start = end
        return np.concatenate(found) if found else np.empty(0, np.int64)

    def _of_answer(self, buffer: bytes, start: int, end: int, pulled: PulledMessages) -> Positions:
        found: list[Positions] = []
        while start < end:
            most = pulled.end - pulled.first
            walked = kernel.walk(buffer, base=None, position=start, end=end, whole=True, most=most)
            found.append(walked.positions)
            start = walked.next
            if start >= end or walked.stop is WalkEnd.FULL:
                continue
            reason = walked.reason if walked.stop is WalkEnd.DAMAGED else "it is cut short"
            size = int.from_bytes(buffer[start : start + _SIZE], "big", signed=True)
            queue = pulled.queue
            offset = pulled.first + sum(map(len, found))
            what = f"{queue}, near offset {offset}: {reason}"
            self._rows.damaged(DamagedPlace(None, None, what, queue.topic, queue.queue_id))
            if size <= 0:
                break
            start += size
        return np.concatenate(found) if found else np.empty(0, np.int64)
