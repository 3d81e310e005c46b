"""The lines of standard input, and the pauses between them."""

from __future__ import annotations

import io
import os
import select
import sys
from collections.abc import Iterator
from typing import IO, Final

_READ: Final = 1 << 18
_PAUSE_SECONDS: Final = 0.02


def lines(stream: IO[bytes] | None = None) -> Iterator[bytes | None]:
    """The lines of a stream, by default stdin, without their line feeds; None whenever no line comes for a while."""
    source = sys.stdin.buffer if stream is None else stream
    try:
        descriptor = source.fileno()
    except (AttributeError, io.UnsupportedOperation):
        for line in source:
            yield line.rstrip(b"\n")
        return
    rest = b""
    paused = False
    while True:
        # Files are always ready.
        if not select.select([descriptor], [], [], None if paused else _PAUSE_SECONDS)[0]:
            paused = True
            yield None
            continue
        paused = False
        data = os.read(descriptor, _READ)
        if not data:
            break
        *whole, rest = (rest + data).split(b"\n")
        yield from whole
    if rest:
        yield rest
