"""What the tests of endpoints share: a real one, and what it has in its queues."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from rocketwire.cli.message.pulls import PulledQueueMessages
from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.spark.endpoint.options import write_options
from rocketwire.spark.endpoint.write.writing import write
from rocketwire.store.offline.read.selected import SelectedMessage

NOW = 1_790_000_000_000
PROPERTIES = pa.map_(pa.string(), pa.string())
TYPES = {
    "topic": pa.string(),
    "body": pa.binary(),
    "tags": pa.string(),
    "keys": pa.list_(pa.string()),
    "properties": PROPERTIES,
    "delay_level": pa.int32(),
    "queue_id": pa.int32(),
    "flag": pa.int32(),
}


def rows(**columns: list[Any]) -> pa.RecordBatch:
    """Rows as Spark hands them over."""
    return pa.RecordBatch.from_arrays(
        [pa.array(values, TYPES[name]) for name, values in columns.items()], list(columns)
    )


def written(namesrv: str, *batches: pa.RecordBatch, **options: str) -> int:
    """Write some rows and say how many were acknowledged."""
    return write(write_options({"namesrv": namesrv, **options}), iter(batches)).messages


def messages(namesrv: str, topic: str) -> list[SelectedMessage]:
    """All messages of a topic, queue by queue."""
    with BlockingCluster(namesrv) as cluster:
        return list(_messages(cluster, topic))


def _messages(cluster: BlockingCluster, topic: str) -> Iterator[SelectedMessage]:
    brokers = cluster.brokers_of(topic)
    for broker, queue_id in cluster.readable_queues(topic):
        queue = PulledQueueMessages(broker, brokers[broker], topic, queue_id)
        yield from queue.messages(queue.offsets(), lambda text: None)


def bodies(namesrv: str, topic: str) -> list[bytes]:
    """The bodies of a topic's messages, sorted."""
    return sorted(each.message.body for each in messages(namesrv, topic))
