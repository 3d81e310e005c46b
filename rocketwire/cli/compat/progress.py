"""Shows how far a run is: a bar on a terminal, else a line for each result; both on stderr."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

from rocketwire.cli.terminal import drawing
from rocketwire.compat.results import Outcome, Result, Side

_TOLD = (Outcome.DIFFERS, Outcome.FAILS, Outcome.FLAKY)


@contextlib.contextmanager
def progress(total: int) -> Iterator[Callable[[Result], None]]:
    """Gives what is to be called with each result of `total`; those that are not offered count as well."""
    if not sys.stderr.isatty():
        yield _line
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(file=drawing(sys.stderr)), transient=True) as bar:
        task = bar.add_task("", total=total)

        def told(result: Result) -> None:
            bar.update(task, advance=1, description=f"{result.client} {result.scenario}")
            if result.outcome in _TOLD:
                bar.console.print(shown(result), markup=False, highlight=False)

        yield told


def _line(result: Result) -> None:
    if result.outcome is not Outcome.NOT_OFFERED:
        print(shown(result), file=sys.stderr, flush=True)


def shown(result: Result) -> str:
    """A result in one line."""
    side = " (reference)" if result.side is Side.REFERENCE else ""
    reason = f": {result.reason}" if result.reason else ""
    return f"{result.outcome:<8} {result.seconds:6.1f} s  {result.client}{side}  {result.scenario}{reason}"
