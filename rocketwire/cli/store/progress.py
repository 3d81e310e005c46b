"""A progress bar on stderr, for commands that read a whole store, or a whole topic."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Final

from rocketwire.cli.output import number
from rocketwire.cli.terminal import drawing
from rocketwire.cli.waiting import waits

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
