"""`rocketwire store columns`: make the columns beside a store, or extend them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rocketwire.cli.mistake import INCOMPLETE, Unsuccessful
from rocketwire.cli.output import count_of, warn
from rocketwire.cli.store.directory import opened, store_directory

if TYPE_CHECKING:
    from rocketwire.store.archive.read.scan import Trouble


@click.command("columns")
@store_directory
@click.option("--to", "folder", metavar="CACHE", required=True, help="The folder of the columns; made if needed.")
def command(*, directory: str, commitlog: str | None, folder: str) -> int:
    """Make columns of all messages, or extend them to the log's end; cat and count --columns read them."""
    from rocketwire.store.archive.columns.extend import extend
    from rocketwire.store.archive.columns.manifest import ColumnsUnfit

    store, damaged = opened(directory, commitlog), False

    def report(trouble: Trouble) -> None:
        nonlocal damaged
        damaged = damaged or not trouble.gone
        warn(str(trouble))

    try:
        try:
            made = extend(store, Path(folder), report)
        except ColumnsUnfit as error:
            warn(f"{folder}: {error}; they are made anew")
            made = extend(store, Path(folder), report, anew=True)
    except (ColumnsUnfit, OSError) as error:
        raise Unsuccessful(f"{folder}: {error}") from error
    click.echo(f"{folder}: {count_of(made.rows, 'message')}, up to physical offset {made.end}")
    return INCOMPLETE if damaged else 0
