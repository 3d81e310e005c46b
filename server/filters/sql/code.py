"""Conditions as Python code: what a message is asked thousands of times is compiled once, to one function.

The function takes the property text of a record as it is stored and gives True, False or None. Java's class of every
value is known beforehand (a property is text, a constant what it is), so each comparison becomes the conversion that
Java would do, and nothing is looked up while it runs. Properties are picked out of the text only where they are needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from rocketwire.server.filters.sql import java_numbers
from rocketwire.server.filters.sql.java_numbers import EvaluationFailed
from rocketwire.server.filters.sql.nodes import (
    Cast,
    Condition,
    Constant,
    Equal,
    In,
    IsNull,
    Kind,
    Logic,
    Matches,
    Negated,
    Node,
    Not,
    Ordered,
    Property,
    Truth,
)
from rocketwire.server.filters.sql.properties import property_reader

Evaluate = Callable[[bytes], bool | None]

MOST_NESTED: Final = 100
"""Levels of conditions within conditions; Apache ends where its stack does, at some thousand."""
_MOST_INDENTED: Final = 40  # Python takes 100 levels of blocks


class NestedTooDeeply(ValueError):
    """A condition has more than MOST_NESTED levels."""


class _Operand(NamedTuple):
    """A value in the code: Java's class, the expression that gives it, and whether that may be None."""

    kind: Kind
    code: str
    nullable: bool


_NOTHING: Final = _Operand(Kind.NULL, "None", nullable=True)
_WHOLE: Final = {Kind.INT: ("to_int", 9), Kind.LONG: ("to_long", 18)}
_SHIFTED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NAN_IS_ABOVE: Final = {">": "<=", ">=": "<"}


def _not_comparable() -> bool:
    raise EvaluationFailed("a boolean on the left of a text")


def compile_condition(condition: Condition) -> Evaluate:
    """The function of a condition; it raises EvaluationFailed where Java throws.

    Raises:
        NestedTooDeeply: the condition has more than MOST_NESTED levels.
    """
    writer = _Writer(condition)
    exec(compile(writer.source(), "<filter>", "exec"), writer.names)  # noqa: S102 - text made here, of literals only
    evaluate: Evaluate = writer.names["evaluate"]
    return evaluate


class _Writer:
    """Writes the functions of one expression.

    Attributes:
        names: What the code refers to.
    """

    def __init__(self, condition: Condition) -> None:
        self.names: dict[str, Any] = {
            "to_int": java_numbers.to_int,
            "to_long": java_numbers.to_long,
            "to_double": java_numbers.to_double,
            "compare_doubles": java_numbers.compare_doubles,
            "not_comparable": _not_comparable,
        }
        self._done: list[str] = []
        self._lines: list[str] = []
        self._indent = 1
        self._level = 0
        self._numbers = 0
        # A property that is asked for more than once is read before all.
        wanted = Counter(_properties(condition))
        self._shared = {name: self._new() for name, count in wanted.items() if count > 1}
        for name, variable in self._shared.items():
            self._line(f"{variable} = {self._reader(name)}(text)")
        self._line(f"return {self._truth(condition)}")
        self._finish("evaluate", "text")

    def source(self) -> str:
        """The functions' text."""
        return "\n".join(self._done)

    # --- lines ---

    def _new(self) -> str:
        self._numbers += 1
        return f"v{self._numbers}"

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
        variable = self._new()
        self._line(f"{variable} = {value}")
        return variable

    def _finish(self, name: str, parameters: str) -> None:
        self._done += [f"def {name}({parameters}):", *self._lines]

    def _reader(self, name: str) -> str:
        """What reads a property in the code; each is read in one place."""
        reader = f"read_{self._new()}"
        self.names[reader] = property_reader(name)
        return reader

    # --- values ---

    def _operand(self, node: Node) -> _Operand:
        """Write what gives a value."""
        match node:
            case Property(name):
                variable = self._shared.get(name) or self._set(f"{self._reader(name)}(text)")
                return _Operand(Kind.STRING, variable, nullable=True)
            case Constant(kind, value):
                return _Operand(kind, repr(value), nullable=False)
            case Truth(value):
                return _NOTHING if value is None else _Operand(Kind.BOOLEAN, repr(value), nullable=False)
            case Negated(of):
                inner = self._operand(of)
                number = inner.kind in {Kind.INT, Kind.LONG, Kind.DOUBLE}
                return _Operand(inner.kind, f"(-{inner.code})", nullable=False) if number else _NOTHING
            case _:
                return _Operand(Kind.BOOLEAN, self._truth(node), nullable=True)

    def _truth(self, node: Condition) -> str:
        """Write what gives a condition's truth; the variable it is in.

        Raises:
            NestedTooDeeply: the condition has more than MOST_NESTED levels.
        """
        self._level += 1
        if self._level > MOST_NESTED:
            raise NestedTooDeeply
        result = self._in_own_function(node) if self._indent > _MOST_INDENTED else self._condition(node)
        self._level -= 1
        return result

    def _in_own_function(self, node: Condition) -> str:
        outer, indent = self._lines, self._indent
        self._lines, self._indent = [], 1
        self._line(f"return {self._condition(node)}")
        name, parameters = f"part{len(self._done)}", ", ".join(["text", *self._shared.values()])
        self._finish(name, parameters)
        self._lines, self._indent = outer, indent
        return self._set(f"{name}({parameters})")

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
            case Ordered(operator, left, right):
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
        """Conditions until one has the truth that makes the result `certain`; null if none has and one is null."""
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
        operand = self._operand(node.of)
        if operand.kind is not Kind.STRING:
            return "False"
        method = {"CONTAINS": "__contains__", "STARTSWITH": "startswith", "ENDSWITH": "endswith"}[node.operator]
        test = f"{'not ' if node.negated else ''}{operand.code}.{method}({node.text!r})"
        return self._set(f"{operand.code} is not None and {test}" if operand.nullable else test)

    # --- comparisons ---

    def _equal(self, left: _Operand, right: _Operand) -> str:
        """Both null are equal; null is not known to equal anything, but anything is known not to equal null."""
        if left.kind is Kind.NULL:
            return self._set(f"True if {right.code} is None else None" if right.nullable else "None")
        if right.kind is Kind.NULL:
            return self._set(f"{left.code} is None" if left.nullable else "False")
        result = _equality(left, right)
        if right.nullable:
            when_null = f"({left.code} is None)" if left.nullable else "False"
            result = f"{when_null} if {right.code} is None else {result}"
        if left.nullable:
            both = f"{left.code} is None and {right.code} is not None" if right.nullable else f"{left.code} is None"
            result = f"None if {both} else ({result})"
        return self._set(result)

    def _ordered(self, operator: str, left_node: Node, right_node: Node) -> str:
        """Null if a side is; the right one is not looked at if the left one is null."""
        left = self._operand(left_node)
        if left.kind is Kind.NULL:
            return "None"
        result = self._set("None")
        with self._when(f"{left.code} is not None" if left.nullable else "True"):
            right = self._operand(right_node)
            if right.kind is Kind.NULL:
                return result
            comparison = _comparison(operator, left, right)
            if right.nullable:
                comparison = f"None if {right.code} is None else {comparison}"
            self._line(f"{result} = {comparison}")
        return result


def _properties(node: Node) -> Iterator[str]:
    """The names of all properties in a condition, as often as they stand there."""
    stack: list[Node] = [node]
    while stack:
        match stack.pop():
            case Property(name):
                yield name
            case Equal(left, right) | Ordered(_, left, right):
                stack += (left, right)
            case Logic(_, parts):
                stack += parts
            case Negated(of) | Cast(of) | Not(of) | IsNull(of) | In(of) | Matches(_, of):
                stack.append(of)


def _number(operand: _Operand, kind: Kind) -> str:
    """A text or number as a number of a kind. A plain number of few digits is not worth a call."""
    if operand.kind is kind or (kind is Kind.LONG and operand.kind is Kind.INT):
        return operand.code
    if operand.kind is not Kind.STRING:
        return f"float({operand.code})"
    if kind is Kind.DOUBLE:
        return f"to_double({operand.code})"
    convert, digits = _WHOLE[kind]
    value = operand.code
    return f"(int({value}) if {value}.isdigit() and len({value}) <= {digits} else {convert}({value}))"


def _common(left: _Operand, right: _Operand) -> Kind:
    """The kind of number that two values are compared as."""
    kinds = {left.kind, right.kind}
    return next((kind for kind in (Kind.DOUBLE, Kind.LONG, Kind.INT) if kind in kinds), Kind.DOUBLE)


def _equality(left: _Operand, right: _Operand) -> str:
    """Whether two values, neither of them null, are equal."""
    if left.kind is right.kind:
        return f"{left.code} == {right.code}"
    if left.kind is Kind.BOOLEAN:
        return "not_comparable()" if right.kind is Kind.STRING else "False"
    if right.kind is Kind.BOOLEAN:
        return f"({left.code}.lower() == b'true') is {right.code}" if left.kind is Kind.STRING else "False"
    kind = _common(left, right)
    return f"{_number(left, kind)} == {_number(right, kind)}"


def _comparison(operator: str, left: _Operand, right: _Operand) -> str:
    """Whether one value, text or number, is less than another one, or what else the operator says; neither is null."""
    kind = _common(left, right)
    first, second = _number(left, kind), _number(right, kind)
    if left.kind is right.kind is Kind.STRING:
        return f"compare_doubles({first}, {second}) {operator} 0"
    if kind is not Kind.DOUBLE:
        return f"{first} {operator} {second}"
    # One side is a constant, neither zero nor NaN; a NaN on the other side is above it.
    if left.kind is not Kind.STRING:
        first, second, operator = second, first, _SHIFTED[operator]
    if operator in _NAN_IS_ABOVE:
        return f"not {first} {_NAN_IS_ABOVE[operator]} {second}"
    return f"{first} {operator} {second}"
