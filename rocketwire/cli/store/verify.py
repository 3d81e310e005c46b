"""`rocketwire store verify|repair`: check a store directory, and make a whole one of a damaged one."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import click

from rocketwire.cli.errors import INCOMPLETE
from rocketwire.cli.output import count_of, json_line, json_option, number, size
from rocketwire.cli.parameter_types import FOLDER
from rocketwire.cli.store.directory import need_log, opened, store_directory
from rocketwire.cli.waiting import progress_bar

if TYPE_CHECKING:
    from rocketwire.store.offline.verify.findings import Finding
    from rocketwire.store.offline.verify.verify import VerifySummary


_VERIFY_EPILOG: Final = """\
A line describes what is lost or wrong (damage), or what the next start of a broker repairs (note): in which file, at
which byte, about which messages. The last lines sum up. Exit code: 0 without damage, 1 with, 2 when DIR is no store
that can be read.

\b
Examples:
  rocketwire store verify data
  rocketwire store verify data --json --no-progress > findings.jsonl
"""


@click.command("verify", epilog=_VERIFY_EPILOG)
@store_directory
@json_option
@click.option("--no-progress", is_flag=True, help="Show no progress bar; there is none either without a terminal.")
def verify_command(directory: str, commitlog: str | None, *, as_json: bool, no_progress: bool) -> int:
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
    checked = (
        f"{count_of(summary.records, 'record')} in {size(summary.log_bytes)} of log, "
        f"{_entries_of(summary.queue_entries, 'queue')}, {_entries_of(summary.index_entries, 'index')}, "
        f"{count_of(summary.timer_units, 'timer unit')}"
        f"{_pop(summary)}"
    )
    return [checked, f"{summary.state.value}; {findings}"]


def _entries_of(count: int, what: str) -> str:
    return f"{number(count)} {what} {'entry' if count == 1 else 'entries'}"


def _pop(summary: VerifySummary) -> str:
    """What there is of POP, if there is any."""
    points, acks = summary.check_points, summary.acknowledgements
    return (
        f", {count_of(points, 'check point')} and {count_of(acks, 'acknowledgement')} of POP" if points or acks else ""
    )


_REPAIR_EPILOG: Final = """\
Records keep their places, so message ids stay right; what was lost is filled with what no consumer is given. Consume
queues and index are made from the new log, everything else is copied. Exit code: 0 when NEWDIR is whole, 2 when it
could not be made.

\b
Example:
  rocketwire store repair data --to data.new
  rocketwire store verify data.new
"""


@click.command("repair", epilog=_REPAIR_EPILOG)
@click.argument("directory", metavar="DIR", type=FOLDER)
@click.option(
    "--to", metavar="NEWDIR", type=FOLDER, required=True, help="Where to make the new store: an empty folder, or none."
)
@json_option
@click.option("--no-progress", is_flag=True, help="Show no progress bar; there is none either without a terminal.")
def repair_command(directory: str, to: str, *, as_json: bool, no_progress: bool) -> int:
    """Make a new store with every whole record of the damaged one in DIR, which is not changed.

    No broker may use DIR.
    """
    from rocketwire.server.core.clocks.clock import system_clock
    from rocketwire.store.offline.read.directory import discover
    from rocketwire.store.offline.repair.repair import repair

    store = discover(directory)
    need_log(store, f"link its folder to {store.root}/commitlog")
    total = sum(file.size for file in store.commit_log)
    with progress_bar(total, wanted=not no_progress) as bar:

        def report(finding: Finding) -> None:
            bar.show(lambda: json_line(finding_json(finding)) if as_json else print(finding))

        done = repair(directory, to, report, clock=system_clock, progress=bar.advance)
    if as_json:
        json_line({"summary": asdict(done)})
        return 0
    records = "1 record is" if done.records == 1 else f"{number(done.records)} records are"
    print(f"{records} in {to}, each at the place it had")
    if done.filled:
        were = "was" if done.filled == 1 else "were"
        parts = count_of(done.filled, "part")
        print(f"{parts} of the log, {size(done.filled_bytes)} in all, held no record and {were} filled")
    if done.lost:
        print(f"{count_of(done.lost, 'message')} of consume queues {'is' if done.lost == 1 else 'are'} lost")
    if done.retagged:
        print(f"{count_of(done.retagged, 'message')} had another tag in the queue entry; now it is that of the record")
    if done.rekeyed:
        print(f"{count_of(done.rekeyed, 'message')} had other keys in the index; now they are those of the record")
    return 0
