"""Refused expressions: the first part of each remark is Apache's, the position is always there."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from rocketwire.server.core.errors import FilterExpressionInvalid
from rocketwire.server.filters.sql import compile_evaluation
from rocketwire.server.filters.sql.code import MOST_COMPARISONS
from rocketwire.server.filters.sql.grammar import MOST_CHARACTERS, MOST_DASHES, MOST_TOKENS, parse
from tests.slowness import within

# Words and signs in wrong places.
SYNTAX = (
    ("a >", 'ParseException: Encountered "<EOF>" at line 1, column 3.'),
    ("a IN (5)", 'ParseException: Encountered " <DECIMAL_LITERAL> "5 "" at line 1, column 7.'),
    ("a IN ()", 'ParseException: Encountered " ")" ") "" at line 1, column 7.'),
    ("a IN ('x',)", 'ParseException: Encountered " ")" ") "" at line 1, column 11.'),
    ("a BETWEEN 1 OR 5", 'ParseException: Encountered " "OR" "OR "" at line 1, column 13.'),
    ("a IS 5", 'ParseException: Encountered " <DECIMAL_LITERAL> "5 "" at line 1, column 6.'),
    ("a IS NOT TRUE", 'ParseException: Encountered " "TRUE" "TRUE "" at line 1, column 10.'),
    ("a NOT 5", 'ParseException: Encountered " "NOT" "NOT "" at line 1, column 3.'),
    ("(a) not not b", 'ParseException: Encountered " "NOT" "not "" at line 1, column 5.'),
    ("a = b NOT", 'ParseException: Encountered " "NOT" "NOT "" at line 1, column 7.'),
    ("a NOT IN b", 'ParseException: Encountered " <ID> "b "" at line 1, column 10.'),
    ("NOT", 'ParseException: Encountered "<EOF>" at line 1, column 3.'),
    ("a = 'x", "TokenMgrError: Lexical error at line 1, column 7."),
    ("a = 1 #", "TokenMgrError: Lexical error at line 1, column 8."),
    ("a = 1 # b", "TokenMgrError: Lexical error at line 1, column 7."),
    ("a /* b", "TokenMgrError: Lexical error at line 1, column 7."),
    ("a = . b", "TokenMgrError: Lexical error at line 1, column 6."),
    ("a / b", "TokenMgrError: Lexical error at line 1, column 4."),
    ('a = "x"', "TokenMgrError: Lexical error at line 1, column 5."),
    ("(a = 1", 'ParseException: Encountered "<EOF>" at line 1, column 6.'),
    (") a", 'ParseException: Encountered " ")" ") "" at line 1, column 1.'),
    ("a == 1", 'ParseException: Encountered " "=" "= "" at line 1, column 4.'),
    ("a != 1", "TokenMgrError: Lexical error at line 1, column 3."),
    ("contains = 1", 'ParseException: Encountered " "CONTAINS" "contains "" at line 1, column 1.'),
    ("a CONTAINS 5", 'ParseException: Encountered " <DECIMAL_LITERAL> "5 "" at line 1, column 12.'),
    ("a CONTAINS b", 'ParseException: Encountered " <ID> "b "" at line 1, column 12.'),
    ("AND", 'ParseException: Encountered " "AND" "AND "" at line 1, column 1.'),
    ("+", 'ParseException: Encountered " "+" "+ "" at line 1, column 1.'),
    ("+ " * 2500 + ">", 'ParseException: Encountered " "+" "+ "" at line 1, column 1.'),
    ("a IN 'x\ty'", 'ParseException: Encountered " <STRING_LITERAL> "\\\'x\\ty\\\' "" at line 1, column 6.'),
    (
        "a IN '\U0001f600\x07\"'",
        'ParseException: Encountered " <STRING_LITERAL> "\\\'\\ud83d\\ude00\\u0007\\"\\\' "" at line 1, column 6.',
    ),
    ("é = 1", "TokenMgrError: Lexical error at line 1, column 1."),
    ("", 'ParseException: Encountered "<EOF>" at line 0, column 0.'),
    ("   ", 'ParseException: Encountered "<EOF>" at line 1, column 3.'),
    ("a = \xa05", "TokenMgrError: Lexical error at line 1, column 5."),
    ("\x00", "TokenMgrError: Lexical error at line 1, column 2."),
)
# Operands that do not fit together.
PARTS = (
    ("a > 'x'", "java.lang.RuntimeException: Value ''x'' cannot be compared.", "at line 1, column 3"),
    ("'x' < a", "java.lang.RuntimeException: Value ''x'' cannot be compared.", "at line 1, column 5"),
    ("a > TRUE", "java.lang.RuntimeException: Value 'TRUE' cannot be compared.", "at line 1, column 3"),
    ("a > NULL", "java.lang.RuntimeException: Value 'NULL' cannot be compared.", "at line 1, column 3"),
    ("(a = 1) > 5", "java.lang.RuntimeException: Value 'a condition' cannot be compared.", "at line 1, column 9"),
    ("a > 5 > 3", "java.lang.RuntimeException: Value 'a condition' cannot be compared.", "at line 1, column 7"),
    ("a = NULL", "java.lang.RuntimeException: 'NULL' cannot be compared.", "at line 1, column 3"),
    ("NULL <> a", "java.lang.RuntimeException: 'NULL' cannot be compared.", "at line 1, column 6"),
    ("TRUE = 5", "java.lang.RuntimeException: 'TRUE' cannot be compared with '5'", "at line 1, column 6"),
    ("TRUE = 'x'", "java.lang.RuntimeException: 'TRUE' cannot be compared with ''x''", "at line 1, column 6"),
    (
        "5",
        "org.apache.rocketmq.filter.parser.ParseException: Expression will not result in a boolean value: 5",
        "at line 1, column 1",
    ),
    (
        "'x'",
        "org.apache.rocketmq.filter.parser.ParseException: Expression will not result in a boolean value: 'x'",
        "at line 1, column 1",
    ),
    (
        "-a",
        "org.apache.rocketmq.filter.parser.ParseException: Expression will not result in a boolean value: (- a)",
        "at line 1, column 1",
    ),
    (
        "a AND 5",
        "org.apache.rocketmq.filter.parser.ParseException: Expression will not result in a boolean value: 5",
        "at line 1, column 3",
    ),
    (
        "NOT 5",
        "org.apache.rocketmq.filter.parser.ParseException: Expression will not result in a boolean value: 5",
        "at line 1, column 1",
    ),
    (
        "a OR 'x'",
        "org.apache.rocketmq.filter.parser.ParseException: Expression will not result in a boolean value: 'x'",
        "at line 1, column 3",
    ),
    ("5 IN ('x')", "java.lang.RuntimeException: Expected a property for In expression, got: 5", "at line 1, column 3"),
    (
        "a BETWEEN 5 AND 3",
        (
            "java.lang.RuntimeException: "
            "Illegal values of between, left value(5) must less than or equal to right value(3)"
        ),
        "at line 1, column 3",
    ),
    (
        "a BETWEEN 5.5 AND 5",
        (
            "java.lang.RuntimeException: "
            "Illegal values of between, left value(5.5) must less than or equal to right value(5)"
        ),
        "at line 1, column 3",
    ),
    ("a BETWEEN 'a' AND 'b'", "java.lang.RuntimeException: Value ''a'' cannot be compared.", "at line 1, column 3"),
    ("a BETWEEN NULL AND 5", "java.lang.RuntimeException: Value 'NULL' cannot be compared.", "at line 1, column 3"),
    ("a NOT BETWEEN 1 AND 'x'", "java.lang.RuntimeException: Value ''x'' cannot be compared.", "at line 1, column 3"),
    (
        "a = 9223372036854775808",
        'java.lang.NumberFormatException: For input string: "9223372036854775808"',
        "at line 1, column 5",
    ),
    ("a = 0.0", "java.lang.RuntimeException: 0.0 is less than 4.9E-324", "at line 1, column 5"),
    ("a = 1e400", "java.lang.RuntimeException: 1e400 is greater than 1.7976931348623157E308", "at line 1, column 5"),
    ("a = 1e-400", "java.lang.RuntimeException: 1e-400 is less than 4.9E-324", "at line 1, column 5"),
)


@pytest.mark.parametrize(("expression", "remark"), SYNTAX)
def test_syntax_errors_have_apaches_remarks(expression: str, remark: str) -> None:
    with pytest.raises(FilterExpressionInvalid) as caught:
        parse(expression)
    assert str(caught.value) == f"org.apache.rocketmq.filter.parser.{remark}"


@pytest.mark.parametrize(("expression", "remark", "where"), PARTS)
def test_operands_that_do_not_fit_are_refused(expression: str, remark: str, where: str) -> None:
    with pytest.raises(FilterExpressionInvalid) as caught:
        parse(expression)
    assert str(caught.value) == f"{remark} ({where})"


@pytest.mark.parametrize(
    ("expression", "where"),
    [
        ("", "line 0, column 0"),
        ("\n", "line 1, column 1"),
        ("a = 1\nAND\n ", "line 3, column 1"),
        ("a >", "line 1, column 3"),
        ("a >\t", "line 1, column 8"),
        ("a =\t\t b >", "line 1, column 20"),
        ("a >\r\n\r\n", "line 2, column 2"),
        ("a = '\U0001f600' >", "line 1, column 10"),
    ],
)
def test_the_end_has_a_position(expression: str, where: str) -> None:
    with pytest.raises(FilterExpressionInvalid, match=f'Encountered "<EOF>" at {where}'):
        parse(expression)


@pytest.mark.parametrize(
    ("expression", "where"),
    [
        ("a =\t>", "line 1, column 9"),
        ("\ta =\t\t>", "line 1, column 25"),
        ("a\r=\r>", "line 3, column 1"),
        ("a\r\n=\n\r>", "line 4, column 1"),
        ("/* \t */ >", "line 1, column 13"),
        ("a = 'x\ry' AND >", "line 2, column 8"),
        ("a > '\ud83d\ude00' 5", "line 1, column 3"),
        ("\r\r\ta > 'x'", "line 3, column 11"),
    ],
)
def test_positions_are_counted_as_by_apache(expression: str, where: str) -> None:
    with pytest.raises(FilterExpressionInvalid, match=where):
        parse(expression)


@pytest.mark.parametrize(
    ("expression", "where"),
    [
        ("a =\t#", "line 1, column 10"),
        ("a = 'x\n", "line 2, column 0"),
        ("a = \U0001f600", "line 1, column 5"),
        ("a =\t'é\U0001f600", "line 1, column 13"),
    ],
)
def test_characters_that_begin_no_token_end_the_expression_as_in_apache(expression: str, where: str) -> None:
    with pytest.raises(FilterExpressionInvalid, match=f"Lexical error at {where}"):
        parse(expression)


@pytest.mark.parametrize("rest", ["b", "5", "'x'", ")", ", a", "LIKE 'x'", "(b = 2)", "TRUE", "-- to the end", "b #"])
def test_text_behind_the_expression_is_ignored(rest: str) -> None:
    assert parse(f"a = 1 {rest}") == parse("a = 1")


@pytest.mark.parametrize("rest", ["# b", "'x", "/* a", "! b"])
def test_text_behind_the_expression_must_be_a_token(rest: str) -> None:
    with pytest.raises(FilterExpressionInvalid, match="Lexical error at line 1, column"):
        parse(f"a = 1 {rest}")


def test_blanks_comments_and_letter_case_do_not_matter() -> None:
    plain = parse("NOT a = 1 AND b IS NOT NULL OR TRUE")
    assert parse("not/**/a=1\tAnd\nb -- c\r\n is\fNot null/* * / */Or true") == plain


def test_names_are_case_sensitive() -> None:
    assert parse("a = 1") != parse("A = 1")
    assert parse("_nOt$1 = 1") != parse("NOT a = 1")


def test_the_length_of_an_expression_is_bounded() -> None:
    parse("a = '" + "x" * (MOST_CHARACTERS - 6) + "'")
    with pytest.raises(FilterExpressionInvalid, match="the expression has 16385 characters, 16384 are the most"):
        parse("a = '" + "x" * (MOST_CHARACTERS - 5) + "'")


def test_the_number_of_tokens_is_bounded() -> None:
    parse("a = " + "+" * (MOST_TOKENS - 3) + "1")
    with pytest.raises(FilterExpressionInvalid, match="the expression has more than 3000 tokens"):
        parse("a = " + "+" * (MOST_TOKENS - 2) + "1")


def test_dashes_that_begin_no_comment_are_counted() -> None:
    assert parse("a = " + "--" * MOST_DASHES + "1") == parse("a = " + "- - " * MOST_DASHES + "1")
    assert parse("--\n" * (MOST_DASHES + 1) + "a = 1") == parse("a = 1")
    with pytest.raises(FilterExpressionInvalid, match="more than 16 times -- and no line end behind it"):
        parse("a\n = " + "--" * (MOST_DASHES + 1) + "1")


@pytest.mark.parametrize(
    "expression",
    [
        "a = " + "-" * (MOST_CHARACTERS - 5) + "1",
        "a = " + "-- " * 5000 + "1",
        "a = " + "--" * MOST_DASHES + "+" * (MOST_TOKENS - 2 * MOST_DASHES - 3) + " " * 12_000 + "1",
        "(" * 8000 + "a = 1" + ")" * 8000,
        " OR ".join(f"a{number} IS NULL" for number in range(MOST_COMPARISONS)),
        " AND ".join(["a BETWEEN 1 AND 2"] * MOST_COMPARISONS),
        "TRUE" + " = TRUE" * 2000,
        " OR ".join(f"p{number} > q" for number in range(MOST_COMPARISONS - 1)),
    ],
)
def test_the_most_costly_expression_blocks_others_shortly(expression: str) -> None:
    parse("a = 1")  # makes the parser
    seconds = min(_seconds_of(expression) for _ in range(5))  # others and the collector disturb some
    assert within(seconds, 0.05)


def _seconds_of(expression: str) -> float:
    began = time.process_time()
    with suppress(FilterExpressionInvalid):
        compile_evaluation(expression)
    return time.process_time() - began
