"""Reading JSON as leniently as fastjson.

Most bodies are plain JSON and are decoded by msgspec. What 4.x peers write for maps whose keys are not strings is not
plain JSON: integer keys have no quotes (``{0:12}``), and queues as keys are whole objects (``{{"topic":"T"}:5}``). A
second reader accepts those, and single quotes and unquoted names too.
"""

import re
from operator import itemgetter
from typing import Any, Final

import msgspec

from rocketwire.wire.bodies._values import Json
from rocketwire.wire.errors import BodyInvalid, EntriesTooMany
from rocketwire.wire.json_bounds import MAX_JSON_DEPTH, check_json_size

# A text with escapes matches only as its quote.
_TOKEN: Final = re.compile(
    r"""[ \t\r\n\f\b]*+(?:
      (?P<mark>[{}\[\]:,])
    | "(?P<text>[^"\\]*+)"
    | '(?P<single>[^'\\]*+)'
    | (?P<whole>[+-]?[0-9]++(?!\.[0-9]|[eE][+-]?[0-9]))
    | (?P<number>[+-]?[0-9]++(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)
    | (?P<word>[A-Za-z_$][A-Za-z0-9_$.-]*+)
    | (?P<quote>["'])
    )""",
    re.VERBOSE,
)
_SPACE: Final = re.compile(r"[ \t\r\n\f\b]*")
# The rest of a text with escapes, with its end.
_REST: Final = {
    '"': re.compile(r'((?:[^"\\]++|\\.)*+)"', re.DOTALL),
    "'": re.compile(r"((?:[^'\\]++|\\.)*+)'", re.DOTALL),
}
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"} | dict(
    zip("\"'\\/", "\"'\\/", strict=True)
)
_LITERALS: Final = {"true": True, "false": False, "null": None}
_MAX_DIGITS: Final = 40
# What `advance` returns for tokens that are not marks.
_VALUE: Final = "value"
_WORD: Final = "word"


def _number(text: str) -> float:
    """Read a number that is not an integer, after checking that it is not longer than any of the protocol.

    msgspec needs 10 us for some, without a break for the whole text; here other threads can run in between.
    """
    if len(text) > _MAX_DIGITS:
        raise BodyInvalid(f"number of {len(text)} characters is too long")
    return float(text)


_decode: Final = msgspec.json.Decoder(float_hook=_number).decode


class ObjectKey(tuple[tuple[str, Any], ...]):
    """A JSON object as the key of a map: its entries in the order of their names; hashable."""

    __slots__ = ()


def loads(
    data: bytes | bytearray | memoryview | str, *, lenient_limit: int | None = None, most_entries: int | None = None
) -> Json:
    """Read a JSON text; unquoted integer keys become int, objects as keys become ``ObjectKey``.

    Args:
        data: The text, in UTF-8.
        lenient_limit: The most bytes of a text that is not plain JSON: reading it takes 50 times as long.
        most_entries: The most members and items, at all depths; None for no limit.

    Raises:
        EntriesTooMany: it has more.
        BodyInvalid: the text is not JSON, even for fastjson, or nested deeper than any body of the protocol; or it is
            not plain JSON and too long.
    """
    if most_entries is not None:
        check_json_size(data, most_entries)
    try:
        return _decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError, ValueError) as error:
        if lenient_limit is not None and len(data) > lenient_limit:
            raise BodyInvalid(f"{len(data)} bytes are no plain JSON, and too many for another: {error}") from error
        text = data if isinstance(data, str) else bytes(data).decode("utf-8", "replace")
        return _Reader(text, most_entries).document()


class _Reader:
    """One pass over a text: ``at`` is the index of the next character, ``found`` the last token's value or word."""

    def __init__(self, text: str, most_entries: int | None) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.most = self.left = len(text) if most_entries is None else most_entries
        self.found: Any = None

    def document(self) -> Json:
        result = self.value(self.advance())
        if _SPACE.fullmatch(self.text, self.at) is None:
            raise self.wrong("more text after the value")
        return result

    def advance(self) -> str:
        """Read the next token; return its mark, or whether it is a value or a word."""
        token = _TOKEN.match(self.text, self.at)
        if token is None:
            raise self.wrong("no value")
        self.at = token.end()
        kind = token.lastgroup or ""  # there is always one
        text = token[kind]
        if kind == "mark":
            return text
        if kind in {"text", "single"}:
            self.found = text if text.isascii() else _joined(text)
        elif kind == "whole":
            self.found = int(self.short(text))
        elif kind == "number":
            self.found = float(self.short(text))
        elif kind == "quote":
            self.found = self.escaped(text)
        else:
            self.found = text
            return _WORD
        return _VALUE

    def short(self, number: str) -> str:
        """The number, if it is not longer than any of the protocol."""
        if len(number) > _MAX_DIGITS:
            raise self.wrong("number is too long")
        return number

    def value(self, mark: str) -> Json:
        if mark == _VALUE:
            return self.found
        if mark == "{":
            return self.object()
        if mark == "[":
            return self.array()
        if mark == _WORD and self.found in _LITERALS:
            return _LITERALS[self.found]
        raise self.wrong(f"{self.found[:20] if mark == _WORD else mark!r} is no value")

    def object(self) -> dict[Any, Any]:
        self.enter()
        result: dict[Any, Any] = {}
        mark = self.advance()
        while mark != "}":
            self.count()
            key = self.key(mark)
            if self.advance() != ":":
                raise self.wrong("':' expected")
            result[key] = self.value(self.advance())
            mark = self.next_item("}")
        self.depth -= 1
        return result

    def array(self) -> list[Any]:
        self.enter()
        result: list[Any] = []
        mark = self.advance()
        while mark != "]":
            self.count()
            result.append(self.value(mark))
            mark = self.next_item("]")
        self.depth -= 1
        return result

    def next_item(self, end: str) -> str:
        """What follows an item: the end, or the first token of the next item."""
        mark = self.advance()
        if mark == ",":
            mark = self.advance()
            if mark != end:
                return mark
        elif mark == end:
            return end
        raise self.wrong("',' expected" if mark != end else "an item expected")

    def key(self, mark: str) -> str | int | float | ObjectKey:
        if mark == "{":
            return _object_key(self.object())
        if mark not in {_VALUE, _WORD}:
            raise self.wrong(f"{mark!r} is no key")
        key: str | int | float = self.found
        return key

    def escaped(self, quote: str) -> str:
        """The text, which has escapes or no end, after its quote."""
        rest = _REST[quote].match(self.text, self.at)
        if rest is None:
            raise self.wrong("text without an end")
        result = _ESCAPE.sub(self.character, rest[1])
        self.at = rest.end()
        return result if result.isascii() else _joined(result)

    def character(self, escape: re.Match[str]) -> str:
        digits, letter = escape.groups()
        if digits:
            return chr(int(digits, 16))
        if letter not in _ESCAPES:
            raise self.wrong("unknown escape")
        return _ESCAPES[letter]

    def count(self) -> None:
        """Count one more entry."""
        if not self.left:
            raise EntriesTooMany(self.most)
        self.left -= 1

    def enter(self) -> None:
        self.depth += 1
        if self.depth > MAX_JSON_DEPTH:
            raise self.wrong("nested too deep")

    def wrong(self, reason: str) -> BodyInvalid:
        return BodyInvalid(f"JSON is invalid at character {self.at}: {reason}")


def _joined(text: str) -> str:
    """Join surrogates that were two escapes; a single surrogate cannot be encoded in UTF-8."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _object_key(value: dict[Any, Any]) -> ObjectKey:
    return ObjectKey(sorted([(str(name), _frozen(each)) for name, each in value.items()], key=itemgetter(0)))


def _frozen(value: Json) -> Json:
    if isinstance(value, dict):
        return _object_key(value)
    if isinstance(value, list):
        return tuple(_frozen(each) for each in value)
    return value
