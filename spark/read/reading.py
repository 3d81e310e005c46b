"""A task of Spark: makes batches of rows of a span of the log."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

import numpy as np
import pyarrow as pa

from rocketwire.spark.columns import kernel
from rocketwire.spark.columns.plain_arrays import of_numbers, of_texts, repeated
from rocketwire.spark.plan.partitions import LogSpan
from rocketwire.spark.read.gathering import entries_of, gathered, outside
from rocketwire.spark.read.rows import Rows
from rocketwire.spark.read.selecting import RowConditions
from rocketwire.spark.read.walking import MOST_ROWS, walked
from rocketwire.spark.request.ranges import lost
from rocketwire.spark.request.request import ReadRequest
from rocketwire.spark.stores.opening import source_error
from rocketwire.store.errors import StoreError
from rocketwire.store.offline.read.log import CommitLogReader
from rocketwire.store.offline.read.opening import FileGone

#: Batches of fewer rows, and of fewer bytes, are merged.
_FEW: Final = 4096
_SMALL: Final = 1 << 20


def read(span: LogSpan, request: ReadRequest) -> Iterator[pa.RecordBatch]:
    """The rows of one task, in batches of some MiB at most, with the requested columns.

    Raises:
        SparkSourceError: a file cannot be read; messages are gone or damaged, and options make this an error.
    """
    _keep_what_is_imported()
    rows = Rows(request, span.broker)
    if span.places is not None:
        found = _at_places(span, request, rows)
    elif span.cache is not None:
        from rocketwire.spark.read.cached import cached

        found = cached(span, span.cache, request, rows)
    elif span.queues is None:
        found = walked(span, request, rows)
    elif span.entries_only:
        found = _entries(span, request, rows)
    else:
        found = gathered(span, request, rows)
    try:
        yield from _together(found)
    except StoreError as error:
        raise source_error(error) from error


@cache
def _keep_what_is_imported() -> None:
    """Exclude the present objects from garbage collections.

    Spark's worker collects after each task; scanning all modules costs as much as reading tens of MiB of log.
    """
    gc.freeze()


def _together(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in fewer batches, if these are small."""
    held: list[pa.RecordBatch] = []
    count = size = 0
    for batch in batches:
        if not held and (batch.num_rows >= _FEW or batch.nbytes >= _SMALL):
            yield batch
            continue
        held.append(batch)
        count += batch.num_rows
        size += batch.nbytes
        if count >= _FEW or size >= _SMALL:
            yield _joined(held)
            held, count, size = [], 0, 0
    if held:
        yield _joined(held)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def _entries(span: LogSpan, request: ReadRequest, rows: Rows) -> Iterator[pa.RecordBatch]:
    """Rows from consume queues alone, without reading the log."""
    found, numbers = outside(span, entries_of(span, request), request)
    queues = span.queues or ()
    topics = of_texts(queue.topic for queue in queues)
    queue_ids = np.array([queue.queue_id for queue in queues], np.int32)
    paths = of_texts(file.path for file in span.files)
    for start in range(0, len(numbers), MOST_ROWS):
        part, files = found.take(slice(start, start + MOST_ROWS)), numbers[start : start + MOST_ROWS]
        columns: dict[str, pa.Array] = {}
        if "topic" in request.columns:
            columns["topic"] = topics.take(of_numbers(part.queue))
        if "file" in request.columns:
            columns["file"] = paths.take(of_numbers(files))
        if "broker" in request.columns:
            columns["broker"] = repeated(span.broker, len(files))
        columns["queue_id"] = of_numbers(queue_ids[part.queue])
        columns["queue_offset"] = of_numbers(part.queue_offset)
        columns["physical_offset"] = of_numbers(part.place)
        columns["store_size"] = of_numbers(part.size.astype(np.int32))
        yield rows.made_of(columns, len(files))


def _at_places(span: LogSpan, request: ReadRequest, rows: Rows) -> Iterator[pa.RecordBatch]:
    """Rows of the records at possible places: a place without one belonged to another message, or that is gone."""
    wanted = RowConditions(request, span.broker)
    with CommitLogReader(span.files) as log:
        for place in span.places or ():
            file = log.file_of(place)
            try:
                data = log.record(place)
            except FileGone as gone:
                what = f"{gone.path} was removed since the read was planned"
                lost(what, fail=request.options.fail_on_data_loss)
                continue
            if file is None or data is None:
                continue
            positions = np.zeros(1, np.int64)
            if kernel.check(data, positions, np.array([len(data)], np.int64), base=place).all():
                yield from rows.of(data, wanted.of_log(data, positions), file.path)
    yield from rows.rest()
