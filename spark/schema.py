"""The columns of a message: their names, and their types in Spark and in Arrow.

Names and values are those of `rocketwire store cat --json` (docs/store-tools.md). Times are Spark timestamps, in UTC,
of ms precision. Spark does not prune columns of Python data sources, so the option `columns` narrows the schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

#: All columns of a message, in the order of the schema with `columns` = `*`.
COLUMNS: Final[dict[str, DataType]] = {
    "topic": StringType(),
    "queue_id": IntegerType(),
    "queue_offset": LongType(),
    "message_id": StringType(),
    "offset_message_id": StringType(),
    "born_timestamp": TimestampType(),
    "store_timestamp": TimestampType(),
    "born_host": StringType(),
    "store_host": StringType(),
    "tags": StringType(),
    "keys": ArrayType(StringType()),
    "body": BinaryType(),
    "properties": MapType(StringType(), StringType()),
    "sys_flag": IntegerType(),
    "flag": IntegerType(),
    "reconsume_times": IntegerType(),
    "prepared_transaction_offset": LongType(),
    "body_crc": IntegerType(),
    "physical_offset": LongType(),
    "store_size": IntegerType(),
    "broker": StringType(),
    "file": StringType(),
}
#: The column that describes a damaged place of the log; only there if it is named.
CORRUPT_RECORD: Final = "_corrupt_record"
#: The default columns: those that most queries need.
DEFAULT_COLUMNS: Final = ("topic", "queue_id", "queue_offset", "store_timestamp", "tags", "body")
#: Columns that consume queues have, so that the log need not be read.
QUEUE_COLUMNS: Final = frozenset(
    {"topic", "queue_id", "queue_offset", "physical_offset", "store_size", "broker", "file"}
)
#: Columns that are not in records.
PLACE_COLUMNS: Final = frozenset({"broker", "file", CORRUPT_RECORD})


def spark_schema(names: Sequence[str]) -> StructType:
    """The schema of these columns, in this order; all may be null.

    Raises:
        KeyError: there is no column of that name.
    """
    kinds = COLUMNS | {CORRUPT_RECORD: StringType()}
    return StructType([StructField(name, kinds[name]) for name in names])


def arrow_schema(names: Sequence[str]) -> pa.Schema:
    """The schema that batches of these columns must have: exactly what Spark compares them with.

    Raises:
        KeyError: there is no column of that name.
    """
    return to_arrow_schema(spark_schema(names), timezone="UTC")
