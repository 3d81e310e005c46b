"""What reaches a terminal: control characters in texts of others are escaped here, once, for all commands.

A message, a topic's name or an answer of a name server may have terminal sequences that move the cursor, change the
window's title or hide text. While a command runs, stdout and stderr are wrapped if they are terminals; what goes into a
file or a pipe stays as it is. What draws (bars, `top`) writes to `drawing(stream)`, and cleans the texts itself.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator
from typing import Any, Final, TextIO, cast

import click

_UNSAFE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters of ASCII and of Latin-1, but for tab and line feed
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks that change the direction of text
    "\u2028\u2029\ufeff\ud800-\udfff]"  # further ends of lines, the byte order mark, halves of surrogate pairs
)


def escape_controls(text: str) -> str:
    """The text with all characters escaped that a terminal acts upon, but for tabs and line feeds."""
    return _UNSAFE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class _Bytes:
    """The `buffer` of an escaping stream."""

    def __init__(self, stream: EscapingStream) -> None:
        self._stream = stream

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Write bytes as text: what is not UTF-8 is shown with escapes."""
        self._stream.write(bytes(data).decode("utf-8", "backslashreplace"))
        return len(data)

    def flush(self) -> None:
        """Flush the stream."""
        self._stream.flush()


class EscapingStream:
    """A terminal whose text is escaped; all else is the wrapped stream's."""

    def __init__(self, terminal: TextIO) -> None:
        self.terminal = terminal
        self.buffer = _Bytes(self)

    def write(self, text: str) -> int:
        """Write a text, escaped; returns the length of the text."""
        self.terminal.write(escape_controls(text))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        """Write texts, escaped."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a stream has
        return getattr(self.terminal, name)


def drawing(stream: TextIO) -> TextIO:
    """The stream to draw on: the terminal itself where the stream is one, else the same stream."""
    terminal: TextIO = getattr(stream, "terminal", stream)
    return terminal


@contextlib.contextmanager
def escaping_terminals() -> Iterator[None]:
    """Escape what is written to stdout and stderr meanwhile, as far as they are terminals."""
    former = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (_escaping(each) for each in former)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = former


def _escaping(stream: TextIO | None) -> TextIO:
    """The wrapped stream; a stream that is closed (None) or leads elsewhere stays as it is."""
    return cast("TextIO", EscapingStream(stream) if stream is not None and stream.isatty() else stream)


def _use_raw(_context: click.Context, _parameter: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's
    if value:
        sys.stdout = drawing(sys.stdout)


raw_option = click.option(
    "--raw",
    is_flag=True,
    expose_value=False,
    callback=_use_raw,
    help="Write bodies to a terminal as they are, control characters too.",
)
