"""How one configuration key is declared, read from text and written back.

A key is a field made by `key(...)`: the default gives the type (bool, int or str), the arguments give bounds or choices
and the meaning. Parsing, error messages, code 25's answer and docs/configuration.md follow from that. Keys are declared
in groups: frozen dataclasses, each in the room that reads it. Only this module knows Apache's spelling of a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import MISSING, Field, dataclass, field
from typing import Any, Final, TypeVar

from rocketwire.wire.java import INT32_MAX

Value = bool | int | str
V = TypeVar("V", bool, int, str)

_METADATA: Final = "rocketwire key"

OURS: Final = "not Apache's"
"""A key that no Apache broker knows."""
NEWER: Final = "of Apache 5.5.0, not of 4.9.7"
"""A key that only the newer Apache broker knows."""

_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,19}")


class ConfigError(Exception):
    """A setting that cannot be used. Its text is one line that names key, value and what is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key.

    Attributes:
        name: Apache's spelling.
        group: the field of the configuration that holds the key's group.
        attribute: the field of the group.
        default: also defines the type.
        meaning: one line, with the unit where there is one.
        low: smallest allowed number.
        high: largest allowed number.
        choices: the allowed texts; empty = any.
        form: a regular expression for the whole text, and its meaning in words; empty = any.
        aliases: other spellings that mean the same.
        online: whether code 25 may change it while the broker runs.
        known: `OURS` or `NEWER` if Apache 4.9.7 does not know the key; else empty.
        secret: whether the value is never shown.
    """

    name: str
    group: str
    attribute: str
    default: Value
    meaning: str
    low: int
    high: int
    choices: tuple[str, ...]
    form: tuple[str, str] | None
    aliases: tuple[str, ...]
    online: bool
    known: str
    secret: bool

    @property
    def allowed(self) -> str:
        """What a value may be, in words."""
        if self.form:
            return self.form[1]
        if isinstance(self.default, bool):
            return "true or false"
        if isinstance(self.default, int):
            return f"a whole number from {self.low} to {self.high}"
        if self.choices:
            return " or ".join(self.choices)
        return "any text but an empty one" if self.default else "any text"

    def read(self, text: str, *, spelling: str = "") -> Value:
        """Parse a value; an error names the key as it was spelt.

        Raises:
            ConfigError: not of the key's type, or outside what is allowed.
        """
        text = text.strip()
        value = self._value_of(text)
        if value is None:
            shown = text if text.isprintable() else repr(text)
            raise ConfigError(f"{spelling or self.name}={shown}: expected {self.allowed}")
        return value

    def _value_of(self, text: str) -> Value | None:
        if self.form and not re.fullmatch(self.form[0], text):
            return None
        if isinstance(self.default, bool):
            return {"true": True, "false": False}.get(text.lower())
        if isinstance(self.default, int):
            number = int(text) if _WHOLE_NUMBER.fullmatch(text) else self.low - 1
            return number if self.low <= number <= self.high else None
        refused = (self.choices and text not in self.choices) or (self.default and not text)
        return None if refused else text


def format_value(value: Value) -> str:
    """Format a value so that `read` returns an equal one."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def key(
    meaning: str,
    *,
    default: V,
    name: str = "",
    low: int = 0,
    high: int = INT32_MAX,
    choices: tuple[str, ...] = (),
    form: tuple[str, str] | None = None,
    aliases: tuple[str, ...] = (),
    online: bool = False,
    known: str = "",
    secret: bool = False,
) -> V:
    """Declare a field of a group as a key; see `Key` for the arguments.

    The default of `name` is the field's name in camel case.
    """
    declaration = {
        "meaning": meaning,
        "name": name,
        "low": low,
        "high": high,
        "choices": choices,
        "form": form,
        "aliases": aliases,
        "online": online,
        "known": known,
        "secret": secret,
    }
    # `field` really returns a Field; the dataclass decorator replaces it by the default.
    made: V = field(default=default, metadata={_METADATA: declaration})
    return made


def keys_of(fields: Iterable[Field[Any]], *, group: str) -> tuple[Key, ...]:
    """The keys among the fields of a group of this name, in their order."""
    return tuple(
        Key(
            group=group,
            attribute=each.name,
            default=each.default,
            **{**declared, "name": declared["name"] or camel(each.name)},
        )
        for each in fields
        if (declared := each.metadata.get(_METADATA)) is not None and each.default is not MISSING
    )


def camel(attribute: str) -> str:
    """`flush_disk_type` -> `flushDiskType`."""
    first, *others = attribute.split("_")
    return first + "".join(part.capitalize() for part in others)
