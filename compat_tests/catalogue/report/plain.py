"""Text of clients and endpoints, made harmless before it is put into a report."""

from __future__ import annotations

import re
from typing import Final

# Control characters, which XML forbids and terminals obey; those that change the direction of the text, and so what one
# seems to read; line ends of other kinds, halves of pairs, and what is no character.
_ODD: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
_COLOUR: Final = re.compile("\x1b\\[[0-9;]*m")


def plain(text: str) -> str:
    """The text without colours, with Unix line ends, and odd characters written as their escapes."""
    lines = _COLOUR.sub("", text).replace("\r\n", "\n")
    return _ODD.sub(lambda found: f"\\u{ord(found[0]):04x}", lines)


def one_line(text: str, limit: int = 300) -> str:
    """The text as one line of at most `limit` characters."""
    line = " ".join(plain(text).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def cut(text: str, limit: int) -> str:
    """The text, or its beginning (a quarter) and its end with a line between about how much is missing."""
    text = plain(text)
    if len(text) <= limit:
        return text
    head = limit // 4
    tail = limit - head
    return f"{text[:head]}\n… {len(text) - limit:,} characters are cut here; results.json has them …\n{text[-tail:]}"
