"""`table` = `counts`: how many messages there are by store, topic, tags, and minute, hour or day of the store time.

Its use are counts by hour or day of many messages: Spark does not push `date_trunc` into a source, so that a count of
messages takes a row of each. The messages counted are those of a walk over the log. Each task counts for itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import DataType, LongType, StringType, StructField, StructType, TimestampType

from rocketwire.spark.errors import OptionInvalid
from rocketwire.spark.plan.partitions import LogSpan
from rocketwire.spark.plan.planning import plan_counts
from rocketwire.spark.read.reading import read
from rocketwire.spark.request.option_parsing import read_options
from rocketwire.spark.request.options import DamageMode
from rocketwire.spark.request.request import request_of
from rocketwire.spark.request.table_columns import check_table, schema_of, without
from rocketwire.spark.request.values import text_of
from rocketwire.spark.stores.opening import open_stores, source_error
from rocketwire.store.errors import StoreError
from rocketwire.wire.java import INT32_MAX
from rocketwire.wire.names import LIGHT_QUEUE_PREFIX

#: The columns, in the order of the schema.
COLUMNS: Final[dict[str, DataType]] = {
    "broker": StringType(),
    "topic": StringType(),
    "tags": StringType(),
    "time": TimestampType(),
    "messages": LongType(),
}
_PER: Final = "countsPer"
#: Columns of messages that are counted by.
_COUNTED: Final = ("topic", "tags", "store_timestamp")
_MINUTE_US: Final = 60_000_000
#: The units of time, in minutes.
_UNITS: Final = {"minute": 1, "hour": 60, "day": 24 * 60}
_OPTIONS: Final = (
    "path",
    "paths",
    "table",
    "topic",
    "topics",
    "topicPattern",
    "startingTimestamp",
    "endingTimestamp",
    "columns",
    "columnCache",
    "includeSystemTopics",
    "minPartitions",
    "maxBytesPerPartition",
    "failOnDataLoss",
    "brokers",
    "prefetchBytes",
)


def schema(options: Mapping[str, str]) -> StructType:
    """The columns that the option `columns` names, in its order, else all; all may be null.

    Raises:
        OptionInvalid: there is no such column.
    """
    return schema_of("counts", COLUMNS, tuple(COLUMNS), options)


def _unit(options: Mapping[str, str]) -> int:
    text = text_of(options, _PER)
    unit = _UNITS.get("minute" if text is None else text.strip().lower())
    if unit is None:
        raise OptionInvalid(f"option {_PER}={text} is none of {', '.join(_UNITS)}", "Use one of them")
    return unit


class CountsReader(DataSourceReader):
    """Reads the table."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        """Take the options, and the schema of `schema` or of the user.

        Raises:
            OptionInvalid: an option or column is unknown or not for this table, or a value is invalid.
        """
        check_table("counts", COLUMNS, _OPTIONS, options, schema)
        self.columns = tuple(schema.names)
        self.unit = _unit(options)
        found = read_options(without(options, "columns", _PER))
        for topic in found.topics:
            if topic.startswith(LIGHT_QUEUE_PREFIX):
                what = f"messages of the light topic {topic} are stored, and counted, with other topics"
                raise OptionInvalid(what, "Count the rows of its messages: leave out the option table")
        # Damage is no message.
        self.request = request_of(replace(found, columns=_COUNTED, mode=DamageMode.DROPMALFORMED))

    def partitions(self) -> list[InputPartition]:
        """Examine the stores, and split their logs into tasks.

        Raises:
            SparkSourceError: a store cannot be read, or has no topic that is named.
        """
        try:
            return [*plan_counts(open_stores(self.request.options), self.request)]
        except StoreError as error:
            raise source_error(error) from error

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The counts of one task, as one batch.

        Raises:
            SparkSourceError: a file cannot be read; messages are missing, and options make this an error.
        """
        if not isinstance(partition, LogSpan):  # Spark's own, for a plan without tasks
            return
        found: Counter[tuple[str, str | None, int]] = Counter()
        for batch in read(partition, self.request):
            times = batch.column("store_timestamp").cast(pa.int64())
            for topic, tags, time in zip(batch.column("topic"), batch.column("tags"), times, strict=True):
                minute = max(-INT32_MAX, min(time.as_py() // _MINUTE_US, INT32_MAX))
                found[topic.as_py(), tags.as_py(), minute // self.unit * self.unit] += 1
        rows = [
            {
                "broker": partition.broker,
                "topic": topic,
                "tags": tags,
                "time": minute * _MINUTE_US,
                "messages": messages,
            }
            for (topic, tags, minute), messages in found.items()
        ]
        if rows:
            columns = StructType([StructField(name, COLUMNS[name]) for name in self.columns])
            yield pa.RecordBatch.from_pylist(rows, schema=to_arrow_schema(columns, timezone="UTC"))
