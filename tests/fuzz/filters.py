"""Filter expressions of clients: an expression on a line, then the properties to test."""

from __future__ import annotations

from collections.abc import Iterator

from rocketwire.server.core.errors import FilterExpressionInvalid
from rocketwire.server.filters.sql import compile_evaluation
from rocketwire.server.filters.sql.java_numbers import EvaluationFailed
from rocketwire.server.filters.tag import subscription_filter
from tests.fuzz.part import Part, always

_EXPRESSIONS = (
    "a > 5 AND b = 'x'",
    "a IS NOT NULL OR NOT (b IN ('x', 'y''z'))",
    "a BETWEEN 1 AND 1.5e3 AND c NOT BETWEEN -1 AND 0x1F",
    "a CONTAINS 'x' OR b NOT STARTSWITH 'y' OR c ENDSWITH 'z'",
    "TRUE = a AND FALSE <> b",
    "a >= -5 AND a <= +9223372036854775807L /* c */ -- d",
)


def check(data: bytes) -> None:
    """It is refused with a text, or it gives a truth of any properties, or the reason why it cannot."""
    expression, _, properties = data.partition(b"\n")
    text = expression.decode(errors="replace")
    try:
        subscription_filter(text)
    except FilterExpressionInvalid as error:
        assert str(error)
    try:
        compiled = compile_evaluation(text)
    except FilterExpressionInvalid as error:
        assert str(error)
        return
    for each in (b"", properties):
        try:
            assert compiled.evaluate(each) in {True, False, None}
        except EvaluationFailed as error:
            assert str(error)


def seeds() -> Iterator[bytes]:
    """Expressions with all that the grammar has."""
    for each in _EXPRESSIONS:
        yield each.encode() + b"\na\x017\x02b\x01x\x02c\x01z"
    yield b"TagA || TagB ||\n"


PART = Part(
    opened=always(check),
    seeds=seeds,
    words=[
        *(" AND ", " OR ", " NOT ", " IN (", " IS NULL", " BETWEEN ", "TRUE", "FALSE", "''", "'", "<>", "<=", ">="),
        *(" CONTAINS ", " STARTSWITH ", " ENDSWITH ", "0x", "L", "1e308", "-", "(", ")", "/*", "*/", "--", "||", ","),
        *("\na\x011\x02", "9223372036854775808", "1.5", "\\", "\x02", "\x01"),
    ],
    longest=600,
)
