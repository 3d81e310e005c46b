"""How a decoder in Python makes a column of Spark: bodies to JSON in a worker, and JSON to values in the JVM.

JSON between them, because Spark's conversions from pandas differ by version, and know no times within structures.
Unlike `mapInArrow`, a function on one column leaves filters and the pruning of other columns to Spark.
"""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import json
import uuid
from collections.abc import Callable
from typing import Any, Final

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody names it
from pyspark.sql.pandas.functions import pandas_udf
from pyspark.sql.types import DataType, StringType, StructField, StructType

from rocketwire.spark.errors import BodyMalformed, OptionInvalid

#: The result of malformed bodies: a null, or the end of the query.
MODES: Final = ("PERMISSIVE", "FAILFAST")
_VALUE: Final = "value"

Decoder = Callable[[bytes], object]


def check_mode(mode: str) -> str:
    """The mode, in capital letters.

    Raises:
        OptionInvalid: there is no such mode.
    """
    if mode.upper() not in MODES:
        raise OptionInvalid(f"there is no mode {mode}", f"Give one of {', '.join(MODES)}")
    return mode.upper()


def with_values(frame: DataFrame, column: str, to: str, kind: DataType, decode: Decoder, mode: str) -> DataFrame:
    """The frame with the values of its bodies.

    Args:
        frame: Any.
        column: Has the bodies, binary.
        to: The new column's name.
        kind: The values' type.
        decode: Makes of a body what `text_of` knows; raises BodyMalformed. Workers import it, or get it pickled.
        mode: One of MODES.
    """
    strict = check_mode(mode) == "FAILFAST"

    def texts(bodies: pd.Series) -> pd.Series:
        return pd.Series([None if body is None else text_of(decode, bytes(body), strict=strict) for body in bodies])

    # Only structures, arrays and maps can be read from JSON: a value may be something else.
    whole = StructType([StructField(_VALUE, kind)])
    made = pandas_udf(texts, StringType())(F.col(column))  # type: ignore[call-overload] # it knows no kind of function by its types
    return frame.withColumn(to, F.from_json(made, whole, {"mode": "PERMISSIVE"}).getField(_VALUE))


def text_of(decode: Decoder, body: bytes, *, strict: bool) -> str | None:
    """A body's value as JSON, within an object; None if it is malformed.

    Raises:
        BodyMalformed: it is, with `strict`.
    """
    try:
        return json.dumps({_VALUE: decode(body)}, default=plain, separators=(",", ":"))
    except BodyMalformed:
        if strict:
            raise
        return None


def plain(value: object) -> Any:  # noqa: ANN401 - what json takes
    """What Spark reads from JSON as the same value: bytes in base64, times with their zone, decimals as text."""
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal | uuid.UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} is no value of a body")
