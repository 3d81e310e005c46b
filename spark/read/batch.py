"""Batch reads of stores: the reader that plans the tasks for Spark and carries them out on its workers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from rocketwire.spark.plan.partitions import LogSpan
from rocketwire.spark.plan.planning import plan
from rocketwire.spark.read.reading import read
from rocketwire.spark.request.option_parsing import options_for
from rocketwire.spark.request.pushing import NarrowedReader
from rocketwire.spark.request.request import request_of
from rocketwire.spark.stores.opening import open_stores, source_error
from rocketwire.store.errors import StoreError

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


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
            SparkSourceError: a file cannot be read; messages are gone or damaged, and options make this an error.
        """
        if isinstance(partition, LogSpan):  # else Spark's own partition of a plan without tasks
            yield from read(partition, self.request)
