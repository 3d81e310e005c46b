"""The columns of a message: their names, and their types in Spark and in Arrow.

Names and values are those of `rocketwire store cat --json` (docs/store-tools.md). Times are Spark timestamps, in UTC,
of ms precision. Python data sources know no column pruning, so that the option `columns` narrows the schema.
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

#: The columns of a message that was read whole, in the order of the schema with `columns` = `*`.
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
#: What is wrong with a place of the log that holds no message; there only when it is named.
CORRUPT_RECORD: Final = "_corrupt_record"
#: Without the option `columns`: what most want, and little to send.
DEFAULT_COLUMNS: Final = ("topic", "queue_id", "queue_offset", "store_timestamp", "tags", "body")
#: Those that consume queues know, without a look into the log.
QUEUE_COLUMNS: Final = frozenset(
    {"topic", "queue_id", "queue_offset", "physical_offset", "store_size", "broker", "file"}
)
#: Those that no record says.
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
