"""JSON of RocketMQ's bodies and config files: lenient reading, and writing in the form of 4.9's fastjson.

Writing: no blanks, integer keys without quotes, queues as keys as raw objects, None left out. Objects
(dataclasses) have their keys in alphabetical order, maps (dicts) in their own. ``strict`` writes what every
JSON parser accepts: all keys quoted and in order.
"""

from collections.abc import Generator, Iterable, Iterator
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
    "encode_in_steps",
    "loads",
    "pretty_entry",
    "to_bool",
    "to_float",
    "to_int32",
    "to_int64",
    "to_text",
]

_STEPPED_LEVELS: Final = 2
_PARTS_OF_STEP: Final = 4096
"""Pieces of text that are made in one step."""

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


def pretty_entry(key: str, value: Json, depth: int) -> bytes:
    """Write one key with its value in the form of such a file, that many objects deep.

    Raises:
        BodyInvalid: a value or key is of another type, or a text cannot be written as UTF-8.
    """
    writer = _PrettyWriter(depth)
    try:
        writer.entry(key, value)
    except (UnicodeEncodeError, TypeError) as error:
        raise _unwritable(error) from error
    return b"".join(writer.parts)


def encode_in_steps(
    document: dict[str, Any], *, pretty: bool = True, newer: bool = False
) -> Generator[None, None, bytes]:
    """Write an object as `dumps_pretty` or `dumps` does, in steps of about a millisecond; return the text at the end.

    With `newer` the text has the form of the config files of a 5.5 store: integer keys begin a line too.

    The objects in it may change between two steps. Of each object those entries are written that it had when it was
    begun, each with its value at the time of its step, unless it was removed before.

    Raises:
        BodyInvalid: a value or key is of another type, or a text cannot be written as UTF-8.
    """
    writer: _Writer = _NewerWriter() if newer else _PrettyWriter() if pretty else _Writer()
    texts: list[bytes] = []
    try:
        for _ in writer.steps(document, _STEPPED_LEVELS):
            texts.append(b"".join(writer.parts))
            writer.parts.clear()
            yield
    except (UnicodeEncodeError, TypeError) as error:
        raise _unwritable(error) from error
    return b"".join((*texts, *writer.parts))


def _written(writer: "_Writer", value: Json) -> bytes:
    try:
        writer.value(value)
        return b"".join(writer.parts)
    except (UnicodeEncodeError, TypeError) as error:
        raise _unwritable(error) from error


def _unwritable(error: Exception) -> BodyInvalid:
    return BodyInvalid(f"body cannot be written: {error}")


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

    def steps(self, entries: dict[Any, Any], levels: int) -> Iterator[None]:
        """The same in steps, as are the objects in it so many levels deep."""
        self.begin()
        empty = True
        for key in list(entries):
            value = entries.get(key)
            if value is None:
                continue
            if not empty:
                self.parts.append(b",")
            empty = False
            self.begin_entry(key)
            if levels and isinstance(value, dict):
                yield from self.steps(value, levels - 1)
            else:
                self.value(value)
            if len(self.parts) > _PARTS_OF_STEP:
                yield
        self.end(empty=empty)

    def begin(self) -> None:
        self.parts.append(b"{")

    def begin_entry(self, key: Json) -> None:
        self.key(key)
        self.parts.append(b":")

    def end(self, *, empty: bool) -> None:  # noqa: ARG002 - other layouts use it
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

    def __init__(self, depth: int = 0) -> None:
        super().__init__()
        self.depth = depth

    def object(self, entries: dict[Any, Any]) -> None:
        present = [(key, value) for key, value in entries.items() if value is not None]
        self.begin()
        for number, (key, value) in enumerate(present):
            if number:
                self.parts.append(b",")
            self.entry(key, value)
        self.end(empty=not present)

    def entry(self, key: Json, value: Json) -> None:
        self.begin_entry(key)
        self.value(value)

    def begin(self) -> None:
        super().begin()
        self.depth += 1

    def begin_entry(self, key: Json) -> None:
        if isinstance(key, str):
            self.new_line()
        super().begin_entry(key)

    def end(self, *, empty: bool) -> None:
        self.depth -= 1
        if not empty:
            self.new_line()
        super().end(empty=empty)

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


class _NewerWriter(_PrettyWriter):
    """The same with a line for each key, of any type."""

    def begin_entry(self, key: Json) -> None:
        self.new_line()
        self.key(key)
        self.parts.append(b":")
