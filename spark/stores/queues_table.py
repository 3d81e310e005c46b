"""`table` = `queues`: a row per consume queue: which queues there are, how many messages they have, which groups lag.

It reads consume queues, and config/consumerOffset.json for lags; the commit log is read for store times only. What
costs something is done only for requested columns: `bytes` reads every entry, a store time a record's head.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from rocketwire.spark.errors import TopicUnknown
from rocketwire.spark.files.far import in_slices
from rocketwire.spark.request.option_parsing import read_options
from rocketwire.spark.request.table_columns import check_table, schema_of, without
from rocketwire.spark.request.values import nearest
from rocketwire.spark.stores.opening import open_roots, source_error
from rocketwire.store.errors import StoreError
from rocketwire.store.offline.read.config import offsets
from rocketwire.store.offline.read.directory import QueueFiles, RowFile, StoreDirectory, discover
from rocketwire.store.offline.read.file_system import ReadableFileSystem
from rocketwire.store.offline.read.log import CommitLogReader
from rocketwire.store.offline.read.opening import FileGone
from rocketwire.store.offline.read.queues import BLANK_SIZE, QueueReader
from rocketwire.wire.java import INT64_MAX

#: The columns, named as `rocketwire store list --json` names them, in the order of the schema with `columns` = `*`.
COLUMNS: Final[dict[str, DataType]] = {
    "broker": StringType(),
    "topic": StringType(),
    "queue_id": IntegerType(),
    "min_offset": LongType(),
    "max_offset": LongType(),
    "messages": LongType(),
    "bytes": LongType(),
    "first_store_time": TimestampType(),
    "last_store_time": TimestampType(),
    "queue_file_count": IntegerType(),
    "lags": MapType(StringType(), LongType()),
}
_TIMES: Final = ("first_store_time", "last_store_time")
#: Default columns: those that take only a few reads a queue.
DEFAULT_COLUMNS: Final = tuple(name for name in COLUMNS if name not in {"bytes", *_TIMES})
#: Queues of a partition: few enough to share work between processors, too many for Spark to need longer than they do.
_PER_PARTITION: Final = 2500
_MOST_MS: Final = INT64_MAX // 1000 - 1
_OPTIONS: Final = (
    "path",
    "paths",
    "table",
    "topic",
    "topics",
    "topicPattern",
    "queues",
    "columns",
    "includeSystemTopics",
    "brokers",
)

_Committed = list[tuple[str, dict[int, int]]]


@dataclass(frozen=True)
class QueuesPartition(InputPartition):
    """Some queues of one store.

    Attributes:
        broker: Its name.
        log_start: Physical offset at which its commit log begins.
        files: The file system of all its files.
        log: Files of the commit log, if store times are requested.
        queues: The queues.
        committed: Committed offsets: group and offset by queue id, for each of the topics.
    """

    broker: str
    log_start: int
    files: ReadableFileSystem
    log: tuple[RowFile, ...]
    queues: tuple[QueueFiles, ...]
    committed: Mapping[str, _Committed] = field(default_factory=dict)


def schema(options: Mapping[str, str]) -> StructType:
    """The columns that the option `columns` names, in its order; all may be null.

    Raises:
        OptionInvalid: there is no such column.
    """
    return schema_of("queues", COLUMNS, DEFAULT_COLUMNS, options)


class QueuesReader(DataSourceReader):
    """Reads the table."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        """Take the options, and the schema of `schema` or of the user.

        Raises:
            OptionInvalid: an option or column is unknown or not for this table, or a value is invalid.
        """
        check_table("queues", COLUMNS, _OPTIONS, options, schema)
        self.columns = tuple(schema.names)
        self._options = read_options(without(options, "columns"))

    def partitions(self) -> list[QueuesPartition]:
        """List the stores' queues.

        Raises:
            NotAStore: a path is no store.
            PathUnreadable: a path, or something below it, cannot be read.
            TopicUnknown: no store has a topic that is named.
        """
        found: list[QueuesPartition] = []
        topics: set[str] = set()
        for broker, root, files in open_roots(self._options):
            try:
                directory = discover(root, files=files)
                topics.update(directory.topics)
                found += self._partitions(broker, directory)
            except StoreError as error:
                raise source_error(error) from error
        for name in self._options.topics:
            if name not in topics:
                remedy = nearest(name, sorted(topics)) + "The option topicPattern takes what there is"
                raise TopicUnknown(f"there is no topic {name}", remedy)
        return found

    def _partitions(self, broker: str, directory: StoreDirectory) -> Iterator[QueuesPartition]:
        queues = [one for one in directory.queues if one.files and self._takes(one)]
        committed: dict[str, _Committed] = {}
        if "lags" in self.columns:
            for (group, topic), by_queue in sorted(offsets(directory).items()):
                committed.setdefault(topic, []).append((group, by_queue))
        log = directory.commit_log if set(_TIMES) & set(self.columns) else ()
        for at in range(0, len(queues), _PER_PARTITION):
            part = queues[at : at + _PER_PARTITION]
            topics = {queue.topic for queue in part}
            yield QueuesPartition(
                broker=broker,
                log_start=directory.start,
                files=directory.files,
                log=log,
                queues=tuple(part),
                committed={topic: committed[topic] for topic in topics if topic in committed},
            )

    def _takes(self, queue: QueueFiles) -> bool:
        numbers = self._options.queues
        return self._options.takes_topic(queue.topic) and (numbers is None or queue.queue_id in numbers)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of some queues, as one batch.

        Raises:
            PathUnreadable: a file cannot be read.
        """
        if not isinstance(partition, QueuesPartition):  # Spark's own, for a plan without tasks
            return
        try:
            rows = in_slices(partition.files, lambda some: self._rows(partition, some), partition.queues)
        except StoreError as error:
            raise source_error(error) from error
        kinds = to_arrow_schema(StructType([StructField(name, COLUMNS[name]) for name in self.columns]), timezone="UTC")
        columns = [
            pa.array([row[name] for row in rows], kind.type) for name, kind in zip(self.columns, kinds, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=kinds)

    def _rows(self, partition: QueuesPartition, queues: Sequence[QueueFiles]) -> Iterator[dict[str, object]]:
        with CommitLogReader(partition.log) as log:
            for files in queues:
                yield self._row(partition, files, log)

    def _row(self, partition: QueuesPartition, files: QueueFiles, log: CommitLogReader) -> dict[str, object]:
        with QueueReader(files, log_start=partition.log_start) as queue:
            number = files.queue_id
            taken = [
                (group, by_queue[number])
                for group, by_queue in partition.committed.get(files.topic, ())
                if number in by_queue
            ]
            row: dict[str, object] = {
                "broker": partition.broker,
                "topic": files.topic,
                "queue_id": number,
                "min_offset": queue.min,
                "max_offset": queue.end,
                "messages": len(queue),
                "queue_file_count": len(files.files),
                "lags": [(group, max(0, queue.end - offset)) for group, offset in taken],
            }
            if "bytes" in self.columns:
                row["bytes"] = _bytes(queue)
            if _TIMES[0] in self.columns:
                row[_TIMES[0]] = _store_time(queue, queue.min, log)
            if _TIMES[1] in self.columns:
                row[_TIMES[1]] = _store_time(queue, queue.end - 1, log)
        return row


def _bytes(queue: QueueReader) -> int:
    """The sizes of the messages' records."""
    total = 0
    for _, entries in queue.blocks(queue.min, queue.end):
        sizes = entries["size"]
        total += int(sizes[sizes != BLANK_SIZE].sum(dtype=np.int64))
    return total


def _store_time(queue: QueueReader, offset: int, log: CommitLogReader) -> int | None:
    """When the message of an offset was stored, in µs; None without one, or if the log has no record of it."""
    if not queue.min <= offset < queue.end:
        return None
    try:
        time = log.store_time(queue.entry(offset)[0])
    except FileGone:
        return None
    return None if time is None else max(-_MOST_MS, min(time, _MOST_MS)) * 1000
