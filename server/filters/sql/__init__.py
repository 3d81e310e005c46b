r"""SQL92 filter expressions: grammar, what it lets stand together, and the code that answers for a message.

`compile_sql` is all that others need, and what the benchmark measures::

    wanted = compile_sql("a > 5 AND b = 'x'")
    wanted(b"a\x017\x02b\x01x")  # the property text of a record, as stored
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from rocketwire.server.errors import SubscriptionInvalid
from rocketwire.server.filters.sql.code import MOST_NESTED, Evaluate, NestedTooDeeply, compile_condition
from rocketwire.server.filters.sql.java_numbers import EvaluationFailed

SQL92: Final = "SQL92"
"""The expression type."""

Wanted = Callable[[bytes], bool]
"""Takes a record's property text; whether the message is wanted."""

_MOST_KEPT: Final = 256


def compile_evaluation(expression: str) -> Evaluate:
    """The function that gives an expression's truth, which may be None (null), for a record's property text.

    It raises EvaluationFailed where Apache's filter throws. The grammar is loaded at the first call.

    Raises:
        SubscriptionInvalid: the expression cannot be parsed; the text says where.
    """
    from rocketwire.server.filters.sql.grammar import parse  # noqa: PLC0415 - lark costs a start more than all else

    try:
        return compile_condition(parse(expression))
    except NestedTooDeeply:
        raise SubscriptionInvalid(f"the expression has more than {MOST_NESTED} levels of conditions") from None


@lru_cache(maxsize=_MOST_KEPT)
def compile_sql(expression: str) -> Wanted:
    """The filter of an expression: only what it is true for is wanted, neither null nor what it cannot be asked of.

    Raises:
        SubscriptionInvalid: the expression cannot be parsed; the text says where.
    """
    evaluate = compile_evaluation(expression)

    def wanted(properties: bytes) -> bool:
        try:
            return evaluate(properties) is True
        except EvaluationFailed:
            return False

    return wanted
