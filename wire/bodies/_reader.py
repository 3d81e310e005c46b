"""Reading JSON as fastjson reads it.

Most bodies are plain JSON and are read by msgspec. What 4.x peers write for maps whose keys are no strings
is not: integer keys stand without quotes (``{0:12}``) and queues as keys stand as whole objects
(``{{"topic":"T"}:5}``). A second reader takes those, and single quotes and unquoted names too.
"""

import re
from typing import Any, Final, TypeVar

import msgspec

from rocketwire.wire.bodies._values import Json
from rocketwire.wire.errors import BodyInvalid

_SPACE: Final = re.compile(r"[ \t\r\n\f\b]*")
_NUMBER: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_NAME: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$.-]*")
_PLAIN: Final = {'"': re.compile(r'[^"\\]*'), "'": re.compile(r"[^'\\]*")}
_UNICODE: Final = re.compile(r"[0-9a-fA-F]{4}")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_VERBATIM: Final = frozenset("\"'\\/")
_LITERALS: Final = {"true": True, "false": False, "null": None}
_MAX_DIGITS: Final = 40
_MAX_DEPTH: Final = 64

T = TypeVar("T", dict[Any, Any], list[Any])

_decode: Final = msgspec.json.Decoder().decode


class ObjectKey(tuple[tuple[str, Any], ...]):
    """A JSON object as the key of a map: its entries in the order of their names; hashable."""

    __slots__ = ()


def loads(data: bytes | bytearray | memoryview | str) -> Json:
    """Read a JSON text; unquoted integer keys become int, objects as keys become ``ObjectKey``.

    Raises:
        BodyInvalid: the text is no JSON, even for fastjson, or nested deeper than any body of the protocol.
    """
    try:
        return _decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError, ValueError):
        text = data if isinstance(data, str) else bytes(data).decode("utf-8", "replace")
        return _Reader(text).document()


class _Reader:
    """One pass over a text; ``at`` is the index of the next character."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0

    def document(self) -> Json:
        result = self.value()
        self.skip()
        if self.at != len(self.text):
            raise self.wrong("more text after the value")
        return result

    def value(self) -> Json:
        match self.peek():
            case "{":
                return self.object()
            case "[":
                return self.array()
            case '"' | "'":
                return self.string()
        if name := self.take(_NAME):
            if name in _LITERALS:
                return _LITERALS[name]
            raise self.wrong(f"{name[:20]!r} is no value")
        return self.number()

    def object(self) -> dict[Any, Any]:
        self.enter()
        result: dict[Any, Any] = {}
        if self.peek() == "}":
            return self.leave(result)
        while True:
            key = self.key()
            self.expect(":")
            result[key] = self.value()
            if self.peek() == "}":
                return self.leave(result)
            self.expect(",")

    def array(self) -> list[Any]:
        self.enter()
        result: list[Any] = []
        if self.peek() == "]":
            return self.leave(result)
        while True:
            result.append(self.value())
            if self.peek() == "]":
                return self.leave(result)
            self.expect(",")

    def key(self) -> str | int | float | ObjectKey:
        match self.peek():
            case "{":
                return ObjectKey((str(name), _frozen(value)) for name, value in sorted(self.object().items(), key=str))
            case '"' | "'":
                return self.string()
        return self.take(_NAME) or self.number()

    def string(self) -> str:
        quote = self.text[self.at]
        self.at += 1
        parts: list[str] = []
        while True:
            parts.append(self.take(_PLAIN[quote]))
            if self.at >= len(self.text):
                raise self.wrong("text without an end")
            self.at += 1
            if self.text[self.at - 1] == quote:
                break
            parts.append(self.escape())
        result = "".join(parts)
        if result.isascii():
            return result
        # Two halves of one character may stand as two escapes; a half alone cannot be kept in UTF-8.
        return result.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    def escape(self) -> str:
        letter = self.text[self.at : self.at + 1]
        self.at += 1
        if letter == "u" and (digits := self.take(_UNICODE)):
            return chr(int(digits, 16))
        if letter in _ESCAPES:
            return _ESCAPES[letter]
        if letter in _VERBATIM:
            return letter
        raise self.wrong("unknown escape")

    def number(self) -> int | float:
        text = self.take(_NUMBER)
        if not text:
            raise self.wrong("no value")
        if len(text) > _MAX_DIGITS:
            raise self.wrong("number is too long")
        return float(text) if not text.lstrip("+-").isdigit() else int(text)

    def peek(self) -> str:
        self.skip()
        return self.text[self.at : self.at + 1]

    def skip(self) -> None:
        self.take(_SPACE)

    def take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        if found is None:
            return ""
        self.at = found.end()
        return found.group()

    def expect(self, character: str) -> None:
        if self.peek() != character:
            raise self.wrong(f"{character!r} expected")
        self.at += 1

    def enter(self) -> None:
        self.at += 1
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise self.wrong("nested too deep")

    def leave(self, result: T) -> T:
        self.at += 1
        self.depth -= 1
        return result

    def wrong(self, reason: str) -> BodyInvalid:
        return BodyInvalid(f"JSON is invalid at character {self.at}: {reason}")


def _frozen(value: Json) -> Json:
    if isinstance(value, dict):
        return ObjectKey((str(name), _frozen(each)) for name, each in sorted(value.items(), key=str))
    if isinstance(value, list):
        return tuple(_frozen(each) for each in value)
    return value
