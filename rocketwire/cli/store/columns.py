"""`rocketwire store columns`: make the columns beside a store, or extend them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from rocketwire.cli.errors import INCOMPLETE, CommandFailed
from rocketwire.cli.output import count_of, json_line, json_option, warn
from rocketwire.cli.store.directory import opened, store_directory

if TYPE_CHECKING:
    from rocketwire.store.offline.read.scan import ReadProblem

_EPILOG: Final = """\b
Examples:
  rocketwire store columns data --to data-columns
  rocketwire store cat data --columns data-columns --key Order-42
"""


@click.command("columns", epilog=_EPILOG)
@store_directory
@click.option("--to", "folder", metavar="CACHE", required=True, help="The folder of the columns; made if needed.")
@json_option
def command(*, directory: str, commitlog: str | None, folder: str, as_json: bool) -> int:
    """Make columns of all messages, or extend them to the log's end; cat and count --columns read them."""
    from rocketwire.store.offline.columns.extend import extend
    from rocketwire.store.offline.columns.manifest import ColumnsUnusable

    store, damaged = opened(directory, commitlog), False

    def report(trouble: ReadProblem) -> None:
        nonlocal damaged
        damaged = damaged or not trouble.gone
        warn(str(trouble))

    try:
        try:
            made = extend(store, Path(folder), report)
        except ColumnsUnusable as error:
            warn(f"{folder}: {error}; they are made again")
            made = extend(store, Path(folder), report, rebuild=True)
    except (ColumnsUnusable, OSError) as error:
        raise CommandFailed(f"{folder}: {error}") from error
    if as_json:
        json_line({"columns": folder, "messages": made.rows, "end": made.end})
    else:
        click.echo(f"{folder}: {count_of(made.rows, 'message')}, up to physical offset {made.end}")
    return INCOMPLETE if damaged else 0
