from __future__ import annotations

import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
)

from rocketwire.spark.endpoint.write.columns import check
from rocketwire.spark.errors import WriteUnsupported

TEXT, NUMBER = StringType(), IntegerType()
LEAST: dict[str, DataType] = {"topic": TEXT, "body": TEXT}
ALL: dict[str, DataType] = {
    "topic": TEXT,
    "body": BinaryType(),
    "tags": TEXT,
    "keys": ArrayType(TEXT),
    "properties": MapType(TEXT, TEXT),
    "delay_level": NUMBER,
    "queue_id": LongType(),
    "flag": ShortType(),
}


def schema(columns: dict[str, DataType]) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])


@pytest.mark.parametrize(
    ("columns", "topic"), [(ALL, None), ({"body": TEXT, "keys": TEXT}, "T"), ({"body": TEXT}, "T"), (LEAST, None)]
)
def test_columns_of_messages(columns: dict[str, DataType], topic: str | None) -> None:
    check(schema(columns), topic)


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({**ALL, "broker": TEXT, "x": NUMBER}, "messages have no column broker, x. Select some of topic"),
        ({"topic": TEXT}, "there is no column body"),
        ({"body": TEXT}, "there is neither a column topic nor an option topic"),
        ({"topic": TEXT, "body": NUMBER}, r"the column body is int. Cast it to binary or string"),
        ({"topic": BinaryType(), "body": TEXT}, "the column topic is binary. Cast it to string"),
        ({**LEAST, "keys": ArrayType(NUMBER)}, "the column keys is array<int>. Cast it to string or array"),
        ({**LEAST, "properties": MapType(TEXT, NUMBER)}, "the column properties is map<string,int>"),
        ({**LEAST, "delay_level": TEXT}, "the column delay_level is string. Cast it to int"),
    ],
)
def test_what_cannot_be_written(columns: dict[str, DataType], text: str) -> None:
    with pytest.raises(WriteUnsupported, match=text):
        check(schema(columns), None)
