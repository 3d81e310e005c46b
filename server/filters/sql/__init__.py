r"""SQL92 filter expressions: the grammar, its type rules, and compilation to Python code.

`compile_sql` is all that others need, and what the benchmark measures::

    wanted = compile_sql("a > 5 AND b = 'x'").wanted
    wanted(b"a\x017\x02b\x01x")  # the property text of a record, as stored

Begin with `grammar`; `nodes` is the syntax tree, `code` the compiler.
May import: `core`; `wire`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Generic, NamedTuple, TypeVar

from rocketwire.server.core.errors import FilterExpressionInvalid
from rocketwire.server.filters.sql.code import MOST_COMPARISONS, Compiled, TooLarge, compile_condition
from rocketwire.server.filters.sql.java_numbers import EvaluationFailed

T = TypeVar("T")

MOST_CHARACTERS: Final = 131_072
"""The most characters of all cached expressions."""
_LEAST: Final = 64  # characters that every expression counts at least


class CompiledCache(Generic[T]):
    """Values by expression; the least recently used ones are dropped.

    A compiled expression takes some hundred bytes for each of its characters, so the bound is in characters.
    """

    def __init__(self) -> None:
        self._values: OrderedDict[str, T] = OrderedDict()
        self._characters = 0

    def __len__(self) -> int:
        """The number of cached values."""
        return len(self._values)

    def get(self, expression: str) -> T | None:
        """The value of an expression; None if it is not cached."""
        value = self._values.get(expression)
        if value is not None:
            self._values.move_to_end(expression)
        return value

    def put(self, expression: str, value: T) -> None:
        """Cache the value of an expression that has none."""
        self._values[expression] = value
        self._characters += _size(expression)
        while self._characters > MOST_CHARACTERS:
            oldest, _ = self._values.popitem(last=False)
            self._characters -= _size(oldest)


def _size(expression: str) -> int:
    return max(_LEAST, len(expression))


SQL92: Final = "SQL92"
"""The expression type."""

PropertiesTest = Callable[[bytes], bool]
"""Takes a record's property text; returns whether the message matches."""

_BYTES: Final = 3072
_BYTES_EACH: Final = 192
"""The memory of a filter, and of each character of its expression: most if all comparisons have different names."""

#: Bytes of property text times an expression's work (see Compiled) that one pull may use: some 50 ms.
_MOST_WORK: Final = 40_000_000

LEAST_TEXT: Final = _MOST_WORK // (4 * MOST_COMPARISONS)
"""Any filter may examine so many bytes of text in one scan: a comparison reads and compares two properties at most."""


class SqlFilter(NamedTuple):
    """An expression's filter, the bytes of property text that one scan may examine, and the properties it reads.

    `size` is the most bytes of memory it takes.
    """

    wanted: PropertiesTest
    most_text: int
    properties: tuple[str, ...]
    size: int


def compile_evaluation(expression: str) -> Compiled:
    """Compile an expression to a function from a record's property text to True, False or None (null).

    It raises EvaluationFailed where Apache's filter throws. The grammar is loaded at the first call.

    Raises:
        FilterExpressionInvalid: the expression cannot be parsed; the text has the position.
    """
    from rocketwire.server.filters.sql.grammar import parse  # noqa: PLC0415 - importing lark takes longer than the rest of a start

    try:
        return compile_condition(parse(expression))
    except TooLarge as problem:
        raise FilterExpressionInvalid(str(problem)) from None


def compile_sql(expression: str) -> SqlFilter:
    """The filter of an expression: a message matches only if the expression is true, not if it is null or fails.

    The results for the newest expressions are cached.

    Raises:
        FilterExpressionInvalid: the expression cannot be parsed; the text has the position.
    """
    kept = _kept.get(expression)
    if kept is None:
        try:
            kept = _compile(expression)
        except FilterExpressionInvalid as problem:
            kept = str(problem)
        _kept.put(expression, kept)
    if isinstance(kept, str):
        raise FilterExpressionInvalid(kept)
    return kept


def is_kept(expression: str) -> bool:
    """Whether the result of `compile_sql` for an expression, or its error, is cached."""
    return _kept.get(expression) is not None


def _compile(expression: str) -> SqlFilter:
    evaluate, work, properties = compile_evaluation(expression)

    def wanted(properties: bytes) -> bool:
        try:
            return evaluate(properties) is True
        except EvaluationFailed:
            return False

    return SqlFilter(wanted, _MOST_WORK // work, properties, _BYTES + _BYTES_EACH * len(expression))


_kept: Final = CompiledCache[SqlFilter | str]()
