"""Results of expressions: the expected ones are those of Apache's filter (5.5.0)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

from rocketwire.server.core.errors import FilterExpressionInvalid
from rocketwire.server.filters.sql import compile_evaluation, java_numbers
from rocketwire.server.filters.sql.code import MOST_COMPARISONS, MOST_NESTED
from rocketwire.server.filters.sql.java_numbers import EvaluationFailed

MESSAGES = (
    b"",
    b"a\x015\x02b\x01x",
    b"a\x016.0\x02b\x01it's",
    b"a\x01word\x02b\x01true\x02c\x01true",
    "a\x01-7\x02b\x01日\x02c\x01-8".encode(),
)


def letter(expression: str, message: bytes) -> str:
    """T true, F false, N null, X: Java throws."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of Python, about the compiled code
        evaluate = compile_evaluation(expression).evaluate
    try:
        return {True: "T", False: "F", None: "N"}[evaluate(message)]
    except EvaluationFailed:
        return "X"


# The results of the five messages.
RESULTS = (
    ("a > 5", "NFXXF"),
    ("a >= 5", "NTXXF"),
    ("a < 6", "NTXXT"),
    ("a <= 5L", "NTXXT"),
    ("5 < a", "NFXXF"),
    ("a > 4.5", "NTTXF"),
    ("4.5 < a", "NTTXF"),
    ("a >= -7", "NTXXT"),
    ("a = 5", "NTXXF"),
    ("a <> 5", "NFXXT"),
    ("a = 5.0", "NTFXF"),
    ("a = 'x'", "NFFFF"),
    ("b = 'x'", "NTFFF"),
    ("b <> 'x'", "NFTTT"),
    ("b = 'it''s'", "NFTFF"),
    ("'5' = 5", "TTTTT"),
    ("5 = 5.0", "TTTTT"),
    ("5 = 2147483648", "FFFFF"),
    ("2147483648 = 2147483648.0", "TTTTT"),
    ("a = b", "TFFFF"),
    ("c = b", "TNNTF"),
    ("missing = missing", "TTTTT"),
    ("a = missing", "TFFFF"),
    ("missing = a", "TNNNN"),
    ("c > a", "NNNXF"),
    ("a > b", "NXXXX"),
    ("a BETWEEN 5 AND 6", "NTXXF"),
    ("a NOT BETWEEN 5 AND 6", "NFXXT"),
    ("a BETWEEN -10 AND 5.5", "NTXXT"),
    ("b IN ('x', '日')", "NTFFT"),
    ("b NOT IN ('x')", "NFTTT"),
    ("+b IN ('x')", "NTFFF"),
    ("(b) IN ('x')", "NTFFF"),
    ("a IS NULL", "TFFFF"),
    ("a IS NOT NULL", "FTTTT"),
    ("a = 5 IS NULL", "TFXXF"),
    ("NULL", "NNNNN"),
    ("TRUE", "TTTTT"),
    ("FALSE", "FFFFF"),
    ("a", "NFFFF"),
    ("NOT a", "NTTTT"),
    ("NOT NULL", "NNNNN"),
    ("a = 5 AND b = 'x'", "NTXXF"),
    ("a = 5 OR b = 'x'", "NTXXF"),
    ("b = 'x' OR a = 5", "NTXXF"),
    ("b = 'it''s' AND missing = 1", "NFNFF"),
    ("b = 'x' AND missing = 1", "NNFFF"),
    ("b = 'x' OR missing = 1", "NTNNN"),
    ("missing = 1 OR b = 'x' OR a = 5", "NTXXN"),
    ("missing = 1 AND b = 'x' AND a = 5", "NNFFF"),
    ("c = TRUE", "NNNTF"),
    ("b = FALSE", "NTTFT"),
    ("TRUE = c", "FFFXX"),
    ("TRUE = TRUE", "TTTTT"),
    ("TRUE = FALSE", "FFFFF"),
    ("5 = TRUE", "FFFFF"),
    ("(b = 'x') = TRUE", "NTFFF"),
    ("(b = 'x') = (b = 'it''s')", "TFFTT"),
    ("(b = 'x') = 5", "NFFFF"),
    ("(b = 'x') = c", "TFFXX"),
    ("c = (b = 'true')", "TNNTT"),
    ("(missing = 1) = TRUE", "NNNNN"),
    ("TRUE = (missing = 1)", "FFFFF"),
    ("(missing = 1) = (missing = 2)", "TTTTT"),
    ("-a IS NULL", "TTTTT"),
    ("-a = 5", "NNNNN"),
    ("- -5 = a", "FTXXF"),
    ("a > --4", "NTXXF"),
    ("a > -(b = 'x')", "NNNNN"),
    ("-a > 5", "NNNNN"),
    ("a > -'x' OR a > 5", "NNXXN"),
    ("missing > -(a = 5)", "NNNNN"),
    ("5 > -(a = 5)", "NNXXN"),
    ("-(a = 5) IS NULL", "TTXXT"),
    ("-'x' = missing", "TTTTT"),
    ("missing = -'x'", "TTTTT"),
    ("-a = -b", "TTTTT"),
    ("b CONTAINS 't'", "FFTTF"),
    ("b NOT CONTAINS 't'", "FTFFT"),
    ("b STARTSWITH 'it'", "FFTFF"),
    ("b NOT STARTSWITH 'it'", "FTFTT"),
    ("b ENDSWITH '''s'", "FFTFF"),
    ("b NOT ENDSWITH '''s'", "FTFTT"),
    ("b CONTAINS ''", "FFFFF"),
    ("b NOT CONTAINS ''", "FFFFF"),
    ("'abc' CONTAINS 'b'", "TTTTT"),
    ("'abc' NOT CONTAINS 'b'", "FFFFF"),
    ("5 CONTAINS '5'", "FFFFF"),
    ("(a = 5) CONTAINS 'x'", "FFXXF"),
    ("missing NOT CONTAINS 'x'", "FFFFF"),
    ("NOT b CONTAINS 't'", "FFFFF"),
    ("not a is null and b In ('x') oR C is Null", "TTTTT"),
    ("a = 5 /* of all */ AND -- the end\n b = 'x'", "NTXXF"),
    ("a = 05", "NFXXF"),
    ("a = 5 b", "NTXXF"),
    ("a = 0x10", "NFXXF"),
    ("a = 5e0", "NTFXF"),
    ("a = 4.9E-324", "NFFXF"),
    ("a=5and b='x'", "NTXXF"),
    ("a = 5 AND a = 5 AND a < 9", "NTXXF"),
    ("a = 9223372036854775807", "NFXXF"),
    ("b = 'x' = TRUE", "NTFFF"),
    ("b <> 'x' <> TRUE", "NTFFF"),
    ("c = 'true' IS NOT NULL", "FFFTT"),
    ("TRUE IS NULL", "FFFFF"),
    ("NULL IS NULL", "TTTTT"),
    ("5 IS NULL", "FFFFF"),
    ("'x' IS NOT NULL", "TTTTT"),
    ("'a' = 'a'", "TTTTT"),
    ("a > 2147483648", "NFXXF"),
)


@pytest.mark.parametrize(("expression", "results"), RESULTS)
def test_results_equal_apaches(expression: str, results: str) -> None:
    assert "".join(letter(expression, message) for message in MESSAGES) == results


@pytest.mark.parametrize(
    ("value", "results"),
    [
        ("NaN", "XXTTFFF"),
        ("Infinity", "XXTTFFF"),
        ("-Infinity", "XXFFTTF"),
        ("5.5", "XXFTFTT"),
        ("5.5f", "XXFTFTT"),
        ("1e1", "XXTTFFF"),
        ("0x1.6p2", "XXFTFTT"),
        (" 5.5 ", "XXFTFTT"),
        ("+5", "FTFFTTF"),
        ("5 ", "XXFFTTF"),
        ("05", "FTFFTTF"),
        ("3000000000", "XXTTFFF"),
        ("", "NNNNNNF"),
    ],
)
def test_texts_are_numbers_as_java_reads_them(value: str, results: str) -> None:
    tests = ("a > 5", "a = 5", "a > 5.5", "a >= 5.5", "a < 5.5", "a <= 5.5", "5.5 = a")
    assert "".join(letter(test, f"a\x01{value}".encode()) for test in tests) == results


def test_two_properties_are_compared_as_doubles() -> None:
    message = b"zero\x010\x02less\x01-0\x02none\x01NaN\x02more\x011e0"
    tests = ("zero > less", "less < zero", "none >= none", "none > more", "more >= zero", "more <= zero", "zero = less")
    assert "".join(letter(test, message) for test in tests) == "TTTTTFF"


def test_many_conditions_need_no_nesting() -> None:
    expression = " OR ".join(f"a = '{number}'" for number in range(MOST_COMPARISONS))
    assert letter(expression, b"a\x01%d" % (MOST_COMPARISONS - 1)) == "T"
    assert letter(expression, b"a\x01%d" % MOST_COMPARISONS) == "F"


def test_conditions_may_nest() -> None:
    levels = MOST_NESTED // 2 - 1
    expression = "(a = 'x' OR NOT " * levels + "(b = 'y')" + ")" * levels
    messages = (b"a\x01x\x02b\x01y", b"a\x01z\x02b\x01y", b"b\x01y")
    assert "".join(letter(expression, message) for message in messages) == "TFN"


@pytest.mark.parametrize("signs", [250, 2500, 2501])
def test_a_chain_of_signs_does_not_nest(signs: int) -> None:
    assert letter("a = " + "- " * signs + "5", b"a\x015") == ("F" if signs % 2 else "T")
    assert letter("- " * signs + "'x' IS NULL", b"") == "T"
    with pytest.raises(FilterExpressionInvalid, match=r"boolean value: \(- \(- "):
        compile_evaluation("NOT " + "- " * signs + "b")


@pytest.mark.parametrize(
    ("expression", "converted"),
    [
        (" OR ".join(["a = 1"] * MOST_COMPARISONS), ["to_int"]),
        (" OR ".join(["a = 1", "a < 2", "a > 3000000000", "a < 0.5"] * 75), ["to_double", "to_int", "to_long"]),
        ("(a > 1 AND NOT " * 45 + "(a > b OR a < b)" + ")" * 45, ["to_double", "to_double", "to_int"]),
        (" OR ".join(["a = '1'"] * MOST_COMPARISONS), []),
    ],
)
def test_a_property_is_converted_once_for_all_comparisons(
    expression: str, converted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def counted(name: str) -> Callable[[bytes], Any]:
        real = getattr(java_numbers, name)

        def convert(value: bytes) -> Any:
            done.append(name)
            return real(value)

        return convert

    for name in ("to_int", "to_long", "to_double"):
        monkeypatch.setattr(java_numbers, name, counted(name))
    evaluate = compile_evaluation(expression).evaluate
    evaluate(b"a\x01" + b"0" * 32_000 + b"7\x02b\x01" + b"0" * 20 + b"8")
    assert sorted(done) == converted


def test_a_text_that_is_no_number_fails_only_where_it_is_compared() -> None:
    assert letter("a = 'x' OR a > 5 OR a < 2.5", b"a\x01x") == "T"
    for expression in ("a > 5 OR a = 'x'", "a = 'y' OR a < 2.5", "5 = a AND a > 1", "a >= b OR b >= a"):
        assert letter(expression, b"a\x01x\x02b\x0110") == "X"


def test_the_cost_grows_with_the_comparisons() -> None:
    works = [
        compile_evaluation(expression).work
        for expression in ("TRUE", "a = 1", "a = 1 AND b = 2", "a CONTAINS '" + "x" * 800 + "'")
    ]
    assert works == [2, 3, 5, 104]


def test_too_many_comparisons_are_refused() -> None:
    with pytest.raises(FilterExpressionInvalid, match=f"more than {MOST_COMPARISONS} comparisons"):
        compile_evaluation(" OR ".join(["a = 1"] * (MOST_COMPARISONS + 1)))


def test_too_many_levels_are_refused() -> None:
    with pytest.raises(FilterExpressionInvalid, match="levels of conditions"):
        compile_evaluation("NOT " * MOST_NESTED + "a")
