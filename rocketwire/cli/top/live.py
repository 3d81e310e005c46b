"""`rocketwire top` on a terminal: the screen is drawn again and again, and keys change what it shows."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import termios
import threading
import time
import tty
from collections.abc import Iterator
from typing import Final

from rich.console import Console
from rich.live import Live

from rocketwire.cli.online import ClusterAccess
from rocketwire.cli.terminal import drawing
from rocketwire.cli.top.sample import ClusterSample, Sampler
from rocketwire.cli.top.screen import GROUPS, TOPICS, ScreenState, rendered
from rocketwire.cli.top.traffic import ClusterTraffic
from rocketwire.remoting.errors import RemotingError

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
            return ["q"]  # the terminal is closed
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


_SHARE: Final = 0.1
"""The part of the time in which brokers may be queried: slow ones are queried less often."""


class _Sampling(threading.Thread):
    """Takes a sample each interval; `wanted` names the topic and the group that it must have."""

    def __init__(self, sampler: Sampler, interval: float, keys: Keyboard) -> None:
        super().__init__(name="samples", daemon=True)
        self.wanted: tuple[str | None, str | None] = (None, None)
        self._sampler = sampler
        self._interval = interval
        self._keys = keys
        self._lock = threading.Lock()
        self._latest: ClusterSample | str | None = None

    def latest(self) -> ClusterSample | str | None:
        """The newest sample, or why there is none; None if there is nothing new."""
        with self._lock:
            found, self._latest = self._latest, None
        return found

    def run(self) -> None:
        """Take samples until the program ends."""
        while True:
            began = time.monotonic()
            found: ClusterSample | str
            try:
                found = self._sampler.take(*self.wanted)
            except RemotingError as error:
                found = str(error)
            with self._lock:
                self._latest = found
            self._keys.wake()
            took = time.monotonic() - began
            time.sleep(max(self._interval - took, took / _SHARE - took, 0))


def run(endpoint: ClusterAccess, interval: float, *, everything: bool) -> None:
    """Show the traffic until q is pressed.

    Raises:
        RemotingError: the endpoint does not answer at the start.
    """
    traffic, state, console = ClusterTraffic(everything=everything), ScreenState(), Console(file=drawing(sys.stdout))
    with endpoint.unwatched() as cluster:
        sampler = Sampler(cluster, in_parts=True)
        traffic.add(sampler.take())
        with keyboard() as keys, Live(console=console, screen=True, auto_refresh=False) as live:
            sampling = _Sampling(sampler, interval, keys)
            sampling.start()
            while True:
                current = state.current(traffic)
                sampling.wanted = (
                    current if state.focus == TOPICS else None,
                    current if state.focus == GROUPS else None,
                )
                live.update(rendered(traffic, state, console.size.height), refresh=True)
                for key in keys.wait():
                    if key == "q":
                        return
                    state.press(key, traffic)
                found = sampling.latest()
                if isinstance(found, ClusterSample):
                    state.problem = ""
                    traffic.add(found)
                elif found is not None:
                    state.problem = found
