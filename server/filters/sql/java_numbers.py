"""Property values as numbers, by the rules of Java's Integer.valueOf, Long.valueOf and Double.valueOf.

A property is text; it becomes a number only where an expression compares it with one. What Java does not parse as that
very type (``5.0`` as an integer, 2147483648 as one of 32 bits) makes the whole evaluation fail. Values are UTF-8.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Final, NoReturn, TypeVar

from rocketwire.wire.java import INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN

T = TypeVar("T")

_BLANKS: Final = bytes(range(0x21))
_MOST_DIGITS: Final = 19
_DECIMAL: Final = re.compile(rb"[+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?)")
_HEX: Final = re.compile(rb"([+-]?0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?")


class EvaluationFailed(ValueError):
    """An expression cannot be evaluated on a message: Java throws."""


def to_int(value: bytes) -> int:
    """Parse a 32-bit integer.

    Raises:
        EvaluationFailed: it is not one.
    """
    return _whole(value, INT32_MIN, INT32_MAX)


def to_long(value: bytes) -> int:
    """Parse a 64-bit integer.

    Raises:
        EvaluationFailed: it is not one.
    """
    return _whole(value, INT64_MIN, INT64_MAX)


def _whole(value: bytes, low: int, high: int) -> int:
    text = value.decode("utf-8", "replace")
    digits = text[1:] if text[:1] in {"+", "-"} else text
    # Digits of any script are valid, but Java examines single chars: none beyond 16 bits.
    if not digits.isdecimal() or len(digits.encode("utf-16-le")) > 2 * len(digits):
        raise EvaluationFailed(f"not a whole number: {text}")
    digits = digits.lstrip("0") or "0"
    number = int(digits) if len(digits) <= _MOST_DIGITS else high + 1
    if text[0] == "-":
        number = -number
    if not low <= number <= high:
        raise EvaluationFailed(f"out of range: {text}")
    return number


def to_double(value: bytes) -> float:
    """Parse a double, which may be infinite or NaN.

    Raises:
        EvaluationFailed: it is not one.
    """
    value = value.strip(_BLANKS)
    if _DECIMAL.fullmatch(value):
        return float(value.rstrip(b"fFdD"))
    found = _HEX.fullmatch(value)
    if found is None:
        raise EvaluationFailed(f"not a number: {value.decode('utf-8', 'replace')}")
    try:
        return float.fromhex(found[1].decode())
    except OverflowError:
        return float("-inf") if value.startswith(b"-") else float("inf")


class NotANumber:
    """Stands for a value that is not a number: only comparing it fails."""

    __slots__ = ("_problem",)

    def __init__(self, problem: EvaluationFailed) -> None:
        self._problem = str(problem)

    def _fail(self, _other: object) -> NoReturn:
        raise EvaluationFailed(self._problem)

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _fail


def or_not(convert: Callable[[bytes], T], value: bytes) -> T | NotANumber:
    """A value converted in advance: its number or NotANumber."""
    try:
        return convert(value)
    except EvaluationFailed as problem:
        return NotANumber(problem)


def compare_doubles(left: float, right: float) -> int:
    """Double.compare: -1, 0 or 1. NaN is equal to itself and above all others, 0.0 is above -0.0."""
    if left < right:
        return -1
    if left > right:
        return 1
    return (_rank(left) > _rank(right)) - (_rank(left) < _rank(right))


def _rank(number: float) -> int:
    """The order of numbers that `<` does not distinguish."""
    if number != number:  # noqa: PLR0124 - true only for NaN
        return 1
    return -1 if number == 0 and math.copysign(1, number) < 0 else 0
