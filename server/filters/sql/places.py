"""Lines and columns in remarks, counted like Apache's parser (JavaCC's SimpleCharStream).

A tab goes to the next stop of eight; a line ends after LF, CR or both, and includes them. A character of two Java chars
has two columns.
"""

from __future__ import annotations

import re
from typing import Final

_TAB_STOP: Final = 8
_TWO_CHARS: Final = re.compile("[\U00010000-\U0010ffff]")
_LINE_END: Final = re.compile("\r\n|\r|\n")


def position_text(text: str, at: int) -> str:
    """The line and column of the char at an index."""
    return _line_and_column(*_last(_chars(text[:at]) + text[at]))


def end_position_text(text: str) -> str:
    """The place of a text's last char."""
    return _line_and_column(*_last(_chars(text)))


def lexical_error_text(text: str, at: int) -> str:
    """Where Apache rejects an invalid token that begins at an index: at the char that cannot continue it.

    An unterminated text or comment is read to the end, and rejected one column further.
    """
    if text[at] == "'" or text.startswith("/*", at):
        at = len(text)
    elif text[at] in "./":
        at += 1
    if at < len(text) - 1 or text[at:] > "\uffff":
        return position_text(text, at)
    line, column = _last(_chars(text))
    return _line_and_column(line + 1, 0) if text[-1] in "\r\n" else _line_and_column(line, column + 1)


def _chars(text: str) -> str:
    return _TWO_CHARS.sub("\0\0", text)


def _last(read: str) -> tuple[int, int]:
    """Line and column of the last of the chars read; 0 and 0 if there is none."""
    lines = [found.end() for found in _LINE_END.finditer(read) if found.end() < len(read)]
    column = 0
    for char in read[lines[-1] if lines else 0 :]:
        column += _TAB_STOP - column % _TAB_STOP if char == "\t" else 1
    return min(len(lines) + 1, len(read)), column


def _line_and_column(line: int, column: int) -> str:
    return f"at line {line}, column {column}"
