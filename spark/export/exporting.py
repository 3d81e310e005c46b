"""The driver's part of an export: plans the tasks, runs them in Spark, and records what is done."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

from pyspark.sql import SparkSession

from rocketwire.spark import errors
from rocketwire.spark.errors import ExportImpossible, OptionInvalid, SparkSourceError
from rocketwire.spark.export.delta import DeltaTable
from rocketwire.spark.export.iceberg import NEEDED as IN_ICEBERG
from rocketwire.spark.export.iceberg import IcebergTable
from rocketwire.spark.export.ledger import ExportedSpan, ExportLedger, ExportTable, missing
from rocketwire.spark.export.writing import NEEDED, RESULT_SCHEMA, ExportTask, read_report, write_span
from rocketwire.spark.plan.partitions import LogSpan
from rocketwire.spark.plan.planning import plan
from rocketwire.spark.request.options import ReadOptions
from rocketwire.spark.request.request import request_of
from rocketwire.spark.schema import COLUMNS
from rocketwire.spark.stores.opening import open_stores
from rocketwire.spark.stores.snapshot import StoreSnapshot
from rocketwire.store.offline.read.directory import StoreState
from rocketwire.store.offline.read.log import CommitLogReader
from rocketwire.store.offline.read.queues import QueueReader
from rocketwire.wire.java import INT64_MAX, INT64_MIN

#: Interval of checks for finished tasks, in seconds.
_LOOK: Final = 0.2
#: The same if files come into a table, which gets slower with each commit.
_LOOK_OF_TABLES: Final = 10.0
COMPRESSIONS: Final = ("zstd", "snappy", "gzip", "lz4", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportFormat:
    """What the files are, besides Parquet.

    Attributes:
        kind: `parquet`, `delta` or `iceberg`.
        catalog: Of Iceberg: the name of a catalog in pyiceberg's configuration.
        table: Of Iceberg: the table's name, with its namespace.
    """

    kind: str = "parquet"
    catalog: str = "default"
    table: str | None = None


class ProgressBar(Protocol):
    """Shows the progress of an export."""

    def advance(self, count: int) -> None:
        """So many more bytes of log are exported."""
        ...


@dataclass(slots=True, kw_only=True)
class ExportResult:
    """The result of an export.

    Attributes:
        messages: How many it wrote.
        files: Into how many files.
        bytes: Their sizes.
        log_bytes: Bytes of log that they come from.
        damaged: Places that hold no message.
        problems: A line for each part that could not be exported; of damaged places the first ones.
    """

    messages: int = 0
    files: int = 0
    bytes: int = 0
    log_bytes: int = 0
    damaged: int = 0
    problems: list[str] = field(default_factory=list)


def export(
    session: Callable[[], SparkSession],
    options: ReadOptions,
    to: str,
    *,
    compression: str = "zstd",
    format: ExportFormat = ExportFormat(),  # noqa: A002 - Spark's name; it cannot change
    bar: Callable[[int], AbstractContextManager[ProgressBar]],
) -> ExportResult:
    """Write the messages of stores that no earlier call wrote to Parquet files by topic and day.

    Args:
        session: Returns the Spark session; called when there is something to do.
        options: Which stores, which messages of them, and which columns; of partitions, how large they are.
        to: The folder to write to: driver and workers reach it by this path.
        compression: One of COMPRESSIONS.
        format: Whether the files are those of a table, too.
        bar: Shows the progress: called with the bytes of log that are to be exported.

    Raises:
        SparkSourceError: a store cannot be read, or an option is wrong; what was done until then is kept.
        OSError: the folder cannot be written.
    """
    if not to.strip():
        raise OptionInvalid("the folder to export to has no name", "Name it; . is the current one")
    folder = Path(to).absolute()
    columns = _columns(options.columns, format)
    options = replace(options, columns=tuple(dict.fromkeys((*columns, *NEEDED))))
    stores = open_stores(options)
    table = _table(format, folder, columns)
    with ExportLedger(folder, _selection(options, columns, compression, format), table) as ledger:
        done = ExportResult()
        ends = {store.broker: _dispatched(store) for store in stores}
        for store in stores:
            done.problems += _check(store, ledger)
        request = request_of(options)
        spans = list(_missing(plan(stores, request), ledger, ends))
        with bar(sum(span.end - span.start for span in spans)) as shown:
            if spans:
                task = ExportTask(request=request, columns=columns, run=str(ledger.run), compression=compression)
                look = _LOOK if table is None else _LOOK_OF_TABLES
                _Run(session(), ledger, stores, task, spans, done, shown.advance, look).go()
    return done


def _columns(wanted: Sequence[str], format: ExportFormat) -> tuple[str, ...]:  # noqa: A002
    """The columns of files.

    Raises:
        OptionInvalid: there would be none.
    """
    if format.kind == "iceberg":
        # Its partitions are columns of files.
        found = [name for name in wanted if name in COLUMNS]
        return tuple(dict.fromkeys([*found, *IN_ICEBERG]))
    columns = tuple(name for name in wanted if name in COLUMNS and name != "topic")
    if not columns:
        raise OptionInvalid("no column is left to be written: topic is in names of folders", "Name others besides")
    return columns


def _table(format: ExportFormat, folder: Path, columns: Sequence[str]) -> ExportTable | None:  # noqa: A002
    """The table that gets the files; None without one.

    Raises:
        SparkSourceError: it cannot be opened, or the options are wrong.
    """
    if format.kind == "delta":
        return DeltaTable(folder, columns)
    if format.kind == "iceberg":
        if format.table is None or "." not in format.table:
            raise OptionInvalid("an Iceberg table has a namespace and a name", "Give --table NAMESPACE.NAME")
        return IcebergTable(folder, columns, format.catalog, format.table)
    return None


def _selection(
    options: ReadOptions,
    columns: Sequence[str],
    compression: str,
    format: ExportFormat,  # noqa: A002
) -> dict[str, Any]:
    """The options that must be the same in all runs, by the names of the command's options."""
    tables: dict[str, Any] = {}
    # Earlier versions knew Parquet alone, and named no format.
    if format.kind != "parquet":
        tables["format"] = format.kind
    if format.kind == "iceberg":
        tables |= {"catalog": format.catalog, "table": format.table}
    return tables | {
        "topics": sorted(options.topics) or "all",
        "all_topics": options.include_system_topics,
        "since": options.starting_timestamp,
        "until": options.ending_timestamp,
        "columns": list(columns),
        "compression": compression,
    }


def _dispatched(store: StoreSnapshot) -> int:
    """The largest physical offset that a consume queue points to: a broker makes the entries after the records.

    It is read before the queues' ends, so that the queues contain all messages before it.
    """
    if store.directory.state is not StoreState.LIVE:
        return store.end
    end = 0
    for files in store.queue_files():
        with QueueReader(files, log_start=store.start) as queue:
            end = max(end, queue.physical_end())
    return end


def _check(store: StoreSnapshot, ledger: ExportLedger) -> Iterator[str]:
    """Refuse a store that is not the one exported before; report messages that it lost since.

    Raises:
        ExportImpossible: the log has other messages in the part that is done.
    """
    done = ledger.done(store.broker)
    if not done:
        return
    remedy = "Export it to another folder"
    if done[-1][1] > store.end:
        raise ExportImpossible(f"{store.broker} ends before what was exported of it: it is another store now", remedy)
    offset, time = ledger.marks.get(store.broker, (-1, 0))
    if offset >= store.start:
        with CommitLogReader(store.directory.commit_log) as log:
            found = log.store_time(offset)
            # A mark comes from a column in µs: times out of its range became its first or last one.
            if found is None or max(INT64_MIN, min(found * 1000, INT64_MAX)) // 1000 != time:
                raise ExportImpossible(f"{store.broker} has other messages than when it was exported", remedy)
    if done[-1][1] < store.start:
        yield f"{store.broker}: bytes {done[-1][1]} to {store.start} of the log were removed before they were exported"


def _missing(spans: Sequence[LogSpan], ledger: ExportLedger, ends: dict[str, int]) -> Iterator[LogSpan]:
    """The parts of spans that are not done."""
    for span in spans:
        end = span.end if span.queues is None else min(span.end, ends[span.broker])
        for first, last in missing(span.start, end, ledger.done(span.broker)):
            yield span if (first, last) == (span.start, span.end) else span.clip(first, last)


class _Run:
    """One job of Spark, of a task a span."""

    def __init__(
        self,
        session: SparkSession,
        ledger: ExportLedger,
        stores: Sequence[StoreSnapshot],
        task: ExportTask,
        spans: Sequence[LogSpan],
        done: ExportResult,
        advance: Callable[[int], None],
        look: float,
    ) -> None:
        self._context = session.sparkContext
        self._ledger = ledger
        self._stores = {store.broker: store for store in stores}
        self._task = task
        self._spans = spans
        self._done = done
        self._advance = advance
        self._look = look
        self._failed: Exception | None = None
        self._left = set(range(len(spans)))

    def go(self) -> None:
        """Let Spark write the spans, and commit each one when it is written."""
        job = threading.Thread(target=self._job, daemon=True)
        job.start()
        try:
            while job.is_alive():
                job.join(self._look)
                self._commit()
        except BaseException:
            self._context.cancelAllJobs()
            raise
        self._commit()
        if self._failed is not None:
            raise self._failed
        if self._left:
            what = f"workers have written what is not to be seen in {self._ledger.run}"
            raise ExportImpossible(what, "Export to a folder that all machines share")

    def _job(self) -> None:
        numbered = list(enumerate(self._spans))
        try:
            self._context.parallelize(numbered, len(numbered)).foreach(partial(_write, self._task))
        except Exception as error:  # noqa: BLE001 - the waiting thread raises it again
            self._failed = error

    def _commit(self) -> None:
        """Commit what tasks report as done."""
        finished: list[ExportedSpan] = []
        for path in sorted(self._ledger.run.glob(f"*{RESULT_SCHEMA}")):
            found = read_report(path)
            path.unlink()
            if "error" in found:
                kind, what, remedy = found["error"]
                raise getattr(errors, kind, SparkSourceError)(what, remedy)
            number = int(path.stem)
            # Spark may repeat a task, as when an executor is lost.
            if number in self._left:
                self._left.remove(number)
                finished.append(self._finished(self._spans[number], found))
        if finished:
            self._ledger.commit(finished)
            self._advance(sum(one.span[1] - one.span[0] for one in finished))

    def _finished(self, span: LogSpan, found: Mapping[str, Any]) -> ExportedSpan:
        done = self._done
        done.messages += found["rows"]
        done.files += len(found["files"])
        done.bytes += sum(size for _, _, size in found["files"])
        done.log_bytes += span.end - span.start
        done.damaged += found["damaged"]
        done.problems += found["damage"]
        return ExportedSpan(
            broker=span.broker,
            span=(span.start, span.end),
            files=tuple((name, place) for name, place, _ in found["files"]),
            mark=None if found["mark"] is None else (found["mark"][0], found["mark"][1]),
        )


def _write(task: ExportTask, numbered: tuple[int, LogSpan]) -> None:
    write_span(task, *numbered)
