"""JSON as RocketMQ's bodies and config files have it: reading leniently, writing as 4.9's fastjson writes.

Writing: no blanks, integer keys without quotes, queues as keys as raw objects, None left out. Objects
(dataclasses) have their keys in alphabetical order, maps (dicts) in their own. ``strict`` writes what every
JSON parser takes: all keys quoted and in order.
"""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import is_dataclass
from typing import Any, Final

import msgspec

from rocketwire.wire.bodies._reader import ObjectKey, loads
from rocketwire.wire.bodies._shapes import to_builtins
from rocketwire.wire.bodies._values import Json, to_bool, to_float, to_int32, to_int64, to_text
from rocketwire.wire.errors import BodyInvalid

__all__ = [
    "Json",
    "ObjectKey",
    "dumps",
    "dumps_pretty",
    "loads",
    "to_bool",
    "to_float",
    "to_int32",
    "to_int64",
    "to_text",
]

_encode: Final = msgspec.json.Encoder().encode


def dumps(value: Json, *, strict: bool = False) -> bytes:
    """Write a value of dicts, lists, texts, numbers, booleans, None and body dataclasses.

    Raises:
        BodyInvalid: a value or key is of another type, or a text cannot be written as UTF-8.
    """
    return _written(_Writer(strict=strict), value)


def dumps_pretty(value: Json) -> bytes:
    """Write a value as the config files of a 4.9 store: tabs, one key a line, no newline at the end.

    A map with integer keys stays on one line, but its closing brace is on the next one.
    """
    return _written(_PrettyWriter(), value)


def _written(writer: "_Writer", value: Json) -> bytes:
    try:
        writer.value(value)
        return b"".join(writer.parts)
    except (UnicodeEncodeError, TypeError) as error:
        raise BodyInvalid(f"body cannot be written: {error}") from error


class _Writer:
    """Collects the parts of one text."""

    def __init__(self, *, strict: bool = False) -> None:
        self.parts: list[bytes] = []
        self.strict = strict

    def value(self, value: Json) -> None:
        if isinstance(value, str | int | float):  # most are
            self.parts.append(_encode(value))
            return
        if is_dataclass(value):
            value = to_builtins(value)
        if isinstance(value, ObjectKey):
            self.object(dict(value))
        elif isinstance(value, dict):
            self.object(value)
        elif isinstance(value, list | tuple | AbstractSet):
            self.array(value)
        else:
            self.parts.append(_encode(value))

    def object(self, entries: dict[Any, Any]) -> None:
        present = [(key, value) for key, value in entries.items() if value is not None]
        if self.strict:
            present.sort(key=lambda entry: str(entry[0]))
        self.parts.append(b"{")
        for number, (key, value) in enumerate(present):
            if number:
                self.parts.append(b",")
            self.key(key)
            self.parts.append(b":")
            self.value(value)
        self.parts.append(b"}")

    def key(self, key: Json) -> None:
        if isinstance(key, str):
            self.parts.append(_encode(key))
            return
        if is_dataclass(key):
            key = ObjectKey(to_builtins(key).items())
        if self.strict:
            key = dumps(key).decode()
        self.value(key)

    def array(self, items: Iterable[Any]) -> None:
        self.parts.append(b"[")
        for number, item in enumerate(items):
            if number:
                self.parts.append(b",")
            self.value(item)
        self.parts.append(b"]")


class _PrettyWriter(_Writer):
    """The same with line ends and tabs."""

    def __init__(self) -> None:
        super().__init__()
        self.depth = 0

    def object(self, entries: dict[Any, Any]) -> None:
        present = [(key, value) for key, value in entries.items() if value is not None]
        self.parts.append(b"{")
        self.depth += 1
        for number, (key, value) in enumerate(present):
            if number:
                self.parts.append(b",")
            if isinstance(key, str):
                self.new_line()
            self.key(key)
            self.parts.append(b":")
            self.value(value)
        self.depth -= 1
        if present:
            self.new_line()
        self.parts.append(b"}")

    def array(self, items: Iterable[Any]) -> None:
        found = list(items)
        if not found or all(isinstance(item, int) for item in found):
            super().array(found)
            return
        self.parts.append(b"[")
        self.depth += 1
        for number, item in enumerate(found):
            if number:
                self.parts.append(b",")
            self.new_line()
            self.value(item)
        self.depth -= 1
        self.new_line()
        self.parts.append(b"]")

    def new_line(self) -> None:
        self.parts.append(b"\n" + b"\t" * self.depth)
