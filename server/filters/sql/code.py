"""The compiler: makes one Python function of a condition, which is then evaluated thousands of times.

The function takes the property text of a record as stored and returns True, False or None. Java's class of every value
is known at compile time (a property is text, a constant has its type), so each comparison becomes the conversion that
Java would do. Properties are extracted from the text only where they are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from rocketwire.server.filters.sql.nodes import (
    NUMBERS,
    Cast,
    Condition,
    Constant,
    Equal,
    In,
    IsNull,
    Logic,
    Matches,
    Negated,
    Node,
    Not,
    OrderComparison,
    Property,
    Truth,
    ValueKind,
)
from rocketwire.server.filters.sql.values import Operand, Values

Evaluate = Callable[[bytes], bool | None]

MOST_NESTED: Final = 100
"""The most levels of nested conditions; Apache's limit is its stack, some thousand levels."""
MOST_COMPARISONS: Final = 300
"""The most comparisons and the like in one expression. Apache has no such limit."""
_MOST_INDENTED: Final = 40  # Python allows 100 levels of blocks
_SEARCHED_AT_ONCE: Final = 8  # bytes of a search text; each byte of a longer one may be compared at each place


class TooLarge(ValueError):
    """A condition has more than MOST_NESTED levels, or MOST_COMPARISONS; the text names which."""


_NOTHING: Final = Operand(ValueKind.NULL, "None", nullable=True)


class Compiled(NamedTuple):
    """The function of a condition, which raises EvaluationFailed where Java throws, and its amount of work.

    A call takes time in proportion to `work` and to the text's length: 1 is one scan of the text. The result depends
    only on the values of `properties`.
    """

    evaluate: Evaluate
    work: int
    properties: tuple[str, ...]


def compile_condition(condition: Condition) -> Compiled:
    """Compile a condition.

    Raises:
        TooLarge: the condition has too many levels or parts.
    """
    writer = _Writer(condition)
    names = writer.names
    exec(compile(writer.source(), "<filter>", "exec"), names)  # noqa: S102 - text made here, of literals only
    return Compiled(names["evaluate"], writer.work, writer.properties)


class _Writer:
    """Generates the functions of one expression."""

    def __init__(self, condition: Condition) -> None:
        self._values = Values(condition)
        self._searches = 0
        self._parts: list[list[str]] = []
        self._lines: list[str] = []
        self._indent = 1
        self._level = 0
        self._comparisons = 0
        self._line(f"return {self._truth(condition)}")

    @property
    def names(self) -> dict[str, Any]:
        """The names that the code refers to."""
        return self._values.names

    @property
    def properties(self) -> tuple[str, ...]:
        """The properties that it reads."""
        return self._values.properties

    @property
    def work(self) -> int:
        """The most work of the code, see Compiled."""
        return 1 + self._values.readers + self._comparisons + self._searches

    def source(self) -> str:
        """The source text of the functions."""
        before = self._values.before
        lines = [
            "def evaluate(text):",
            *(f"    {variable} = {value}" for variable, value in before.items()),
        ]
        if self._parts:
            shared = ", ".join(["text", *before])
            lines.append(f"    shared = ({shared},)")
            for number, part in enumerate(self._parts):
                lines[:0] = [f"def part{number}(shared):", f"    ({shared},) = shared", *part]
        return "\n".join([*lines, *self._lines])

    # --- lines ---

    def _line(self, line: str) -> None:
        self._lines.append("    " * self._indent + line)

    @contextmanager
    def _when(self, condition: str) -> Iterator[None]:
        self._line(f"if {condition}:")
        self._indent += 1
        before = len(self._lines)
        yield
        if len(self._lines) == before:
            self._line("pass")
        self._indent -= 1

    def _set(self, value: str) -> str:
        variable = self._values.new()
        self._line(f"{variable} = {value}")
        return variable

    # --- values ---

    def _operand(self, node: Node) -> Operand:
        """Generate the code of a value."""
        match node:
            case Property(name):
                value = self._values.of(name)
                return Operand(
                    ValueKind.STRING, value if value in self._values.before else self._set(value), nullable=True
                )
            case Constant(kind, constant):
                return Operand(kind, repr(constant), nullable=False)
            case Truth(truth):
                return _NOTHING if truth is None else Operand(ValueKind.BOOLEAN, repr(truth), nullable=False)
            case Negated(Constant(kind, constant), signs) if kind in NUMBERS:
                return Operand(kind, f"{'-' * (signs % 2)}{constant!r}", nullable=False)
            case Negated(of):
                self._operand(of)  # it may fail
                return _NOTHING
            case _:
                return Operand(ValueKind.BOOLEAN, self._truth(node), nullable=True)

    def _truth(self, node: Condition) -> str:
        """Generate the code of a condition's truth; return the variable that holds it.

        Raises:
            TooLarge: the condition has too many levels or parts.
        """
        self._level += 1
        if self._level > MOST_NESTED:
            raise TooLarge(f"the expression has more than {MOST_NESTED} levels of conditions")
        if not isinstance(node, Not | Logic):
            self._comparisons += 1
            if self._comparisons > MOST_COMPARISONS:
                raise TooLarge(f"the expression has more than {MOST_COMPARISONS} comparisons")
        result = self._in_own_function(node) if self._indent > _MOST_INDENTED else self._condition(node)
        self._level -= 1
        return result

    def _in_own_function(self, node: Condition) -> str:
        outer, indent = self._lines, self._indent
        self._lines, self._indent = [], 1
        self._line(f"return {self._condition(node)}")
        self._parts.append(self._lines)
        self._lines, self._indent = outer, indent
        return self._set(f"part{len(self._parts) - 1}(shared)")

    def _condition(self, node: Condition) -> str:
        match node:
            case Truth(value):
                return repr(value)
            case Cast(of):
                return self._set(f"None if {self._operand(of).code} is None else False")
            case Not(of):
                inner = self._truth(of)
                return self._set(f"None if {inner} is None else not {inner}")
            case Logic(every, parts):
                return self._logic(parts, certain=not every)
            case Equal(left, right):
                return self._equal(self._operand(left), self._operand(right))
            case OrderComparison(operator, left, right):
                return self._ordered(operator, left, right)
            case IsNull(of):
                operand = self._operand(of)
                return self._set(f"{operand.code} is None" if operand.nullable else "False")
            case In(of, texts, negated):
                text = self._operand(of).code
                among = f"{text} {'not in' if negated else 'in'} {set(texts)!r}"
                return self._set(f"None if {text} is None else {among}")
            case _:
                return self._matches(node)

    def _logic(self, parts: tuple[Condition, ...], *, certain: bool) -> str:
        """Evaluate conditions until one makes the result `certain`; null if none does and one is null."""
        result = self._set(self._truth(parts[0]))
        for part in parts[1:]:
            with self._when(f"{result} is not {certain}"):
                truth = self._truth(part)
                with self._when(f"{truth} is not {not certain}"):
                    self._line(f"{result} = {truth}")
        return result

    def _matches(self, node: Matches) -> str:
        if not node.text:
            return "False"
        operand = self._operand(node.operand)
        if operand.kind is not ValueKind.STRING:
            return "False"
        self._searches += 1 + len(node.text) // _SEARCHED_AT_ONCE
        method = {"CONTAINS": "__contains__", "STARTSWITH": "startswith", "ENDSWITH": "endswith"}[node.operator]
        test = f"{'not ' if node.negated else ''}{operand.code}.{method}({node.text!r})"
        return self._set(f"{operand.code} is not None and {test}" if operand.nullable else test)

    # --- comparisons ---

    def _equal(self, left: Operand, right: Operand) -> str:
        """True if both are null, null if only the left one is, false if only the right one is."""
        if left.kind is ValueKind.NULL:
            return self._set(f"True if {right.code} is None else None" if right.nullable else "None")
        if right.kind is ValueKind.NULL:
            return self._set(f"{left.code} is None" if left.nullable else "False")
        result = self._values.equality(left, right)
        if right.nullable:
            when_null = f"({left.code} is None)" if left.nullable else "False"
            result = f"{when_null} if {right.code} is None else {result}"
        if left.nullable:
            both = f"{left.code} is None and {right.code} is not None" if right.nullable else f"{left.code} is None"
            result = f"None if {both} else ({result})"
        return self._set(result)

    def _ordered(self, operator: str, left_node: Node, right_node: Node) -> str:
        """Null if a side is null; the right side is not evaluated if the left one is null."""
        left = self._operand(left_node)
        if left.kind is ValueKind.NULL:
            return "None"
        result = self._set("None")
        with self._when(f"{left.code} is not None" if left.nullable else "True"):
            right = self._operand(right_node)
            if right.kind is ValueKind.NULL:
                return result
            comparison = self._values.comparison(operator, left, right)
            if right.nullable:
                comparison = f"None if {right.code} is None else {comparison}"
            self._line(f"{result} = {comparison}")
        return result
