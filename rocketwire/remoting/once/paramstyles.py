"""The five ways in which drivers want a statement's parameters (PEP 249, `paramstyle`)."""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from typing import Any, Final

from rocketwire.remoting.once.database import Values
from rocketwire.remoting.once.errors import SettingInvalid

_PARAMETER: Final = re.compile(r":([a-z_]+)")
_MARKS: Final = {"qmark": "?", "numeric": ":{number}", "named": ":{name}", "format": "%s", "pyformat": "%({name})s"}
_BY_NAME: Final = frozenset({"named", "pyformat"})


def style_of(connection: object) -> str:
    """The style of the driver that made a connection.

    Raises:
        SettingInvalid: the connection's class is of no module that names one of the five styles.
    """
    for each in type(connection).__mro__:
        parts = each.__module__.split(".")
        for end in range(len(parts)):
            style = getattr(sys.modules.get(".".join(parts[: end + 1])), "paramstyle", None)
            if style is not None:
                return checked(style)
    kind = f"{type(connection).__module__}.{type(connection).__qualname__}"
    raise SettingInvalid(f"paramstyle: the module of {kind} names none; give its driver's ({', '.join(_MARKS)})")


def checked(style: str) -> str:
    """The style, if it is one of the five.

    Raises:
        SettingInvalid: it is not.
    """
    if style not in _MARKS:
        raise SettingInvalid(f"paramstyle {style}: expected {', '.join(_MARKS)}")
    return style


def rendered(statement: str, values: Values, style: str) -> tuple[str, Any]:
    """A statement whose parameters are written as `:name`, and its values, for a driver of a style."""
    text, names = _rendered(statement, style)
    return text, dict(values) if style in _BY_NAME else tuple(values[name] for name in names)


@lru_cache
def _rendered(statement: str, style: str) -> tuple[str, tuple[str, ...]]:
    names: list[str] = []

    def mark(found: re.Match[str]) -> str:
        names.append(found[1])
        return _MARKS[style].format(name=found[1], number=len(names))

    return _PARAMETER.sub(mark, statement), tuple(names)
