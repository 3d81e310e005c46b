"""Rows into an endpoint: `df.write.format("rocketmq")` and `writeStream`. Each row is sent at least once."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from rocketwire.remoting.clock import Clock, system_clock
from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.remoting.core.outgoing import UniqueIds
from rocketwire.remoting.errors import RemotingError
from rocketwire.spark.endpoint.options import WriteOptions, write_options
from rocketwire.spark.endpoint.session import RetryPauses, Sleep, opened, source_errors
from rocketwire.spark.endpoint.write import columns
from rocketwire.spark.endpoint.write.messages import messages_of
from rocketwire.spark.endpoint.write.routing import WritableQueues
from rocketwire.spark.endpoint.write.sending import EndpointSender, outgoing_batches
from rocketwire.spark.errors import WriteUnsupported

log = logging.getLogger(__name__)


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
        ids = UniqueIds(cluster.own_host, os.getpid(), entropy(4), clock)
        routes = WritableQueues(cluster, first=int.from_bytes(entropy(2), "big"))
        sender = EndpointSender(cluster, routes, retries=options.retries, clock=clock, sleep=sleep)
        for some in chain([first], rows):
            messages = messages_of(some, topic=options.topic, most=options.max_message_size, ids=ids)
            for batch in outgoing_batches(messages, options.max_batch_bytes):
                sender.send(batch)
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
