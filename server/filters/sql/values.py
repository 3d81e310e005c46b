"""Values in the generated code: constants, and properties read and converted.

A property that is used more than once is read once at the beginning, and converted once to each kind of number that it
is compared with: the cost per message is bounded, however often an expression uses its properties.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from rocketwire.server.filters.sql import java_numbers
from rocketwire.server.filters.sql.java_numbers import EvaluationFailed
from rocketwire.server.filters.sql.nodes import (
    Cast,
    Condition,
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
    ValueKind,
)
from rocketwire.wire.properties import property_reader


class Operand(NamedTuple):
    """A value in the code: Java's class, its expression, and whether it may be None."""

    kind: ValueKind
    code: str
    nullable: bool


#: By the kind of number: the function that converts a text, and how many digits are parsed inline.
_CONVERT: Final = {ValueKind.INT: ("to_int", 9), ValueKind.LONG: ("to_long", 18), ValueKind.DOUBLE: ("to_double", 15)}
_SHIFTED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NAN_IS_ABOVE: Final = {">": "<=", ">=": "<"}


def _not_comparable() -> bool:
    raise EvaluationFailed("a boolean on the left of a text")


class Values:
    """The values of one expression.

    Attributes:
        names: The names that the code refers to.
        before: The variables set at the beginning, with their expressions.
        readers: The property readers in the code.
        properties: The names of the properties.
    """

    def __init__(self, condition: Condition) -> None:
        self.names: dict[str, Any] = {
            "to_int": java_numbers.to_int,
            "to_long": java_numbers.to_long,
            "to_double": java_numbers.to_double,
            "or_not": java_numbers.or_not,
            "compare_doubles": java_numbers.compare_doubles,
            "not_comparable": _not_comparable,
        }
        self.readers = 0
        self._numbers = 0
        wanted = Counter(_properties(condition))
        self.properties = tuple(wanted)
        self._shared = {name: self.new() for name, count in wanted.items() if count > 1}
        self.before = {variable: self._read(name) for name, variable in self._shared.items()}
        self._converted: dict[tuple[str, ValueKind], str] = {}

    def new(self) -> str:
        """A new variable."""
        self._numbers += 1
        return f"v{self._numbers}"

    def of(self, name: str) -> str:
        """The code of a property's value: a variable of `before`, or the read itself if it is the only one."""
        return self._shared.get(name) or self._read(name)

    def _read(self, name: str) -> str:
        self.readers += 1
        reader = f"read_{self.readers}"
        self.names[reader] = property_reader(name.encode())
        return f"{reader}(text)"

    def number(self, operand: Operand, kind: ValueKind) -> str:
        """A text or number as a number of a kind. A plain number of few digits is converted inline."""
        if operand.kind is kind or (kind is ValueKind.LONG and operand.kind is ValueKind.INT):
            return operand.code
        if operand.kind is not ValueKind.STRING:
            return f"float({operand.code})"
        convert, digits = _CONVERT[kind]
        value = operand.code
        plain = f"int({value}) if {value}.isdigit() and len({value}) <= {digits}"
        if value in self.before:
            variable = self._converted.get((value, kind)) or self.new()
            self._converted[value, kind] = variable
            self.before[variable] = f"{value} and ({plain} else or_not({convert}, {value}))"
            return variable
        return f"({plain} else {convert}({value}))"

    def equality(self, left: Operand, right: Operand) -> str:
        """The code that compares two values, neither of them null, for equality."""
        if left.kind is right.kind:
            return f"{left.code} == {right.code}"
        if left.kind is ValueKind.BOOLEAN:
            return "not_comparable()" if right.kind is ValueKind.STRING else "False"
        if right.kind is ValueKind.BOOLEAN:
            return f"({left.code}.lower() == b'true') is {right.code}" if left.kind is ValueKind.STRING else "False"
        kind = _common(left, right)
        return f"{self.number(left, kind)} == {self.number(right, kind)}"

    def comparison(self, operator: str, left: Operand, right: Operand) -> str:
        """The code that compares two texts or numbers by an operator; neither is null."""
        kind = _common(left, right)
        first, second = self.number(left, kind), self.number(right, kind)
        if left.kind is right.kind is ValueKind.STRING:
            return f"compare_doubles({first}, {second}) {operator} 0"
        if kind is not ValueKind.DOUBLE:
            return f"{first} {operator} {second}"
        # One side is a constant, neither zero nor NaN; a NaN on the other side is greater.
        if left.kind is not ValueKind.STRING:
            first, second, operator = second, first, _SHIFTED[operator]
        if operator in _NAN_IS_ABOVE:
            return f"not {first} {_NAN_IS_ABOVE[operator]} {second}"
        return f"{first} {operator} {second}"


def _common(left: Operand, right: Operand) -> ValueKind:
    """The kind of number in which two values are compared."""
    kinds = {left.kind, right.kind}
    return next((kind for kind in (ValueKind.DOUBLE, ValueKind.LONG, ValueKind.INT) if kind in kinds), ValueKind.DOUBLE)


def _properties(node: Node) -> Iterator[str]:
    """The names of all properties in a condition, with repetitions."""
    stack: list[Node] = [node]
    while stack:
        match stack.pop():
            case Property(name):
                yield name
            case Equal(left, right) | OrderComparison(_, left, right):
                stack += (left, right)
            case Logic(_, parts):
                stack += parts
            case Negated(of, _) | Cast(of) | Not(of) | IsNull(of) | In(of) | Matches(_, of):
                stack.append(of)
