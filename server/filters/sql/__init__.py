r"""SQL92 filter expressions: grammar, what it lets stand together, and the code that answers for a message.

`compile_sql` is all that others need, and what the benchmark measures::

    wanted = compile_sql("a > 5 AND b = 'x'").wanted
    wanted(b"a\x017\x02b\x01x")  # the property text of a record, as stored
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from rocketwire.server.core.errors import SubscriptionInvalid
from rocketwire.server.filters.sql.code import MOST_COMPARISONS, Compiled, TooLarge, compile_condition
from rocketwire.server.filters.sql.java_numbers import EvaluationFailed
from rocketwire.server.filters.sql.kept import Kept

SQL92: Final = "SQL92"
"""The expression type."""

Wanted = Callable[[bytes], bool]
"""Takes a record's property text; whether the message is wanted."""

_BYTES: Final = 3072
_BYTES_EACH: Final = 160
"""What a filter takes of memory, and for each character of its expression: most where all compare another name."""

#: Bytes of property text times an expression's work (see Compiled) that one pull may take: some 50 ms.
_MOST_WORK: Final = 40_000_000

LEAST_TEXT: Final = _MOST_WORK // (4 * MOST_COMPARISONS)
"""So many bytes of text any filter takes in one look: a comparison reads two properties at most, and compares them."""


class SqlFilter(NamedTuple):
    """An expression's filter, how many bytes of property text one look may ask it about, and all it looks for there.

    `size` is how many bytes of memory it takes, at most.
    """

    wanted: Wanted
    most_text: int
    properties: tuple[str, ...]
    size: int


def compile_evaluation(expression: str) -> Compiled:
    """The function that gives an expression's truth, which may be None (null), for a record's property text.

    It raises EvaluationFailed where Apache's filter throws. The grammar is loaded at the first call.

    Raises:
        SubscriptionInvalid: the expression cannot be parsed; the text says where.
    """
    from rocketwire.server.filters.sql.grammar import parse  # noqa: PLC0415 - lark costs a start more than all else

    try:
        return compile_condition(parse(expression))
    except TooLarge as problem:
        raise SubscriptionInvalid(str(problem)) from None


def compile_sql(expression: str) -> SqlFilter:
    """The filter of an expression: only what it is true for is wanted, neither null nor what it cannot be asked of.

    What became of the newest expressions is kept.

    Raises:
        SubscriptionInvalid: the expression cannot be parsed; the text says where.
    """
    kept = _kept.get(expression)
    if kept is None:
        try:
            kept = _compile(expression)
        except SubscriptionInvalid as problem:
            kept = str(problem)
        _kept.put(expression, kept)
    if isinstance(kept, str):
        raise SubscriptionInvalid(kept)
    return kept


def is_kept(expression: str) -> bool:
    """Whether `compile_sql` knows an expression already, or what is wrong with it."""
    return _kept.get(expression) is not None


def _compile(expression: str) -> SqlFilter:
    evaluate, work, properties = compile_evaluation(expression)

    def wanted(properties: bytes) -> bool:
        try:
            return evaluate(properties) is True
        except EvaluationFailed:
            return False

    return SqlFilter(wanted, _MOST_WORK // work, properties, _BYTES + _BYTES_EACH * len(expression))


_kept: Final = Kept[SqlFilter | str]()
