"""The columns, as Spark and Arrow see them."""

import pyarrow as pa
import pytest

from rocketwire.spark.schema import (
    COLUMNS,
    CORRUPT_RECORD,
    DEFAULT_COLUMNS,
    PLACE_COLUMNS,
    QUEUE_COLUMNS,
    arrow_schema,
    spark_schema,
)


def test_the_schema_has_the_columns_in_the_order_they_are_named() -> None:
    names = ["body", "topic", CORRUPT_RECORD]
    assert spark_schema(names).simpleString() == "struct<body:binary,topic:string,_corrupt_record:string>"
    assert arrow_schema(names) == pa.schema({"body": pa.binary(), "topic": pa.string(), CORRUPT_RECORD: pa.string()})


def test_times_are_of_utc() -> None:
    assert arrow_schema(["store_timestamp"]).field(0).type == pa.timestamp("us", tz="UTC")


def test_sets_of_columns_are_columns() -> None:
    assert {*DEFAULT_COLUMNS, *QUEUE_COLUMNS} <= COLUMNS.keys()
    assert PLACE_COLUMNS - {CORRUPT_RECORD} <= COLUMNS.keys()


def test_a_column_that_does_not_exist() -> None:
    with pytest.raises(KeyError):
        spark_schema(["nothing"])
