r"""Java's `.properties` format, as in `broker.conf` and the bodies of codes 25 and 26.

The rules are those of `java.util.Properties.load`: a logical line is `key`, then `=`, `:` or blanks, then the value;
blanks around the separator do not count, blanks at the end of the value do. A line whose first visible character is `#`
or `!` is a comment. An odd number of backslashes at the end of a line continues it with the next one, whose leading
blanks do not count. A backslash escapes the character behind it; `\t \n \r \f` and `\uXXXX` stand for characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_BLANKS = " \t\f"
_LINE_END = re.compile(r"\r\n|\n|\r")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_READ = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_WRITE = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f", "\\": "\\\\"}


class JavaPropertiesInvalid(ValueError):
    r"""rA text that Java would refuse: a `\u` without four hexadecimal digits. The message shows the line."""

    def __init__(self, line: str) -> None:
        super().__init__(f"\\u without four hexadecimal digits in {line!r}")


def parse_java_properties(text: str) -> dict[str, str]:
    r"""Read properties in their order; a repeated key has its last value and place.

    Raises:
        JavaPropertiesInvalid: an incomplete `\uXXXX`.
    """
    found: dict[str, str] = {}
    for line in _logical_lines(text):
        end = _key_end(line)
        key = _unescape(line[:end])
        rest = line[end:].lstrip(_BLANKS)
        if rest[:1] in ("=", ":"):
            rest = rest[1:].lstrip(_BLANKS)
        found.pop(key, None)
        found[key] = _unescape(rest)
    return found


def format_java_properties(properties: Mapping[str, str]) -> str:
    """Write one `key=value` line each, escaped so that `parse_java_properties` reads it back."""
    return "".join(f"{_escape(key, key=True)}={_escape(value, key=False)}\n" for key, value in properties.items())


def _logical_lines(text: str) -> Iterator[str]:
    """Join continued lines; leave out blank lines and comments. A comment is never continued."""
    logical, continued = "", False
    for natural in _LINE_END.split(text):
        line = natural.lstrip(_BLANKS)
        if not continued and line[:1] in ("#", "!"):
            continue
        continued = _ends_with_odd_backslashes(line)
        logical += line[:-1] if continued else line
        if logical and not continued:
            yield logical
            logical = ""
    if logical:
        yield logical


def _ends_with_odd_backslashes(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _key_end(line: str) -> int:
    """The index where the key ends: at the first separator or blank that is not escaped."""
    at = 0
    while at < len(line):
        if line[at] == "\\":
            at += 2
        elif line[at] in "=:" or line[at] in _BLANKS:
            return at
        else:
            at += 1
    return len(line)


def _unescape(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        code, plain = match.group(1), match.group(2)
        if code is not None:
            return chr(int(code, 16))
        if plain == "u":
            raise JavaPropertiesInvalid(text)
        return _READ.get(plain, plain)

    return _SURROGATES.sub(
        lambda pair: pair.group().encode("utf-16-le", "surrogatepass").decode("utf-16-le"),
        _ESCAPE.sub(character, text),
    )


def _escape(text: str, *, key: bool) -> str:
    def escaped(at: int, character: str) -> str:
        if character in _WRITE:
            return _WRITE[character]
        if character == " ":
            return "\\ " if key or at == 0 else " "
        if key and character in "=:#!":
            return "\\" + character
        if not " " <= character <= "~":
            units = character.encode("utf-16-be", "surrogatepass")
            return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
        return character

    return "".join(escaped(at, character) for at, character in enumerate(text))
