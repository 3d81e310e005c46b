"""`rocketwire store verify`: check all files of a store; prints a line per finding and a summary."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import click

from rocketwire.cli.errors import INCOMPLETE
from rocketwire.cli.json_option import json_option
from rocketwire.cli.output import count_of, json_line, number, size
from rocketwire.cli.store.directory import opened, store_directory
from rocketwire.cli.store.progress import progress_bar

if TYPE_CHECKING:
    from rocketwire.store.offline.verify.findings import Finding
    from rocketwire.store.offline.verify.verify import VerifySummary

_EPILOG: Final = """\
A line says what is lost or wrong (damage), or what the next start of a broker deals with (note): in which file, at
which byte, about which messages. The last lines sum up. Exit code: 0 without damage, 1 with, 2 when DIR is no store
that can be read.

\b
Examples:
  rocketwire store verify data
  rocketwire store verify data --json --no-progress > findings.jsonl
"""


@click.command("verify", epilog=_EPILOG)
@store_directory
@json_option
@click.option("--no-progress", is_flag=True, help="Show no progress bar; there is none either without a terminal.")
def command(directory: str, commitlog: str | None, *, as_json: bool, no_progress: bool) -> int:
    """Check every record of a store and everything that points to one."""
    from rocketwire.store.offline.verify.verify import verify

    store = opened(directory, commitlog)
    total = sum(file.size for file in store.commit_log)
    with progress_bar(total, wanted=not no_progress) as bar:

        def report(finding: Finding) -> None:
            bar.show(lambda: json_line(finding_json(finding)) if as_json else print(finding))

        summary = verify(store, report, progress=bar.advance)
    if as_json:
        json_line({"summary": {**asdict(summary), "state": summary.state.name}})
    else:
        for line in summary_lines(summary):
            print(line)
    return INCOMPLETE if summary.damages else 0


def finding_json(finding: Finding) -> dict[str, Any]:
    """A finding as a JSON object, without empty fields."""
    values = {name: value for name, value in asdict(finding).items() if value is not None}
    return {**values, "kind": finding.kind.value}


def summary_lines(summary: VerifySummary) -> list[str]:
    """The summary in readable form."""
    findings = "no damage" if not summary.damages else f"damage: {count_of(summary.damages, 'finding')}"
    if summary.notes:
        findings += f"; notes: {number(summary.notes)}"
    looked_at = (
        f"{count_of(summary.records, 'record')} in {size(summary.log_bytes)} of log, "
        f"{_entries_of(summary.queue_entries, 'queue')}, {_entries_of(summary.index_entries, 'index')}, "
        f"{count_of(summary.timer_units, 'timer unit')}"
        f"{_pop(summary)}"
    )
    return [looked_at, f"{summary.state.value}; {findings}"]


def _entries_of(count: int, what: str) -> str:
    return f"{number(count)} {what} {'entry' if count == 1 else 'entries'}"


def _pop(summary: VerifySummary) -> str:
    """What there is of POP, if there is any."""
    points, acks = summary.check_points, summary.acknowledgements
    return (
        f", {count_of(points, 'check point')} and {count_of(acks, 'acknowledgement')} of POP" if points or acks else ""
    )
