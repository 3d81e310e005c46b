"""Rows into an endpoint: `df.write.format("rocketmq")` and `writeStream`. Each row is sent at least once."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from rocketwire.remoting.clock import Clock, system_clock
from rocketwire.remoting.cluster import Cluster
from rocketwire.remoting.errors import RemotingError
from rocketwire.spark.endpoint.options import WriteOptions, write_options
from rocketwire.spark.endpoint.session import Patience, Sleep, opened, source_errors
from rocketwire.spark.endpoint.write import columns
from rocketwire.spark.endpoint.write.ids import UniqueKeys
from rocketwire.spark.endpoint.write.messages import Run, runs
from rocketwire.spark.endpoint.write.routing import Routes
from rocketwire.spark.endpoint.write.sending import Parcel, Sender
from rocketwire.spark.errors import WriteUnsupported

log = logging.getLogger(__name__)

_MOST_OF_A_BATCH: Final = 512
"""Messages: a task with few rows uses more than one queue nevertheless."""


@dataclass(frozen=True)
class Written(WriterCommitMessage):
    """What one task has written: messages that brokers acknowledged."""

    messages: int


def batch_writer(schema: StructType, options: Mapping[str, str], *, overwrite: bool) -> DataSourceArrowWriter:
    """Who writes a frame.

    Raises:
        OptionInvalid: an option is wrong.
        WriteUnsupported: the mode is not append, or a column is wrong.
    """
    return _BatchWriter(_checked(schema, options, overwrite=overwrite))


def stream_writer(schema: StructType, options: Mapping[str, str], *, overwrite: bool) -> DataSourceStreamArrowWriter:
    """Who writes a stream.

    Raises:
        OptionInvalid: an option is wrong.
        WriteUnsupported: the output mode is not append or update, or a column is wrong.
    """
    return _StreamWriter(_checked(schema, options, overwrite=overwrite))


def _checked(schema: StructType, options: Mapping[str, str], *, overwrite: bool) -> WriteOptions:
    if overwrite:
        raise WriteUnsupported(
            "messages that were sent cannot be overwritten", 'Use mode("append"), in a stream outputMode("append")'
        )
    found = write_options(options)
    columns.check(schema, found.topic)
    return found


class _BatchWriter(DataSourceArrowWriter):
    def __init__(self, options: WriteOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return write(self._options, iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        log.info("%d messages are acknowledged", acknowledged(messages))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        log.warning("the write failed; %d messages of tasks that ended are acknowledged", acknowledged(messages))


class _StreamWriter(DataSourceStreamArrowWriter):
    def __init__(self, options: WriteOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return write(self._options, iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 (Spark's name)
        log.info("%d messages of batch %d are acknowledged", acknowledged(messages), batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 (Spark's name)
        log.warning(
            "batch %d failed; %d messages of tasks that ended are acknowledged", batchId, acknowledged(messages)
        )


def acknowledged(messages: list[WriterCommitMessage | None]) -> int:
    """The sum of what the tasks have written."""
    return sum(each.messages for each in messages if isinstance(each, Written))


def write(
    options: WriteOptions,
    rows: Iterator[pa.RecordBatch],
    *,
    clock: Clock = system_clock,
    entropy: Callable[[int], bytes] = os.urandom,
    sleep: Sleep = time.sleep,
) -> Written:
    """Send all rows and wait until brokers have them.

    Raises:
        SparkSourceError: a row cannot be sent, or was not acknowledged.
    """
    first = next(rows, None)
    if first is None:
        return Written(0)
    with source_errors(options.endpoint), _cluster(options, sleep) as cluster:
        keys = UniqueKeys(cluster.own_host, os.getpid(), entropy, clock)
        routes = Routes(cluster, first=int.from_bytes(entropy(2), "big"))
        sender = Sender(cluster, routes, retries=options.retries, clock=clock, sleep=sleep)
        for batch in chain([first], rows):
            for run in list(runs(batch, topic=options.topic, most=options.max_message_size, keys=keys)):
                for parcel in parcels(run, options.max_batch_bytes):
                    sender.send(parcel)
        sender.finish()
        return Written(sender.acknowledged)


@contextlib.contextmanager
def _cluster(options: WriteOptions, sleep: Sleep) -> Iterator[Cluster]:
    patience = Patience(sleep)
    while True:
        try:
            cluster = opened(options.endpoint)
            break
        except RemotingError as error:
            patience.bear(error)
    with cluster:
        yield cluster


def parcels(run: Run, most_bytes: int) -> Iterator[Parcel]:
    """The requests that send a run: batches, and messages by themselves where there is one, or they are delayed."""
    start, count = 0, len(run.bodies)
    while start < count:
        end = int(np.searchsorted(run.bounds, run.bounds[start] + most_bytes, "right")) - 1
        end = start + 1 if run.delayed else min(max(end, start + 1), start + _MOST_OF_A_BATCH)
        if end - start > 1:
            items = bytes(run.items[run.bounds[start] : run.bounds[end]])
            yield Parcel(topic=run.topic, queue_id=run.queue_id, body=items, count=end - start)
        else:
            yield Parcel(
                topic=run.topic,
                queue_id=run.queue_id,
                body=run.bodies[start].as_py(),
                properties=run.properties[start].as_py().decode(),
                flag=int(run.flags[start]),
            )
        start = end
