"""`rocketwire spark export`: the messages of stores as Parquet files, by topic and day."""

from __future__ import annotations

import argparse
import json
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rocketwire.cli.ending import DAMAGED, ended
from rocketwire.cli.mistake import Mistake
from rocketwire.cli.output import number, size, warn
from rocketwire.cli.store.progress import progress_bar
from rocketwire.cli.times import parsed

if TYPE_CHECKING:
    from rocketwire.cli.serve import Commands
    from rocketwire.spark.export import Exported
    from rocketwire.spark.request.options import ReadOptions

_EPILOG = """\
Each run adds what is new, and a run that was stopped is taken up where it was: no message is written twice. DIR is for
one selection of messages, the same in all runs. TIME is ISO 8601, in UTC if it names no zone, or ms since 1970. Exit
code: 0 when all is exported, 1 when something could not be read (stderr says what), 2 when the export cannot be done.
docs/spark.md tells more."""
_COMPRESSIONS = ("zstd", "snappy", "gzip", "lz4", "none")


def add_parser(commands: Commands) -> None:
    """Add `export` to the commands."""
    parser = commands.add_parser(
        "export",
        help="write the messages of stores to Parquet files, by topic and day",
        description=(
            "Write the messages of stores to Parquet files in DIR/topic=TOPIC/day=DAY, by the day (UTC) of storing. "
            "RocketMQ's own topics, retries and dead letters are left out unless they are named."
        ),
        epilog=_EPILOG,
    )
    parser.add_argument("stores", metavar="STORE", nargs="+", help="a store's folder, or a pattern of folders")
    parser.add_argument("--to", metavar="DIR", required=True, help="the folder to write to")
    parser.add_argument("--topic", metavar="T", action="append", dest="topics", help="of this topic; repeatable")
    parser.add_argument("--since", metavar="TIME", help="stored at or after this time")
    parser.add_argument("--until", metavar="TIME", help="stored before this time")
    parser.add_argument("--all-topics", action="store_true", help="RocketMQ's own topics, retries, dead letters too")
    parser.add_argument("--columns", metavar="C,C…", default="*", help="columns, with commas between (default: all)")
    parser.add_argument("--compression", choices=_COMPRESSIONS, default="zstd", help="of the files (default: zstd)")
    parser.add_argument("--master", default="local[*]", help="Spark's master (default: local[*], this machine)")
    parser.add_argument("--no-progress", action="store_true", help="show no progress bar")
    parser.set_defaults(run=ended(_export))


def _export(options: argparse.Namespace) -> int:
    for name in ("pyspark", "pyarrow", "pandas"):
        if find_spec(name) is None:
            raise Mistake(f"{name} is not installed: pip install 'rocketwire[spark]'")
    from rocketwire.spark.errors import SparkSourceError

    try:
        done = _exported(options, _read_options(options))
    except SparkSourceError as error:
        raise Mistake(f"{error.what}. {error.remedy}") from error
    for problem in done.problems:
        warn(problem)
    told = len(done.problems)
    if done.damaged > told:
        warn(f"there are {number(done.damaged - told)} more damaged places")
    if done.messages:
        print(f"{number(done.messages)} messages exported; files: {number(done.files)}, {size(done.bytes)}")
    else:
        print("there is no new message")
    return DAMAGED if done.problems else 0


def _read_options(options: argparse.Namespace) -> ReadOptions:
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


def _exported(options: argparse.Namespace, wanted: ReadOptions) -> Exported:
    from rocketwire.cli.spark.session import Session
    from rocketwire.spark.export import export

    with Session(options.master, Path(options.to) / "_rocketwire" / "spark.log") as session, session.told():
        return export(
            session.started,
            wanted,
            options.to,
            compression=options.compression,
            bar=partial(progress_bar, wanted=not options.no_progress),
        )
