"""The columns of frames that are written: their names and types."""

from __future__ import annotations

from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    ByteType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
)

from rocketwire.spark.errors import WriteUnsupported

_WHOLE: Final = (ByteType, ShortType, IntegerType, LongType)
_KINDS: Final[dict[str, str]] = {
    "topic": "string",
    "body": "binary or string",
    "tags": "string",
    "keys": "string or array<string>",
    "properties": "map<string,string>",
    "delay_level": "int",
    "queue_id": "int",
    "flag": "int",
}


def check(schema: StructType, topic: str | None) -> None:
    """Refuse a frame whose columns are not those of messages to be sent; `topic` is that of rows without the column.

    Raises:
        WriteUnsupported: a column is missing, not known, or of a type that it cannot have.
    """
    allowed = ", ".join(f"{name} ({kind})" for name, kind in _KINDS.items())
    unknown = [name for name in schema.names if name not in _KINDS]
    if unknown:
        raise WriteUnsupported(f"messages have no column {', '.join(unknown)}", f"Select some of {allowed}")
    if "body" not in schema.names:
        raise WriteUnsupported("there is no column body", f"Select some of {allowed}")
    if "topic" not in schema.names and topic is None:
        raise WriteUnsupported("there is neither a column topic nor an option topic", "Give one of them")
    for each in schema.fields:
        if not _fits(each.name, each.dataType):
            raise WriteUnsupported(
                f"the column {each.name} is {each.dataType.simpleString()}", f"Cast it to {_KINDS[each.name]}"
            )


def _fits(name: str, kind: DataType) -> bool:
    if name in ("delay_level", "queue_id", "flag"):
        return isinstance(kind, _WHOLE)
    if name == "properties":
        return isinstance(kind, MapType) and isinstance(kind.keyType, StringType) and _is_text(kind.valueType)
    if name == "keys" and isinstance(kind, ArrayType):
        return _is_text(kind.elementType)
    return _is_text(kind) or (name == "body" and isinstance(kind, BinaryType))


def _is_text(kind: DataType) -> bool:
    return isinstance(kind, StringType)
