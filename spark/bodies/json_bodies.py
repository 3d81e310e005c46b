"""JSON bodies: Spark's own `from_json`, of bytes."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody names it
from pyspark.sql.types import ArrayType, StructType

from rocketwire.spark.bodies.framing import HEAD

_UTF8: Final = ("UTF-8", "UTF8")


def from_json_body(
    frame: DataFrame,
    schema: StructType | ArrayType | str,
    *,
    charset: str = "UTF-8",
    framed: bool = False,
    column: str = "body",
    to: str = "value",
    **options: str,
) -> DataFrame:
    """The frame with a column of its bodies' values in JSON.

    Args:
        frame: Any with a column of bodies.
        schema: The values' type, as for Spark's `from_json`: `"id long, items array<string>"`.
        charset: One that Spark's `decode` knows: UTF-8, UTF-16, ISO-8859-1, US-ASCII and others. In Spark 4 bytes that
            are none of it end the query, except for UTF-8.
        framed: Whether a zero byte and the id of a schema come first, as a schema registry's serializers write them.
        column: The column of bodies, binary.
        to: The new column's name.
        options: Spark's of JSON: `mode="FAILFAST"`, `timestampFormat=…`.
    """
    body = F.col(column)
    if framed:
        # substring counts from 1, and takes a number of bytes; there are none of that many.
        body = F.when(F.hex(F.substring(body, 1, 1)) == "00", F.substring(body, HEAD + 1, 1 << 30))
    # Bytes that are no UTF-8 make a malformed body; Spark 4's decode would end the query.
    text = body.cast("string") if charset.upper() in _UTF8 else F.decode(body, charset)
    return frame.withColumn(to, F.from_json(text, schema, options))
