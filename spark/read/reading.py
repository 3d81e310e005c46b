"""A task of Spark: makes batches of rows of a span of the log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from rocketwire.spark.plan.partitions import LogSpan
from rocketwire.spark.plan.planning import plan
from rocketwire.spark.read.conditions import RowConditions
from rocketwire.spark.read.gathering import gathered, places_of
from rocketwire.spark.read.rows import Rows, record_in
from rocketwire.spark.read.walking import walked
from rocketwire.spark.request.filters import NarrowedReader
from rocketwire.spark.request.option_parsing import options_for
from rocketwire.spark.request.ranges import lost
from rocketwire.spark.request.request import ReadRequest, request_of
from rocketwire.spark.stores.opening import open_stores, source_error
from rocketwire.store.errors import StoreError
from rocketwire.store.offline.read.log import CommitLogReader
from rocketwire.store.offline.read.opening import FileGone

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


def read(span: LogSpan, request: ReadRequest) -> Iterator[pa.RecordBatch]:
    """The rows of one task, in batches of some MiB at most, with the requested columns.

    Raises:
        SparkSourceError: a file cannot be read; messages are missing or damaged, and options make this an error.
    """
    rows = Rows(request, span.broker)
    if span.places is not None:
        found = _at_places(span, request, rows)
    elif span.queues is None:
        found = walked(span, request, rows)
    elif span.entries_only:
        found = _entries(span, request, rows)
    else:
        found = gathered(span, request, rows)
    try:
        yield from found
        yield from rows.rest()
    except StoreError as error:
        raise source_error(error) from error


def _entries(span: LogSpan, request: ReadRequest, rows: Rows) -> Iterator[pa.RecordBatch]:
    """Rows from consume queues alone, without reading the log."""
    queues = span.queues or ()
    with CommitLogReader(span.files) as log:
        for place in places_of(span, request):
            file, queue = log.file_of(place.physical_offset), queues[place.queue]
            yield from rows.take(
                {
                    "topic": queue.topic,
                    "queue_id": queue.queue_id,
                    "queue_offset": place.queue_offset,
                    "physical_offset": place.physical_offset,
                    "store_size": place.size,
                    "file": None if file is None else file.path,
                }
            )


def _at_places(span: LogSpan, request: ReadRequest, rows: Rows) -> Iterator[pa.RecordBatch]:
    """Rows of the records at possible places: a place without one belonged to another message, or to a removed one."""
    conditions = RowConditions(request, span.broker)
    with CommitLogReader(span.files) as log:
        for place in span.places or ():
            file = log.file_of(place)
            try:
                data = log.record(place)
            except FileGone as gone:
                what = f"{gone.path} was removed since the read was planned"
                lost(what, fail=request.options.fail_on_data_loss)
                continue
            record = None if data is None else record_in(data, 0, len(data))
            if file is not None and record is not None and conditions.fits(record):
                yield from rows.of(record, file.path)


class StoreBatchReader(NarrowedReader):
    """Reads the messages of store directories that exist when it plans."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        """Take the options.

        Raises:
            OptionInvalid: one of them is wrong.
        """
        super().__init__(request_of(options_for(options, schema)))

    def partitions(self) -> list[InputPartition]:
        """Examine the stores, and split the requested messages into tasks.

        Raises:
            SparkSourceError: a store cannot be read, or lacks requested messages.
        """
        try:
            return [*plan(open_stores(self.request.options), self.request)]
        except StoreError as error:
            raise source_error(error) from error

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task.

        Raises:
            SparkSourceError: a file cannot be read; messages are missing or damaged, and options make this an error.
        """
        if isinstance(partition, LogSpan):  # else Spark's own partition of a plan without tasks
            yield from read(partition, self.request)
