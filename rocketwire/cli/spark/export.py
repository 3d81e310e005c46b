"""`rocketwire spark export`: the messages of stores as Parquet files, by topic and day, alone or of a table."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from rocketwire.cli.errors import INCOMPLETE, CommandError
from rocketwire.cli.output import json_line, json_option, number, size, warn
from rocketwire.cli.parameter_types import FOLDER
from rocketwire.cli.spark.session import check_installed, master_option
from rocketwire.cli.times import parsed
from rocketwire.cli.waiting import progress_bar

if TYPE_CHECKING:
    from rocketwire.spark.export import ExportResult
    from rocketwire.spark.request.options import ReadOptions

_EPILOG: Final = """\
STORE is a store's folder, or a pattern of folders; several for a cluster, one a broker. Files go to
DIR/topic=TOPIC/day=DAY, by the day (UTC) of storing. Each run adds what is new, and a run that was stopped is taken up
where it was: no message is written twice. DIR is for one selection of messages, the same in all runs. TIME is ISO 8601,
in UTC if it names no zone, or ms since 1970 of 11 digits at least. Spark's own log is DIR/_rocketwire/spark.log. Exit
code: 0 when all is exported, 1 when something could not be read (stderr says what), 2 when the export cannot be done.

\b
Examples:
  rocketwire spark export data --to export
  rocketwire spark export '/backup/broker-*/store' --to export --topic Orders
  rocketwire spark export data --to lake/messages --format delta
  rocketwire spark export data --to lake --format iceberg --table shop.orders
"""
_FORMATS: Final = ("parquet", "delta", "iceberg")
_COMPRESSIONS: Final = ("zstd", "snappy", "gzip", "lz4", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """The options of the command, as they are typed."""

    stores: tuple[str, ...]
    to: str
    topics: tuple[str, ...]
    since: str | None
    until: str | None
    all_topics: bool
    columns: str
    compression: str
    format: str
    catalog: str
    table: str | None
    master: str
    no_progress: bool


@click.command("export", epilog=_EPILOG)
@click.argument("stores", metavar="STORE...", type=FOLDER, nargs=-1, required=True)
@click.option("--to", metavar="DIR", type=FOLDER, required=True, help="The folder to write to.")
@click.option("--topic", "topics", metavar="T", multiple=True, help="Of this topic; repeatable.")
@click.option("--since", metavar="TIME", help="Stored at or after this time.")
@click.option("--until", metavar="TIME", help="Stored before this time.")
@click.option("--all-topics", is_flag=True, help="RocketMQ's own topics, retries, dead letters too.")
@click.option("--columns", metavar="C,C…", default="*", help="Columns, with commas between. [default: all]")
@click.option(
    "--compression",
    type=click.Choice(_COMPRESSIONS),
    default=_COMPRESSIONS[0],
    show_default=True,
    help="Of the files.",
)
@click.option(
    "--format",
    type=click.Choice(_FORMATS),
    default=_FORMATS[0],
    show_default=True,
    help="parquet for files alone; delta or iceberg for a table that has them.",
)
@click.option(
    "--catalog",
    metavar="NAME",
    default="default",
    show_default=True,
    help="With iceberg: a catalog of pyiceberg's configuration.",
)
@click.option("--table", metavar="NAMESPACE.NAME", help="With iceberg: the table, made if it is missing.")
@master_option
@click.option("--no-progress", is_flag=True, help="Show no progress bar; there is none either without a terminal.")
@json_option
def command(*, as_json: bool, **options: Any) -> int:  # noqa: ANN401 - those of _Options
    """Write the messages of stores to Parquet files, by topic and day.

    RocketMQ's own topics, retries and dead letters are skipped unless they are named.
    """
    check_installed()
    from rocketwire.spark.errors import SparkSourceError

    given = _Options(**options)
    try:
        done = _exported(given, _read_options(given))
    except SparkSourceError as error:
        raise CommandError(f"{error.what}. {error.remedy}") from error
    for problem in done.problems:
        warn(problem)
    reported = len(done.problems)
    if done.damaged > reported:
        warn(f"there are {number(done.damaged - reported)} more damaged places")
    if as_json:
        json_line({"messages": done.messages, "files": done.files, "bytes": done.bytes, "damaged": done.damaged})
    elif done.messages:
        print(f"{number(done.messages)} messages exported; files: {number(done.files)}, {size(done.bytes)}")
    else:
        print("there is no new message")
    return INCOMPLETE if done.problems else 0


def _read_options(options: _Options) -> ReadOptions:
    """The same as options of the data source."""
    from rocketwire.spark.request.option_parsing import read_options

    given = {
        "paths": json.dumps(options.stores),
        "columns": options.columns,
        "includeSystemTopics": str(options.all_topics),
    }
    if options.topics:
        given["topics"] = ",".join(options.topics)
    if options.since is not None:
        given["startingTimestamp"] = str(parsed("--since", options.since))
    if options.until is not None:
        given["endingTimestamp"] = str(parsed("--until", options.until))
    return read_options(given)


def _exported(options: _Options, wanted: ReadOptions) -> ExportResult:
    from rocketwire.cli.spark.session import SparkRun
    from rocketwire.spark.export import ExportFormat, export

    with SparkRun(options.master, Path(options.to) / "_rocketwire" / "spark.log") as session, session.short_errors():
        return export(
            session.started,
            wanted,
            options.to,
            compression=options.compression,
            format=ExportFormat(kind=options.format, catalog=options.catalog, table=options.table),
            bar=partial(progress_bar, wanted=not options.no_progress),
        )
