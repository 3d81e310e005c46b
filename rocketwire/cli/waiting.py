"""Reports on stderr what a command waits for or does once that has taken two seconds, and progress bars."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from rocketwire.cli.output import number
from rocketwire.cli.terminal import drawing

SAID_AFTER_SECONDS: Final = 2.0
_AGAIN_AFTER_SECONDS: Final = 10.0
"""The same is not reported more often."""
_PAUSE: Final = 0.25


class _Wait(NamedTuple):
    what: str
    began: float


class WaitReporter:
    """Watches the waits of one program: a thread compares the clock with the innermost wait."""

    def __init__(self) -> None:
        self.seconds = SAID_AFTER_SECONDS
        self._current: _Wait | None = None
        self._said: dict[str, float] = {}
        self._thread: threading.Thread | None = None

    @contextlib.contextmanager
    def during(self, what: str) -> Iterator[None]:
        """Watch what is done within."""
        former, self._current = self._current, _Wait(what, time.monotonic())
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="waits", daemon=True)
            self._thread.start()
        try:
            yield
        finally:
            self._current = former

    def _watch(self) -> None:
        while True:
            time.sleep(_PAUSE)
            wait = self._current
            if wait is not None:
                self._report_long(wait, time.monotonic())

    def _report_long(self, wait: _Wait, now: float) -> None:
        last = self._said.get(wait.what)
        due = wait.began + self.seconds if last is None else last + _AGAIN_AFTER_SECONDS
        if now >= due and now >= wait.began + self.seconds:
            self._said[wait.what] = now
            print(f"rocketwire: {wait.what} …", file=sys.stderr, flush=True)


waits: Final = WaitReporter()
"""Those of this program."""


_BYTES: Final = "B"


class ProgressDisplay:
    """Advances the bar, and clears it while lines are printed."""

    def __init__(self, advance: Callable[[int], object], aside: Callable[[], object]) -> None:
        self._advance = advance
        self._aside = aside

    def advance(self, count: int) -> None:
        """Advance the bar by so many units."""
        self._advance(count)

    def show(self, line: Callable[[], None]) -> None:
        """Print something while the bar is cleared."""
        self._aside()
        line()
        sys.stdout.flush()


@contextlib.contextmanager
def progress_bar(total: int, *, wanted: bool = True, unit: str = _BYTES) -> Iterator[ProgressDisplay]:
    """A bar of so many bytes, or of another unit, if it is wanted and stderr is a terminal; else a line after 2 s."""
    if not wanted or not sys.stderr.isatty():
        with (
            waits.during(f"reading {number(total)}{' bytes' if unit == _BYTES else unit}")
            if wanted
            else contextlib.nullcontext()
        ):
            yield ProgressDisplay(lambda _: None, lambda: None)
        return
    from tqdm import tqdm

    divisor = 1024 if unit == _BYTES else 1000
    terminal = drawing(sys.stderr)
    with tqdm(total=total, unit=unit, unit_scale=True, unit_divisor=divisor, file=terminal, leave=False) as bar:
        yield ProgressDisplay(bar.update, bar.clear)
