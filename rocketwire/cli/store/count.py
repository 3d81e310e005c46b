"""`rocketwire store count`: messages by topic, tag, queue and time, from the columns beside a store."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from rocketwire.cli.errors import CommandError, CommandFailed
from rocketwire.cli.json_option import json_option
from rocketwire.cli.output import json_line, number
from rocketwire.cli.store.directory import opened, store_directory
from rocketwire.cli.times import shown

_TIMES: Final = ("minute", "hour", "day")
_EPILOG: Final = """\b
Examples:
  rocketwire store columns data --to data-columns
  rocketwire store count data --columns data-columns --by topic,tag,hour
"""


@click.command("count", epilog=_EPILOG)
@store_directory
@click.option("--columns", "folder", metavar="CACHE", required=True, help="What `store columns` made of the store.")
@click.option("--by", metavar="NAMES", default="topic", help="Of topic, tag, queue, minute, hour and day, with commas.")
@json_option
def command(*, directory: str, commitlog: str | None, folder: str, by: str, as_json: bool) -> int:
    """Count messages, RocketMQ's own topics too, up to where the columns go. Times are those of storing, in UTC."""
    from rocketwire.store.offline.columns.manifest import ColumnsUnusable
    from rocketwire.store.offline.columns.questions import GROUPS, StoreColumns

    names = by.split(",")
    if len(set(names)) < len(names) or not set(names) <= set(GROUPS):
        raise CommandError(f"--by {by}: expected {', '.join(GROUPS)}, each once")
    try:
        counted = StoreColumns(opened(directory, commitlog), Path(folder)).count(names)
    except ColumnsUnusable as error:
        raise CommandFailed(f"{folder}: {error}; make them by rocketwire store columns") from error
    rows = sorted(counted.items(), key=lambda row: [(value is not None, value) for value in row[0]])
    if as_json:
        for values, count in rows:
            json_line({**dict(zip(names, values, strict=True)), "count": count})
        return 0
    from rocketwire.cli.table import TableColumn, print_table

    columns = (*(TableColumn(name.upper(), least=8) for name in names), TableColumn("COUNT", right=True))

    def text(name: str, value: object) -> str:
        if name in _TIMES and isinstance(value, int):
            return shown(value)[:16]
        return "" if value is None else str(value)

    print_table(columns, ((*map(text, names, values), number(count)) for values, count in rows))
    return 0
