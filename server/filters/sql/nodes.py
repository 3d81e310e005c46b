"""The syntax tree of an expression, with Apache's type rules.

The grammar builds it from the leaves up. A condition has a truth: true, false or null. Other nodes are properties
(always text), constants, and negated ones of both; a property alone may stand for a condition.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from rocketwire.server.filters.sql.java_numbers import compare_doubles


class ValueKind(enum.Enum):
    """Java's class of a value."""

    STRING = "String"
    INT = "Integer"
    LONG = "Long"
    DOUBLE = "Double"
    BOOLEAN = "Boolean"
    NULL = "null"


NUMBERS: Final = frozenset({ValueKind.INT, ValueKind.LONG, ValueKind.DOUBLE})


class NotAllowed(ValueError):
    """A combination of nodes is not allowed; the text is Apache's."""


@dataclass(frozen=True, slots=True)
class Property:
    """A property of the message, null if the message does not have it."""

    name: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A number or text literal; `value` is bytes for text."""

    kind: ValueKind
    value: bytes | int | float
    text: str


@dataclass(frozen=True, slots=True)
class Negated:
    """``- of``, or several signs: null unless it is a number."""

    operand: Property | Constant | Condition
    signs: int


@dataclass(frozen=True, slots=True)
class Truth:
    """TRUE, FALSE or NULL."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class Cast:
    """A property used as a condition: false, since no property is a boolean; null without the property."""

    operand: Property


@dataclass(frozen=True, slots=True)
class Not:
    """``NOT of``; null stays null."""

    operand: Condition


@dataclass(frozen=True, slots=True)
class Logic:
    """Conditions joined by AND (`every`) or OR, evaluated from the left until the result is certain."""

    every: bool
    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Equal:
    """``left = right``."""

    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class OrderComparison:
    """``left < right``, or another of the operators for numbers."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class IsNull:
    """``operand IS NULL``: never null itself."""

    operand: Node


@dataclass(frozen=True, slots=True)
class In:
    """``operand IN (texts)``."""

    operand: Property
    texts: tuple[bytes, ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class Matches:
    """``operand CONTAINS text``, or STARTSWITH, ENDSWITH; false, negated or not, for null and an empty text."""

    operator: str
    operand: Node
    text: bytes
    negated: bool


Condition = Truth | Cast | Not | Logic | Equal | OrderComparison | IsNull | In | Matches
Node = Property | Constant | Negated | Condition


def condition(node: Node) -> Condition:
    """The node as a condition.

    Raises:
        NotAllowed: it is a number or a text.
    """
    if isinstance(node, Property):
        return Cast(node)
    if isinstance(node, Constant | Negated):
        raise NotAllowed(f"Expression will not result in a boolean value: {describe(node)}")
    return node


def negated(of: Node) -> Negated:
    """``- of``; several signs do not nest."""
    return Negated(of.operand, of.signs + 1) if isinstance(of, Negated) else Negated(of, 1)


def equal(left: Node, right: Node) -> Equal:
    """``left = right``.

    Raises:
        NotAllowed: one side is NULL, or the left one TRUE or FALSE and the right one a constant of another kind.
    """
    for side in (left, right):
        if side == Truth(None):
            raise NotAllowed("'NULL' cannot be compared.")
    if isinstance(left, Truth) and isinstance(right, Constant):
        raise NotAllowed(f"'{describe(left)}' cannot be compared with '{describe(right)}'")
    return Equal(left, right)


def order_comparison(operator: str, left: Node, right: Node) -> OrderComparison:
    """``left < right`` and the like.

    Raises:
        NotAllowed: one side is a condition or a text.
    """
    for side in (left, right):
        number = isinstance(side, Constant) and side.kind in NUMBERS
        if not number and not isinstance(side, Property | Negated):
            raise NotAllowed(f"Value '{describe(side)}' cannot be compared.")
    return OrderComparison(operator, left, right)


def between(of: Node, low: Node, high: Node) -> Logic:
    """``of BETWEEN low AND high``.

    Raises:
        NotAllowed: a part is not a number, or `high` a constant below `low`.
    """
    if (
        isinstance(low, Constant)
        and isinstance(high, Constant)
        and {low.kind, high.kind} <= NUMBERS
        and _is_below(high, low)
    ):
        raise NotAllowed(
            f"Illegal values of between, left value({low.text}) must less than or equal to right value({high.text})"
        )
    return Logic(every=True, parts=(order_comparison(">=", of, low), order_comparison("<=", of, high)))


def _is_below(left: Constant, right: Constant) -> bool:
    if ValueKind.DOUBLE in {left.kind, right.kind}:
        return compare_doubles(float(left.value), float(right.value)) < 0
    return int(left.value) < int(right.value)


def not_between(of: Node, low: Node, high: Node) -> Logic:
    """``of NOT BETWEEN low AND high``.

    Raises:
        NotAllowed: a part is not a number.
    """
    return Logic(every=False, parts=(order_comparison("<", of, low), order_comparison(">", of, high)))


def one_of(of: Node, texts: tuple[bytes, ...], *, negated: bool) -> In:
    """``of IN (texts)``.

    Raises:
        NotAllowed: `of` is not a property.
    """
    if not isinstance(of, Property):
        raise NotAllowed(f"Expected a property for In expression, got: {describe(of)}")
    return In(of, texts, negated)


def describe(node: Node) -> str:
    """The text of a node in a remark."""
    match node:
        case Property(name):
            return name
        case Constant(text=text):
            return text
        case Truth(value):
            return "NULL" if value is None else str(value).upper()
        case Negated(of, signs):
            return "(- " * signs + describe(of) + ")" * signs
        case _:
            return "a condition"
