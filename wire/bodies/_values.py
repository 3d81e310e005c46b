"""Converting single values of JSON bodies, as leniently as fastjson."""

import math
import re
from typing import Any, Final, TypeAlias

from rocketwire.wire.java import INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN

Json: TypeAlias = Any
"""What a JSON text can hold: dict, list, str, int, float, bool or None, of any depth."""

_DIGITS: Final = re.compile(r"[+-]?[0-9]{1,40}")


def to_text(value: object) -> str:
    """Take a text, a number or a boolean as text; ValueError for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    raise ValueError(f"{type(value).__name__} is no text")


def to_int(value: object) -> int:
    """Take a number, a boolean or a text of digits as integer; ValueError for anything else."""
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return int(value)
    if isinstance(value, str) and _DIGITS.fullmatch(value.strip()):
        return int(value)
    raise ValueError(f"{str(value)[:100]!r} is no integer")


def to_int32(value: object) -> int:
    """The same for Java's int; ValueError for one out of its range too."""
    return _within(to_int(value), INT32_MIN, INT32_MAX)


def to_int64(value: object) -> int:
    """The same for Java's long."""
    return _within(to_int(value), INT64_MIN, INT64_MAX)


def _within(number: int, low: int, high: int) -> int:
    if low <= number <= high:
        return number
    raise ValueError(f"{number} is no integer between {low} and {high}")


def to_float(value: object) -> float:
    """Take a number or its text; ValueError for anything else."""
    if isinstance(value, int | float | str):
        try:
            return float(value)
        except OverflowError as error:
            raise ValueError("number is too large") from error
    raise ValueError(f"{type(value).__name__} is no number")


def to_bool(value: object) -> bool:
    """Take a boolean, a number (0 is false) or the texts true, false, 1, 0; ValueError for anything else."""
    if isinstance(value, int | float):
        return bool(value)
    if isinstance(value, str):
        lower = value.strip().lower()
        if lower in {"true", "1"}:
            return True
        if lower in {"false", "0"}:
            return False
    raise ValueError(f"{str(value)[:100]!r} is no boolean")
