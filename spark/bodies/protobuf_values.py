"""Types and values of Protobuf's messages in Spark.

A field without presence has its default when it was not sent, one with presence is null then. A message within itself
(google.protobuf.Struct is one) is text: its JSON. Keys of maps are text. Unsigned numbers get the next wider type.

Descriptors are Any: each implementation of protobuf has other classes for them.
"""

from __future__ import annotations

import json
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

_SCALARS: Final[dict[int, DataType]] = {
    FieldDescriptor.CPPTYPE_INT32: IntegerType(),
    FieldDescriptor.CPPTYPE_INT64: LongType(),
    FieldDescriptor.CPPTYPE_UINT32: LongType(),
    FieldDescriptor.CPPTYPE_UINT64: DecimalType(20, 0),
    FieldDescriptor.CPPTYPE_DOUBLE: DoubleType(),
    FieldDescriptor.CPPTYPE_FLOAT: FloatType(),
    FieldDescriptor.CPPTYPE_BOOL: BooleanType(),
    FieldDescriptor.CPPTYPE_ENUM: StringType(),
}
_TIMESTAMP: Final = "google.protobuf.Timestamp"


def spark_type(descriptor: Any, inside: tuple[str, ...] = ()) -> DataType:
    """The type of a message; `inside` are the names of those that it is a part of."""
    if descriptor.full_name == _TIMESTAMP:
        return TimestampType()
    if descriptor.full_name in inside:
        return StringType()
    inside = (*inside, descriptor.full_name)
    return StructType([StructField(one.name, _field_type(one, inside)) for one in descriptor.fields])


def _field_type(field: Any, inside: tuple[str, ...]) -> DataType:
    if _is_map(field):
        return MapType(StringType(), _one_type(field.message_type.fields_by_name["value"], inside))
    one = _one_type(field, inside)
    return ArrayType(one) if _is_repeated(field) else one


def _one_type(field: Any, inside: tuple[str, ...]) -> DataType:
    if field.message_type is not None:
        return spark_type(field.message_type, inside)
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return BinaryType() if field.type == FieldDescriptor.TYPE_BYTES else StringType()
    return _SCALARS[field.cpp_type]


def value_of(message: Message, inside: tuple[str, ...] = ()) -> Any:
    """A message's value, as `decoding` writes it.

    Raises:
        ValueError, OverflowError: a time is out of range.
    """
    descriptor = message.DESCRIPTOR
    if descriptor.full_name == _TIMESTAMP:
        # Datetimes have µs, as Spark's.
        return f"{message.ToDatetime().isoformat()}Z"  # type: ignore[attr-defined]
    if descriptor.full_name in inside:
        return json.dumps(MessageToDict(message))
    inside = (*inside, descriptor.full_name)
    return {field.name: _field_value(message, field, inside) for field in descriptor.fields}


def _field_value(message: Message, field: Any, inside: tuple[str, ...]) -> Any:
    if not _is_repeated(field) and field.has_presence and not message.HasField(field.name):
        return None
    value = getattr(message, field.name)
    if _is_map(field):
        of_value = field.message_type.fields_by_name["value"]
        return {_key(key): _one_value(value[key], of_value, inside) for key in value}
    if _is_repeated(field):
        return [_one_value(one, field, inside) for one in value]
    return _one_value(value, field, inside)


def _one_value(value: Any, field: Any, inside: tuple[str, ...]) -> Any:
    if field.message_type is not None:
        return value_of(value, inside)
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return str(value) if known is None else known.name
    return value


def _key(key: object) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


def _is_map(field: Any) -> bool:
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def _is_repeated(field: Any) -> bool:
    # Versions before 6.31 have the label alone, later ones deprecate it.
    found: bool | None = getattr(field, "is_repeated", None)
    return bool(field.label == FieldDescriptor.LABEL_REPEATED if found is None else found)
