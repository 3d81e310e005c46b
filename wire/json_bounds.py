"""Limits on the size of a JSON text, checked before it is decoded.

The cost of decoding depends on the entries: members of objects and items of lists, at all depths. They are counted by
C's searches for single bytes. At first, commas and brackets inside strings count too; only if the total exceeds the
limit is the text scanned again without its strings, piece by piece, so that no single step takes long.

The count is exact for plain JSON. For other texts it is exact up to the place where a plain JSON decoder stops; the
lenient reader has its own count.
"""

from __future__ import annotations

from typing import Final

from rocketwire.wire.errors import BodyInvalid, EntriesTooMany

MAX_JSON_ENTRIES: Final = 100_000
"""Of a body. A topic has 16,384 queues at most, and a queue in a list of locks or offsets takes four."""
MAX_JSON_DEPTH: Final = 64
"""Depth of nested objects and lists; no body of the protocol is nested deeper than seven."""

_LEAST_ENTRY: Final = 2  # bytes of the shortest entry, with its comma or, if it is alone, the brackets around it
_PIECE: Final = 1 << 16
_ALL: Final = bytes(range(256))
_BLANKS: Final = b" \t\r\n\f\b"
_NO_BRACKETS: Final = bytes(set(_ALL) - set(b"[]{}"))
_OPENING: Final = frozenset(b"[{")


def check_json_size(data: bytes | bytearray | memoryview | str, most: int) -> None:
    """Check that a text has at most so many entries, and is not nested too deep.

    Raises:
        EntriesTooMany: it has more.
        BodyInvalid: it is nested deeper than `MAX_JSON_DEPTH`.
    """
    text = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes(data)
    opened = text.count(b"{") + text.count(b"[")
    if opened > MAX_JSON_DEPTH:
        _check_exactly(text, most, MAX_JSON_DEPTH)
    else:
        check_entry_count(text, most)


def check_entry_count(text: bytes, most: int) -> None:
    """The same without the depth, for texts whose reader limits the depth itself.

    Raises:
        EntriesTooMany: it has more.
    """
    if len(text) > _LEAST_ENTRY * most and text.count(b",") + text.count(b"{") + text.count(b"[") > most:
        _check_exactly(text, most, len(text))


def _check_exactly(text: bytes, most: int, deepest: int) -> None:
    inside = False  # a string
    skip = 0  # bytes escaped by a backslash at the end of the previous piece
    entries = depth = 0
    last = b""
    for at in range(0, len(text), _PIECE):
        piece = text[at + skip : at + _PIECE]
        skip = 0
        if b"\\" in piece:
            piece = piece.replace(b"\\\\", b"").replace(b'\\"', b"")
            skip = int(piece.endswith(b"\\"))
        parts = piece.split(b'"')
        # A string becomes one byte, so that an object or list with only blanks in it differs from others.
        marks = b'"'.join(parts[inside::2]).translate(None, _BLANKS)
        inside ^= not len(parts) % 2
        marks += b'"' if inside else b""
        entries += marks.count(b",") + marks.count(b"{") + marks.count(b"[")
        joined = last + marks
        entries -= joined.count(b"{}") + joined.count(b"[]")
        last = joined[-1:]
        if entries > most + 1:  # the last bracket may be that of an empty object or list
            raise EntriesTooMany(most)
        depth = _depth_after(marks, depth, deepest)
    if entries > most:
        raise EntriesTooMany(most)


def _depth_after(marks: bytes, depth: int, deepest: int) -> int:
    brackets = marks.translate(None, _NO_BRACKETS)
    opened = brackets.count(b"{") + brackets.count(b"[")
    if depth + opened <= deepest:
        return depth + 2 * opened - len(brackets)
    for bracket in brackets:
        depth += 1 if bracket in _OPENING else -1
        if depth > deepest:
            raise BodyInvalid(f"JSON is nested too deep, {deepest} is the most")
    return depth
