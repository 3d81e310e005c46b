"""`rocketwire store verify`: check all files of a store; prints a line per finding and a summary."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rocketwire.cli.ending import DAMAGED, ended
from rocketwire.cli.output import count_of, json_line, number, size
from rocketwire.cli.store.directory import add_directory, opened
from rocketwire.cli.store.progress import progress_bar

if TYPE_CHECKING:
    from rocketwire.cli.serve import Commands
    from rocketwire.store.archive.verify.findings import Finding
    from rocketwire.store.archive.verify.verify import Summary

_EPILOG = """\
A line says what is lost or wrong (damage), or what the next start of a broker deals with (note): in which file, at
which byte, about which messages. Exit code: 0 without damage, 1 with, 2 when DIR is no store that can be read."""


def add_parser(commands: Commands) -> None:
    """Add `verify` to the commands."""
    parser = commands.add_parser(
        "verify",
        help="check every record, queue entry, index entry and timer reference",
        description="Check every record of a store and everything that points to one.",
        epilog=_EPILOG,
    )
    add_directory(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")
    parser.add_argument("--no-progress", action="store_true", help="show no progress bar")
    parser.set_defaults(run=ended(_verify))


def _verify(options: argparse.Namespace) -> int:
    from rocketwire.store.archive.verify.verify import verify

    directory = opened(options)
    total = sum(file.size for file in directory.commit_log)
    with progress_bar(total, wanted=not options.no_progress) as bar:

        def report(finding: Finding) -> None:
            bar.show(lambda: json_line(finding_json(finding)) if options.json else print(finding))

        summary = verify(directory, report, progress=bar.advance)
    if options.json:
        json_line({"summary": {**asdict(summary), "state": summary.state.name}})
    else:
        for line in summary_lines(summary):
            print(line)
    return DAMAGED if summary.damages else 0


def finding_json(finding: Finding) -> dict[str, Any]:
    """A finding as a JSON object, without empty fields."""
    values = {name: value for name, value in asdict(finding).items() if value is not None}
    return {**values, "kind": finding.kind.value}


def summary_lines(summary: Summary) -> list[str]:
    """The summary in readable form."""
    findings = "no damage" if not summary.damages else f"damage: {count_of(summary.damages, 'finding')}"
    if summary.notes:
        findings += f"; notes: {number(summary.notes)}"
    looked_at = (
        f"{count_of(summary.records, 'record')} in {size(summary.log_bytes)} of log, "
        f"{_entries_of(summary.queue_entries, 'queue')}, {_entries_of(summary.index_entries, 'index')}, "
        f"{count_of(summary.timer_units, 'timer unit')}"
    )
    return [looked_at, f"{summary.state.value}; {findings}"]


def _entries_of(count: int, what: str) -> str:
    return f"{number(count)} {what} {'entry' if count == 1 else 'entries'}"
