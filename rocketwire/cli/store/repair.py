"""`rocketwire store repair`: copy every whole record of a damaged store to a new store."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Final

import click

from rocketwire.cli.json_option import json_option
from rocketwire.cli.output import count_of, json_line, number, size
from rocketwire.cli.parameter_types import FOLDER
from rocketwire.cli.store.directory import need_log
from rocketwire.cli.store.progress import progress_bar
from rocketwire.cli.store.verify import finding_json

if TYPE_CHECKING:
    from rocketwire.store.offline.verify.findings import Finding

_EPILOG: Final = """\
Records keep their places, so message ids stay right; what was lost is filled with what no consumer is given. Consume
queues and index are made from the new log, everything else is copied. Exit code: 0 when NEWDIR is whole, 2 when it
could not be made.

\b
Example:
  rocketwire store repair data --to data.new
  rocketwire store verify data.new
"""


@click.command("repair", epilog=_EPILOG)
@click.argument("directory", metavar="DIR", type=FOLDER)
@click.option(
    "--to", metavar="NEWDIR", type=FOLDER, required=True, help="Where to make the new store: an empty folder, or none."
)
@json_option
@click.option("--no-progress", is_flag=True, help="Show no progress bar; there is none either without a terminal.")
def command(directory: str, to: str, *, as_json: bool, no_progress: bool) -> int:
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
