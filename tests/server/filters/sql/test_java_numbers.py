from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.server.filters.sql.java_numbers import EvaluationFailed, compare_doubles, to_double, to_int, to_long


@given(st.integers(-(2**31), 2**31 - 1))
def test_whole_numbers_are_parsed(number: int) -> None:
    assert to_int(b"%d" % number) == to_long(b"%d" % number) == number
    assert to_double(b"%d" % number) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [("+5", 5), ("-0", 0), ("007", 7), ("0" * 5000 + "5", 5), ("\u0665", 5), ("\uff15", 5), ("-2147483648", -(2**31))],
)
def test_unusual_whole_numbers_are_parsed(text: str, number: int) -> None:
    assert to_int(text.encode()) == number


@pytest.mark.parametrize(
    "text",
    ["", "-", "+", "--5", "5.0", "5L", "0x5", " 5", "5 ", "1_0", "²", "\U0001d7d3", "word", "2147483648", "9" * 5000],
)
def test_malformed_whole_numbers_are_refused(text: str) -> None:
    with pytest.raises(EvaluationFailed):
        to_int(text.encode())


def test_the_range_is_that_of_the_type() -> None:
    assert to_long(b"9223372036854775807") == 2**63 - 1
    assert to_long(b"-9223372036854775808") == -(2**63)
    for text in (b"9223372036854775808", b"-9223372036854775809"):
        with pytest.raises(EvaluationFailed):
            to_long(text)
    with pytest.raises(EvaluationFailed):
        to_int(b"-2147483649")


@given(st.floats(allow_nan=False))
def test_doubles_are_parsed(number: float) -> None:
    text = repr(number).replace("inf", "Infinity")
    assert to_double(text.encode()) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("5.", 5.0),
        (".5", 0.5),
        ("5f", 5.0),
        ("5e1D", 50.0),
        ("\t 5 \n", 5.0),
        ("0x1.8p1", 3.0),
        ("-0X.8P1d", -1.0),
        ("0x1p9999", math.inf),
        ("-0x1p9999", -math.inf),
        ("1e999", math.inf),
        ("-Infinity", -math.inf),
    ],
)
def test_unusual_doubles_are_parsed(text: str, number: float) -> None:
    assert to_double(text.encode()) == number


@pytest.mark.parametrize(
    "text", ["", ".", "e5", "5L", "inf", "nan", "1_0", "0x1", "5 5", "\u00a05", "\u0665", "5ff", "0xp1"]
)
def test_malformed_doubles_are_refused(text: str) -> None:
    with pytest.raises(EvaluationFailed):
        to_double(text.encode())


def test_doubles_are_ordered_without_gaps() -> None:
    assert math.isnan(to_double(b"NaN"))
    ordered = [-math.inf, -1.0, -0.0, 0.0, 5e-324, math.inf, math.nan]
    for at, left in enumerate(ordered):
        for other, right in enumerate(ordered):
            assert compare_doubles(left, right) == (at > other) - (at < other)
