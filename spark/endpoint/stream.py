"""Streams of a running endpoint: the reader that Spark polls for the end of what can be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.spark.endpoint.options import endpoint_options
from rocketwire.spark.endpoint.planning import BrokerPart, plan
from rocketwire.spark.endpoint.queues import bounds, mean_size, requested_queues
from rocketwire.spark.endpoint.reading import read, snapshot
from rocketwire.spark.endpoint.session import call_endpoint
from rocketwire.spark.request.ranges import REMOVED, lost
from rocketwire.spark.request.request import FOREVER
from rocketwire.spark.stream.offsets import BrokerQueue, Offsets, Ranges, parse_offsets, shares
from rocketwire.spark.stream.queue_stream import QueueStreamReader

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

T = TypeVar("T")


class EndpointStreamReader(QueueStreamReader[BlockingCluster]):
    """Reads from brokers as their queues grow."""

    replaced_remedy = "Was the topic made again? Begin with a new checkpointLocation, or set failOnDataLoss to false"

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        """Take the options.

        Raises:
            OptionInvalid: one of them is wrong, or is none of a stream.
        """
        super().__init__(options, schema)
        self._endpoint = endpoint_options(options)

    def partitions(self, start: dict, end: dict) -> list[BrokerPart]:  # type: ignore[type-arg]  # Spark's signature
        """The tasks that read the messages between two offsets.

        Raises:
            SparkSourceError: the endpoint does not answer; messages are missing, and options make this an error.
        """
        begun, ended = parse_offsets(start), parse_offsets(end)
        wanted = {queue: stop for queue, stop in ended.items() if begun.get(queue) != stop}
        return self._query(lambda cluster: self._plan(cluster, begun, wanted)) if wanted else []

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The messages of one partition.

        Raises:
            SparkSourceError: the endpoint does not answer, or messages are damaged or missing.
        """
        if isinstance(partition, BrokerPart):
            yield from read(partition, self._request, self._endpoint)

    def _query(self, query: Callable[[BlockingCluster], T]) -> T:
        return call_endpoint(self._endpoint, query)

    def _begin(self, source: BlockingCluster) -> Offsets:
        ranges = snapshot(source, self._request, self._endpoint.group)
        return {queue: first for queue, (first, _) in ranges.items()}

    def _bounds(self, source: BlockingCluster) -> Ranges:
        return bounds(source, requested_queues(source, self._request))

    def _admitted(self, source: BlockingCluster, ranges: Ranges, rows: int | None, size: int | None) -> Offsets:
        most = FOREVER if rows is None else rows
        if size is not None:
            most = min(most, size // self._mean_size(source, ranges))
        # One message at least, so that the stream makes progress.
        parts = shares({queue: end - first for queue, (first, end) in ranges.items()}, max(1, most))
        return {queue: ranges[queue][0] + part for queue, part in parts.items()}

    def _mean_size(self, cluster: BlockingCluster, ranges: Ranges) -> int:
        return mean_size(cluster, ranges, group=self._endpoint.group)

    def _plan(self, cluster: BlockingCluster, begun: Offsets, ended: Offsets) -> list[BrokerPart]:
        there = bounds(cluster, self._known(cluster, ended))
        fail = self._options.fail_on_data_loss
        ranges: Ranges = {}
        for queue, (least, most) in there.items():
            first, end = begun.get(queue, least), ended[queue]
            if first > end:  # the topic was created again, as `latestOffset` reported
                first = least
            if first < least:
                what = f"{queue}: the messages from offset {first} to {min(least, end) - 1} are gone"
                lost(what, fail=fail, remedy=REMOVED)
            if end > most:
                what = f"{queue} ends at offset {most}, and messages up to {end} were there"
                lost(what, fail=fail, remedy=self.replaced_remedy)
            first = max(first, least)
            ranges[queue] = first, max(first, min(end, most))
        return plan(
            ranges,
            size=self._mean_size(cluster, ranges),
            max_bytes=self._options.max_bytes_per_partition,
            min_partitions=self._options.min_partitions,
        )

    def _known(self, cluster: BlockingCluster, queues: Offsets) -> list[BrokerQueue]:
        """The offsets of queues that exist."""
        known = set(requested_queues(cluster, self._request))
        for queue in queues.keys() - known:
            lost(f"{queue} is not there any more", fail=self._options.fail_on_data_loss, remedy=REMOVED)
        return sorted(known & queues.keys())
