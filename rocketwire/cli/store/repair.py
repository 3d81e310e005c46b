"""`rocketwire store repair`: copy every whole record of a damaged store to a new store."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from rocketwire.cli.ending import ended
from rocketwire.cli.output import count_of, json_line, number, size
from rocketwire.cli.store.directory import need_log
from rocketwire.cli.store.progress import progress_bar
from rocketwire.cli.store.verify import finding_json

if TYPE_CHECKING:
    from rocketwire.cli.serve import Commands
    from rocketwire.store.archive.verify.findings import Finding

_EPILOG = """\
Records keep their places, so message ids stay right; what was lost is filled with what no consumer is given. Consume
queues and index are made from the new log, everything else is copied. Exit code: 0 when NEWDIR is whole, 2 when it
could not be made."""


def add_parser(commands: Commands) -> None:
    """Add `repair` to the commands."""
    parser = commands.add_parser(
        "repair",
        help="make a whole store of what is left of a damaged one",
        description="Make a new store with every whole record of a damaged one, which is not changed.",
        epilog=_EPILOG,
    )
    parser.add_argument("directory", metavar="DIR", help="the damaged store's folder; no broker may use it")
    parser.add_argument("--to", metavar="NEWDIR", required=True, help="where to make the new store: an empty folder")
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")
    parser.add_argument("--no-progress", action="store_true", help="show no progress bar")
    parser.set_defaults(run=ended(_repair))


def _repair(options: argparse.Namespace) -> int:
    from rocketwire.server.core.clock import system_clock
    from rocketwire.store.archive.read.directory import discover
    from rocketwire.store.archive.repair.repair import repair

    directory = discover(options.directory)
    need_log(directory, f"link its folder to {directory.root}/commitlog")
    total = sum(file.size for file in directory.commit_log)
    with progress_bar(total, wanted=not options.no_progress) as bar:

        def report(finding: Finding) -> None:
            bar.show(lambda: json_line(finding_json(finding)) if options.json else print(finding))

        done = repair(options.directory, options.to, report, clock=system_clock, progress=bar.advance)
    if options.json:
        json_line({"summary": asdict(done)})
        return 0
    records = "1 record is" if done.records == 1 else f"{number(done.records)} records are"
    print(f"{records} in {options.to}, each at the place it had")
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
