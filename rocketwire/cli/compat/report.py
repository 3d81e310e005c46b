"""What `rocketwire compat` prints: progress, and reports."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import click

from rocketwire.cli.errors import CommandError, CommandFailed
from rocketwire.cli.output import json_line, json_option
from rocketwire.cli.parameter_types import FILE, FOLDER
from rocketwire.cli.terminal import drawing
from rocketwire.compat.results import Outcome, Result, Side

if TYPE_CHECKING:
    from pathlib import Path

    from rocketwire.compat.report.score import Score
    from rocketwire.compat.results import Results


_LISTED = (Outcome.DIFFERS, Outcome.FAILS, Outcome.FLAKY)


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

        def advance(result: Result) -> None:
            bar.update(task, advance=1, description=f"{result.client} {result.scenario}")
            if result.outcome in _LISTED:
                bar.console.print(shown(result), markup=False, highlight=False)

        yield advance


def _line(result: Result) -> None:
    if result.outcome is not Outcome.NOT_OFFERED:
        print(shown(result), file=sys.stderr, flush=True)


def shown(result: Result) -> str:
    """A result in one line."""
    side = " (reference)" if result.side is Side.REFERENCE else ""
    reason = f": {result.reason}" if result.reason else ""
    return f"{result.outcome:<8} {result.seconds:6.1f} s  {result.client}{side}  {result.scenario}{reason}"


_EPILOG: Final = """\
RESULTS are files results.json of `rocketwire compat run`. Several of one endpoint make one report: jobs on different
machines run one client each, and a last job puts their results together. Where two have a result of the same scenario
and client, that of the later run counts.

\b
The folder gets:
  report.html   a page that needs no network: matrix, evidence, filters
  junit.xml     for CI: a test suite per client, a test case per scenario
  summary.md    for a pull request, or GITHUB_STEP_SUMMARY
  badge.svg     the score
  results.json  the results, put together

Exit code 0: something ran, and nothing differs or fails; 1: not so.

\b
Examples:
  rocketwire compat report results.json --out report
  rocketwire compat report java/results.json go/results.json --out report
"""


@click.command("report", epilog=_EPILOG)
@click.argument("files", metavar="RESULTS...", nargs=-1, required=True, type=FILE)
@click.option(
    "--out", metavar="DIR", type=FOLDER, default="compat-report", show_default=True, help="The folder to write to."
)
@json_option
def report_command(files: tuple[str, ...], *, out: str, as_json: bool) -> int:
    """Write the report of the results of earlier runs."""
    from pathlib import Path

    from rocketwire.compat.report.files import write_report
    from rocketwire.compat.report.merge import merged
    from rocketwire.compat.report.score import score
    from rocketwire.compat.results import ResultsInvalid

    try:
        results = merged([_read(Path(file)) for file in files])
    except ResultsInvalid as error:
        raise CommandError(str(error)) from error
    try:
        written = write_report(results, Path(out))
    except OSError as error:
        raise CommandFailed(f"{error.filename or out}: {error.strerror}") from error
    found = score(results)
    if as_json:
        json_line(_object(found, written))
    else:
        print(f"{found.shown}: {found.passed} of {found.offered} passed")
        for path in written:
            print(path)
    return found.exit_code


def _read(file: Path) -> Results:
    from rocketwire.compat.results import ResultsInvalid, from_json

    try:
        return from_json(file.read_bytes())
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror}") from error
    except ResultsInvalid as error:
        raise CommandError(f"{file}: {error}") from error


def _object(found: Score, written: list[Path]) -> dict[str, object]:
    return {
        "percent": found.percent,
        "passed": found.passed,
        "offered": found.offered,
        "counts": found.counts,
        "files": [str(path) for path in written],
    }
