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
from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.remoting.errors import RemotingError
from rocketwire.spark.endpoint.options import WriteOptions, write_options
from rocketwire.spark.endpoint.session import RetryPauses, Sleep, opened, source_errors
from rocketwire.spark.endpoint.write import columns
from rocketwire.spark.endpoint.write.ids import UniqueKeys
from rocketwire.spark.endpoint.write.messages import SendableRows, sendable_rows
from rocketwire.spark.endpoint.write.routing import WritableQueues
from rocketwire.spark.endpoint.write.sending import EndpointSender, OutgoingBatch
from rocketwire.spark.errors import WriteUnsupported

log = logging.getLogger(__name__)

_MOST_OF_A_BATCH: Final = 512
"""Messages: a task with few rows uses more than one queue nevertheless."""


@dataclass(frozen=True)
class WrittenMessages(WriterCommitMessage):
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

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenMessages:
        return write(self._options, iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        log.info("%d messages are acknowledged", log_acknowledged(messages))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        log.warning("the write failed; %d messages of tasks that ended are acknowledged", log_acknowledged(messages))


class _StreamWriter(DataSourceStreamArrowWriter):
    def __init__(self, options: WriteOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenMessages:
        return write(self._options, iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 (Spark's name)
        log.info("%d messages of batch %d are acknowledged", log_acknowledged(messages), batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 (Spark's name)
        log.warning(
            "batch %d failed; %d messages of tasks that ended are acknowledged", batchId, log_acknowledged(messages)
        )


def log_acknowledged(messages: list[WriterCommitMessage | None]) -> int:
    """The sum of what the tasks have written."""
    return sum(each.messages for each in messages if isinstance(each, WrittenMessages))


def write(
    options: WriteOptions,
    rows: Iterator[pa.RecordBatch],
    *,
    clock: Clock = system_clock,
    entropy: Callable[[int], bytes] = os.urandom,
    sleep: Sleep = time.sleep,
) -> WrittenMessages:
    """Send all rows and wait until brokers have them.

    Raises:
        SparkSourceError: a row cannot be sent, or was not acknowledged.
    """
    first = next(rows, None)
    if first is None:
        return WrittenMessages(0)
    with source_errors(options.endpoint), _cluster(options, sleep) as cluster:
        keys = UniqueKeys(cluster.own_host, os.getpid(), entropy, clock)
        routes = WritableQueues(cluster, first=int.from_bytes(entropy(2), "big"))
        sender = EndpointSender(cluster, routes, retries=options.retries, clock=clock, sleep=sleep)
        for batch in chain([first], rows):
            for run in list(sendable_rows(batch, topic=options.topic, most=options.max_message_size, keys=keys)):
                for parcel in outgoing_batches(run, options.max_batch_bytes):
                    sender.send(parcel)
        sender.finish()
        return WrittenMessages(sender.acknowledged)


@contextlib.contextmanager
def _cluster(options: WriteOptions, sleep: Sleep) -> Iterator[BlockingCluster]:
    patience = RetryPauses(sleep)
    while True:
        try:
            cluster = opened(options.endpoint)
            break
        except RemotingError as error:
            patience.wait_after(error)
    with cluster:
        yield cluster


def outgoing_batches(run: SendableRows, most_bytes: int) -> Iterator[OutgoingBatch]:
    """The requests that send a run: batches, and messages by themselves where there is one, or they are delayed."""
    start, count = 0, len(run.bodies)
    while start < count:
        end = int(np.searchsorted(run.bounds, run.bounds[start] + most_bytes, "right")) - 1
        end = start + 1 if run.delayed else min(max(end, start + 1), start + _MOST_OF_A_BATCH)
        if end - start > 1:
            items = bytes(run.items[run.bounds[start] : run.bounds[end]])
            yield OutgoingBatch(topic=run.topic, queue_id=run.queue_id, body=items, count=end - start)
        else:
            yield OutgoingBatch(
                topic=run.topic,
                queue_id=run.queue_id,
                body=run.bodies[start].as_py(),
                properties=run.properties[start].as_py().decode(),
                flag=int(run.flags[start]),
            )
        start = end
