"""Spark's types of Avro's schemas: those that Spark's own Avro source has, except for unions and times of day."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

_PRIMITIVE: Final[dict[str, DataType]] = {
    "null": NullType(),
    "boolean": BooleanType(),
    "int": IntegerType(),
    "long": LongType(),
    "float": FloatType(),
    "double": DoubleType(),
    "bytes": BinaryType(),
    "string": StringType(),
    "enum": StringType(),
    "fixed": BinaryType(),
}
_LOGICAL: Final[dict[str, DataType]] = {
    "int-date": DateType(),
    "long-timestamp-millis": TimestampType(),
    "long-timestamp-micros": TimestampType(),
    "long-local-timestamp-millis": TimestampNTZType(),
    "long-local-timestamp-micros": TimestampNTZType(),
    "int-time-millis": StringType(),
    "long-time-micros": StringType(),
    "string-uuid": StringType(),
}
#: Unions of numbers that a wider number holds.
_WIDER: Final[dict[frozenset[str], DataType]] = {
    frozenset({"int", "long"}): LongType(),
    frozenset({"float", "double"}): DoubleType(),
}
_MOST_DIGITS: Final = 38


def spark_type(schema: Any, named: Mapping[str, Any], inside: tuple[str, ...] = ()) -> DataType:  # noqa: ANN401 - of JSON
    """The type of a schema's values.

    Unions of several types, and types within themselves, are text: the value in JSON.

    Args:
        schema: As fastavro parses it: with full names.
        named: All schemas that have names.
        inside: Names of the records that this one is a part of.
    """
    if isinstance(schema, str):
        return _PRIMITIVE.get(schema) or spark_type(named[schema], named, inside)
    if isinstance(schema, list):
        return _union([one for one in schema if one != "null"], named, inside)
    kind = schema["type"]
    if kind in ("record", "error"):
        return _record(schema, named, inside)
    if kind == "array":
        return ArrayType(spark_type(schema["items"], named, inside))
    if kind == "map":
        return MapType(StringType(), spark_type(schema["values"], named, inside))
    logical = schema.get("logicalType")
    if logical == "decimal" and kind in ("bytes", "fixed") and schema["precision"] <= _MOST_DIGITS:
        return DecimalType(schema["precision"], schema.get("scale", 0))
    return _LOGICAL.get(f"{kind}-{logical}") or spark_type(kind, named, inside)


def _record(schema: Mapping[str, Any], named: Mapping[str, Any], inside: tuple[str, ...]) -> DataType:
    name = schema["name"]
    if name in inside:
        return StringType()
    inside = (*inside, name)
    return StructType([StructField(one["name"], spark_type(one["type"], named, inside)) for one in schema["fields"]])


def _union(schemas: list[Any], named: Mapping[str, Any], inside: tuple[str, ...]) -> DataType:
    if len(schemas) == 1:
        return spark_type(schemas[0], named, inside)
    if not schemas:
        return NullType()
    plain = [one for one in schemas if isinstance(one, str)]
    return _WIDER.get(frozenset(plain), StringType()) if len(plain) == len(schemas) else StringType()
