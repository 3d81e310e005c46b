"""What the tests of endpoints share: a real one, and what it has in its queues."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from rocketwire.cli.message.reading import TopicReader
from rocketwire.cli.online import ClusterAccess
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
    """Write some rows and return how many were acknowledged."""
    return write(write_options({"namesrv": namesrv, **options}), iter(batches)).messages


def messages(namesrv: str, topic: str) -> list[SelectedMessage]:
    """All messages of a topic, queue by queue."""
    with TopicReader(ClusterAccess(name_servers=namesrv), topic, lambda _: None) as reader:
        return [each.one for queue in reader.queues() for each in reader.read(queue, reader.offsets(queue))]


def bodies(namesrv: str, topic: str) -> list[bytes]:
    """The bodies of a topic's messages, sorted."""
    return sorted(each.message.body for each in messages(namesrv, topic))
