"""How much a JSON text holds, found out before it is read.

What reading a text costs goes by its entries: members of objects and items of lists, at all depths. They are counted by
C's searches for single bytes. Marks in strings count, too, at first; only where that may be too many is the text gone
through once more without its strings, piece by piece, for no piece may keep others waiting.

The count is right for plain JSON. Where a text is none, it is right up to the place where a reader of plain JSON stops;
the lenient reader counts by itself.
"""

from __future__ import annotations

from typing import Final

from rocketwire.wire.errors import BodyInvalid, EntriesTooMany

MOST_ENTRIES: Final = 100_000
"""Of a body. A topic has 16,384 queues at most, and a queue in a list of locks or offsets takes four."""
MOST_DEPTH: Final = 64
"""Objects and lists within each other; no body of the protocol has more than seven."""

_LEAST_ENTRY: Final = 2  # bytes that one takes, with its comma or the ends of what it is the only one of
_PIECE: Final = 1 << 16
_ALL: Final = bytes(range(256))
_BLANKS: Final = b" \t\r\n\f\b"
_NO_BRACKETS: Final = bytes(set(_ALL) - set(b"[]{}"))
_OPENING: Final = frozenset(b"[{")


def check_entries(data: bytes | bytearray | memoryview | str, most: int) -> None:
    """See whether a text has no more entries than that, and is not nested too deep.

    Raises:
        EntriesTooMany: it has more.
        BodyInvalid: it is nested deeper than `MOST_DEPTH`.
    """
    text = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes(data)
    opened = text.count(b"{") + text.count(b"[")
    if opened > MOST_DEPTH:
        _check_exactly(text, most, MOST_DEPTH)
    else:
        check_count(text, most)


def check_count(text: bytes, most: int) -> None:
    """The same without the depth, for texts whose reader knows how deep they may be.

    Raises:
        EntriesTooMany: it has more.
    """
    if len(text) > _LEAST_ENTRY * most and text.count(b",") + text.count(b"{") + text.count(b"[") > most:
        _check_exactly(text, most, len(text))


def _check_exactly(text: bytes, most: int, deepest: int) -> None:
    inside = False  # a string
    skip = 0  # bytes that a backslash at the end of the piece before keeps
    entries = depth = 0
    last = b""
    for at in range(0, len(text), _PIECE):
        piece = text[at + skip : at + _PIECE]
        skip = 0
        if b"\\" in piece:
            piece = piece.replace(b"\\\\", b"").replace(b'\\"', b"")
            skip = int(piece.endswith(b"\\"))
        parts = piece.split(b'"')
        # A string stands as one byte, so that an object or list with nothing but blanks in it is told from others.
        marks = b'"'.join(parts[inside::2]).translate(None, _BLANKS)
        inside ^= not len(parts) % 2
        marks += b'"' if inside else b""
        entries += marks.count(b",") + marks.count(b"{") + marks.count(b"[")
        joined = last + marks
        entries -= joined.count(b"{}") + joined.count(b"[]")
        last = joined[-1:]
        if entries > most + 1:  # the last bracket may be one that nothing is in
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
