"""The data source `rocketmq`, which Spark creates for `spark.read.format("rocketmq")`.

Modules are imported when they are needed: Spark imports this module whenever a session starts.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, NoReturn

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from rocketwire.spark.errors import SparkSourceError


#: Tables other than that of messages: the module, with its function `schema`, and the reader in it.
_TABLES: Final = {
    "queues": ("stores.queues_table", "QueuesReader"),
    "counts": ("read.counts_table", "CountsReader"),
}


class RocketMQDataSource(DataSource):
    """RocketMQ's messages, from store directories or from a running endpoint."""

    @classmethod
    def name(cls) -> str:
        """The name to give to `format`."""
        return "rocketmq"

    def schema(self) -> StructType:
        """The columns that the options select.

        Raises:
            SparkSourceError: an option is wrong.
        """
        from rocketwire.spark.request.option_parsing import MESSAGES, read_options, requested_table
        from rocketwire.spark.schema import spark_schema

        table = requested_table(self.options)
        if table == MESSAGES:
            return spark_schema(read_options(self.options).columns)
        name, _ = _TABLES[table]
        found: StructType = import_module(f"rocketwire.spark.{name}").schema(self.options)
        return found

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader of a batch: of messages, of the table of queues, or of that of counts.

        Raises:
            SparkSourceError: an option is wrong, or the schema has unknown columns.
        """
        from rocketwire.spark.request.option_parsing import MESSAGES, is_of_endpoint, requested_table

        table = requested_table(self.options)
        if table != MESSAGES:
            name, kind = _TABLES[table]
        elif is_of_endpoint(self.options):
            name, kind = "endpoint.reading", "EndpointReader"
        else:
            name, kind = "read.reading", "StoreBatchReader"
        found: DataSourceReader = getattr(import_module(f"rocketwire.spark.{name}"), kind)(self.options, schema)
        return found

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """The reader of a stream of messages; one that raises an error for invalid options or columns."""
        from rocketwire.spark.errors import SparkSourceError
        from rocketwire.spark.request.option_parsing import is_of_endpoint

        if is_of_endpoint(self.options):
            name, kind = "endpoint.stream", "EndpointStreamReader"
        else:
            name, kind = "stream.stream", "StoreStreamReader"
        try:
            found: DataSourceStreamReader = getattr(import_module(f"rocketwire.spark.{name}"), kind)(
                self.options, schema
            )
        except SparkSourceError as error:
            return _RefusedStream(error)
        return found

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: FBT001 - as Spark calls it
        """The writer that sends the rows of a data frame.

        Raises:
            SparkSourceError: an option or a column is wrong.
        """
        from rocketwire.spark.endpoint.write.writing import batch_writer

        return batch_writer(schema, self.options, overwrite=overwrite)

    def streamWriter(  # noqa: N802 - Spark's name
        self,
        schema: StructType,
        overwrite: bool,  # noqa: FBT001 - as Spark calls it
    ) -> DataSourceStreamWriter:
        """The writer that sends the rows of a stream.

        Raises:
            SparkSourceError: an option or a column is wrong.
        """
        from rocketwire.spark.endpoint.write.writing import stream_writer

        return stream_writer(schema, self.options, overwrite=overwrite)


class _RefusedStream(DataSourceStreamReader):
    """Stands for the reader of a stream with invalid options, and raises their error when it is used.

    Spark hides an earlier error behind another one: it stops the reader that it did not get
    (UnboundLocalError, seen with 4.3.0).
    """

    def __init__(self, error: SparkSourceError) -> None:
        self._error = error

    def initialOffset(self) -> NoReturn:  # noqa: N802 - Spark's name
        raise self._error

    def latestOffset(self, start: object, limit: object) -> NoReturn:  # noqa: ARG002, N802 - Spark's signature
        raise self._error

    def partitions(self, start: object, end: object) -> NoReturn:  # noqa: ARG002 - Spark's signature
        raise self._error

    def read(self, partition: object) -> NoReturn:  # noqa: ARG002 - Spark's signature
        raise self._error
