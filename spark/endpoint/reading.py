"""Messages of a running endpoint as rows: a batch read, from the start offsets to the present ends of the queues."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.spark.endpoint.options import EndpointOptions, endpoint_options
from rocketwire.spark.endpoint.planning import BrokerPart, plan
from rocketwire.spark.endpoint.pulling import PulledMessages, Puller
from rocketwire.spark.endpoint.queues import at_time, bounds, check_offsets, mean_size, requested_queues
from rocketwire.spark.endpoint.session import RetryPauses, Sleep, call_endpoint, source_errors
from rocketwire.spark.read.conditions import RowConditions
from rocketwire.spark.read.rows import DamagedPlace, Rows, record_in
from rocketwire.spark.request.filters import NarrowedReader
from rocketwire.spark.request.option_parsing import options_for
from rocketwire.spark.request.ranges import lost, requested_range
from rocketwire.spark.request.request import FOREVER, ReadRequest, request_of
from rocketwire.spark.stream.offsets import Ranges
from rocketwire.store.offline.read.selected import SelectedMessage
from rocketwire.store.records.walk import WalkEnd, walk

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
        return call_endpoint(self.endpoint, self._plan)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The messages of one partition.

        Raises:
            SparkSourceError: the endpoint does not answer, or messages are damaged or missing.
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
        SparkSourceError: the broker does not answer, or messages are damaged or missing.
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
    """Makes rows of pulled messages."""

    def __init__(self, request: ReadRequest, broker: str) -> None:
        self._fail = request.options.fail_on_data_loss
        conditions = RowConditions(request, broker)
        self._fits = conditions.fits if request.has_ids else conditions.fits_entry
        self._rows = Rows(request, broker)
        self._missing: PulledMessages | None = None

    def take(self, pulled: PulledMessages) -> Iterator[pa.RecordBatch]:
        """Take the messages of an answer; batches when there are enough rows."""
        if pulled.records is None:
            self._note_missing(pulled)
            return
        records, is_whole = self._records_of(pulled, pulled.records)
        if not is_whole or len(records) < pulled.end - pulled.first:
            # Some are damaged, or there are gaps between their offsets.
            records = [one for one in records if pulled.first <= one.message.queue_offset < pulled.end]
        for record in filter(self._fits, records):
            yield from self._rows.of(record, None)

    def rest(self) -> Iterator[pa.RecordBatch]:
        """The last rows."""
        yield from self._rows.rest()
        self._report_missing()

    def _note_missing(self, missing: PulledMessages) -> None:
        """Remember missing messages; those of consecutive answers are reported together."""
        last = self._missing
        if last is not None and (last.queue, last.end) == (missing.queue, missing.first):
            missing = missing._replace(first=last.first)
        else:
            self._report_missing()
        self._missing = missing
        if self._fail:
            self._report_missing()

    def _report_missing(self) -> None:
        missing, self._missing = self._missing, None
        if missing is not None:
            what = f"{missing.queue}: the messages from offset {missing.first} to {missing.end - 1} are gone"
            lost(what, fail=self._fail)

    def _records_of(self, pulled: PulledMessages, data: memoryview) -> tuple[list[SelectedMessage], bool]:
        """The whole records of an answer, and whether it has nothing else."""
        found: list[SelectedMessage] = []
        position, is_whole = 0, True
        while position < len(data):
            records, position, stop, reason = walk(data, base=None, position=position, whole=True, check_crc=False)
            for place, size in zip(records.position.tolist(), records.size.tolist(), strict=True):
                record = record_in(data, place, size)
                found += () if record is None else (record,)
            if position >= len(data) or stop is WalkEnd.FULL:
                continue
            is_whole = False
            what = f"{pulled.queue}, near offset {pulled.first + len(found)}: "
            what += reason if stop is WalkEnd.DAMAGED else "it is cut short"
            self._rows.damaged(DamagedPlace(None, None, what, pulled.queue.topic, pulled.queue.queue_id))
            size = int.from_bytes(data[position : position + _SIZE], "big", signed=True)
            if size <= 0:
                break
            position += size
        return found, is_whole
