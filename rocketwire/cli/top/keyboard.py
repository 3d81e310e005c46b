"""Keys as they are pressed, and changes of the terminal's size, without waiting for a line."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Iterator
from typing import Final

_NAMES: Final = {
    b"\x1b[A": "up",
    b"\x1bOA": "up",
    b"k": "up",
    b"\x1b[B": "down",
    b"\x1bOB": "down",
    b"j": "down",
    b"\t": "tab",
    b"s": "s",
    b"q": "q",
}
_ESCAPE: Final = b"\x1b"
_SEQUENCE: Final = 3
_READ: Final = 64


class Keyboard:
    """Waits for keys; `wake` ends the wait from another thread."""

    def __init__(self) -> None:
        self._woken, self._wakes = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(self._wakes, False)
        self._rest = b""

    def wake(self) -> None:
        """End a wait."""
        with contextlib.suppress(BlockingIOError):
            os.write(self._wakes, b"\0")

    def wait(self) -> list[str]:
        """The names of the keys that were pressed; none after `wake`, or when the terminal's size has changed."""
        ready, _, _ = select.select([sys.stdin.fileno(), self._woken], [], [])
        if self._woken in ready:
            os.read(self._woken, _READ)
        if sys.stdin.fileno() not in ready:
            return []
        data = os.read(sys.stdin.fileno(), _READ)
        if not data:
            return ["q"]  # the terminal is gone
        self._rest += data
        return list(self._keys())

    def _keys(self) -> Iterator[str]:
        """Takes whole keys off what was read."""
        while self._rest:
            is_sequence = self._rest[:1] == _ESCAPE
            if is_sequence and len(self._rest) < _SEQUENCE:
                return
            size = _SEQUENCE if is_sequence else 1
            key, self._rest = self._rest[:size], self._rest[size:]
            if key in _NAMES:
                yield _NAMES[key]


@contextlib.contextmanager
def keyboard() -> Iterator[Keyboard]:
    """The keyboard of stdin, which is a terminal; its mode is as before at the end."""
    made = Keyboard()
    before = termios.tcgetattr(sys.stdin)
    former = signal.signal(signal.SIGWINCH, lambda *_: made.wake())
    try:
        tty.setcbreak(sys.stdin)
        yield made
    finally:
        signal.signal(signal.SIGWINCH, former)
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
