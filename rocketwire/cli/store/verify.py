"""`rocketwire store verify DIR`: is everything in a store as it should be? A line a finding, a summary at the end."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rocketwire.cli.mistake import Mistake

if TYPE_CHECKING:
    from rocketwire.store.archive.findings import Finding
    from rocketwire.store.archive.verify import Summary

    # argparse publishes no other name for what add_subparsers returns.
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001

DAMAGED = 1
"""What the program returns when something is lost or wrong."""

_EPILOG = """\
A line says what is wrong (damage) or what the next start of a broker deals with (note), in which file, at which byte,
and which messages it is about. Exit code: 0 without damage, 1 with, 2 when DIR is no store that can be read."""


def add_parser(commands: Commands) -> None:
    """Add `verify` to the commands of `rocketwire store`."""
    parser = commands.add_parser(
        "verify",
        help="check every record, queue entry, index entry and timer reference",
        description="Check every record of a store and everything that points to one. Nothing is changed; "
        "a broker may be running.",
        epilog=_EPILOG,
    )
    parser.add_argument("directory", metavar="DIR", help="the store's folder")
    parser.add_argument("--json", action="store_true", help="one JSON object a line, the summary as the last")
    parser.add_argument("--no-progress", action="store_true", help="no progress bar (there is none without a terminal)")
    parser.set_defaults(run=_verify)


def _verify(options: argparse.Namespace) -> int:
    from rocketwire.store.archive.directory import discover
    from rocketwire.store.archive.verify import verify
    from rocketwire.store.errors import StoreError

    say = _say_json if options.json else _say_line
    try:
        directory = discover(options.directory)
        total = sum(file.size for file in directory.commit_log)
        with progress_bar(total, wanted=not options.no_progress) as (advance, write):
            summary = verify(directory, lambda finding: write(say(finding)), progress=advance)
    except StoreError as error:
        raise Mistake(str(error)) from error
    print(json.dumps(_summary_json(summary)) if options.json else _summary_line(summary))
    return DAMAGED if summary.damages else 0


@contextlib.contextmanager
def progress_bar(total: int, *, wanted: bool = True) -> Iterator[tuple[Callable[[int], None], Callable[[str], None]]]:
    """A bar of so many bytes on stderr, if that is a terminal: how to move it on, and how to print lines beside it."""
    if not wanted or not sys.stderr.isatty():
        yield lambda _: None, print
        return
    from tqdm import tqdm

    with tqdm(total=total, unit="B", unit_scale=True, unit_divisor=1024, file=sys.stderr, leave=False) as bar:

        def advance(count: int) -> None:
            bar.update(count)

        yield advance, lambda line: tqdm.write(line, file=sys.stdout)


def _say_line(finding: Finding) -> str:
    return str(finding)


def _say_json(finding: Finding) -> str:
    values = {name: value for name, value in asdict(finding).items() if value is not None}
    return json.dumps(values | {"kind": finding.kind.value})


def _summary_json(summary: Summary) -> dict[str, Any]:
    return {"summary": asdict(summary) | {"state": summary.state.name.lower()}}


def _summary_line(summary: Summary) -> str:
    looked_at = (
        f"{summary.records} records in {summary.log_bytes} bytes of log, {summary.queue_entries} queue entries, "
        f"{summary.index_entries} index entries, {summary.timer_units} timer units"
    )
    found = "no damage" if not summary.damages else f"{summary.damages} findings of damage"
    notes = f", {summary.notes} notes" if summary.notes else ""
    return f"{summary.state.value}\n{looked_at}: {found}{notes}"
