"""Tables of Iceberg, whose appended files pyiceberg lists and reads; Spark needs no jar of Iceberg for them.

Snapshots are sent one after the other, the files of each in batches. The checkpoint has the last snapshot, and how many
files of the next are sent.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema
from pyspark.sql.types import StructField, StructType

from rocketwire.spark.errors import ImportImpossible, OptionInvalid, PackageMissing
from rocketwire.store.disk.replacing import replace_file

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.table import FileScanTask, Table
    from pyiceberg.table.snapshots import Snapshot
    from pyspark.sql import DataFrame, SparkSession

#: The options, as Spark's own source of Iceberg has them, and what they are unless they are given.
_FILES: Final = "streaming-max-files-per-micro-batch"
_SKIP: Final = {
    "delete": "streaming-skip-delete-snapshots",
    "overwrite": "streaming-skip-overwrite-snapshots",
}
_DEFAULTS: Final = {_FILES: "16", **dict.fromkeys(_SKIP.values(), "false")}
_STATE: Final = "iceberg.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportProgress:
    """What of a table is sent.

    Attributes:
        table: The table's id.
        snapshot: The last snapshot that is sent as a whole; None before the first.
        files: How many files of the next snapshot are sent.
    """

    table: str
    snapshot: int | None = None
    files: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FileBatch:
    """Files that are sent together, and what is sent after them."""

    tasks: Sequence[FileScanTask]
    rows: int
    after: ImportProgress


def send_iceberg(
    session: SparkSession,
    catalog: str,
    name: str,
    options: Mapping[str, str],
    messages: Callable[[DataFrame], DataFrame],
    target: Mapping[str, str],
    checkpoint: Path,
) -> int:
    """Send the rows of files that were appended since the checkpoint; return how many rows these were.

    Args:
        session: Spark's.
        catalog: By its name in pyiceberg's configuration.
        name: Of the table, with its namespace.
        options: Those of `_DEFAULTS`.
        messages: Makes the columns of messages.
        target: Options of the data source's writes.
        checkpoint: The folder that keeps what is sent.

    Raises:
        ImportImpossible: the table cannot be read, or not be continued from the checkpoint.
        OptionInvalid: an option is unknown or wrong.
        PackageMissing: pyiceberg is not installed.
    """
    most, skipped = _parsed(options)
    table = _opened(catalog, name)
    messages(_frame(session, table, ()))  # names a wrong column before anything is sent
    rows = 0
    for batch in batches(table, _progress(table, checkpoint), most, skipped):
        if batch.tasks:
            messages(_frame(session, table, batch.tasks)).write.format("rocketmq").options(**target).mode(
                "append"
            ).save()
        _keep(checkpoint, batch.after)
        rows += batch.rows
    return rows


def batches(table: Table, done: ImportProgress, most: int, skipped: Iterable[str]) -> Iterator[FileBatch]:
    """What is to be sent, the oldest first.

    Args:
        table: The table.
        done: What is sent already.
        most: How many files a batch has at most.
        skipped: Operations of snapshots that are skipped although they change rows that were sent.

    Raises:
        ImportImpossible: the table cannot be continued from what is sent.
    """
    passed = {"replace", *skipped}  # a compaction changes no row
    for snapshot in _after(table, done.snapshot):
        operation = "append" if snapshot.summary is None else snapshot.summary.operation.value
        whole = ImportProgress(table=done.table, snapshot=snapshot.snapshot_id)
        if operation != "append":
            if operation not in passed:
                raise ImportImpossible(
                    f"snapshot {snapshot.snapshot_id} of the table changed rows ({operation})",
                    f"With --option {_SKIP[operation]}=true it is passed over",
                )
            yield FileBatch(tasks=(), rows=0, after=whole)
            done = whole
            continue
        scan = table.incremental_append_scan(
            from_snapshot_id_exclusive=snapshot.parent_snapshot_id, to_snapshot_id_inclusive=snapshot.snapshot_id
        )
        tasks = sorted(scan.plan_files(), key=lambda task: task.file.file_path)
        for first in range(done.files, max(len(tasks), done.files + 1), most):
            some = tasks[first : first + most]
            end = first + len(some)
            after = whole if end == len(tasks) else replace(done, files=end)
            yield FileBatch(tasks=some, rows=sum(task.file.record_count for task in some), after=after)
        done = whole


def _after(table: Table, sent: int | None) -> list[Snapshot]:
    """The snapshots since one of them, the oldest first."""
    found: list[Snapshot] = []
    at = table.current_snapshot()
    while at is not None and at.snapshot_id != sent:
        found.append(at)
        if at.parent_snapshot_id == sent:
            break
        at = None if at.parent_snapshot_id is None else table.snapshot_by_id(at.parent_snapshot_id)
    else:
        if at is None and sent is not None:
            raise ImportImpossible(
                f"the table has no history back to snapshot {sent}, which was sent last",
                "It was rolled back, or its snapshots expired: send it with a new checkpoint",
            )
    return found[::-1]


def _parsed(options: Mapping[str, str]) -> tuple[int, list[str]]:
    """How many files a batch has, and which operations are skipped."""
    for name in options:
        if name not in _DEFAULTS:
            raise OptionInvalid(f"iceberg has no option {name}", f"It has {', '.join(_DEFAULTS)}")
    given = {**_DEFAULTS, **options}
    if not given[_FILES].isdecimal() or not int(given[_FILES]):
        raise OptionInvalid(f"{_FILES} is {given[_FILES]}", "It is a number of files, 1 at least")
    return int(given[_FILES]), [operation for operation, name in _SKIP.items() if given[name].lower() == "true"]


def _opened(catalog: str, name: str) -> Table:
    try:
        from pyiceberg.catalog import load_catalog
    except ImportError as error:
        raise PackageMissing("pyiceberg is not installed", "pip install 'rocketwire[iceberg]'") from error
    try:
        return load_catalog(catalog).load_table(name)
    except Exception as error:  # each kind of catalog has other errors
        raise ImportImpossible(
            f"the table {name} of the Iceberg catalog {catalog} cannot be opened: {error}",
            "Check pyiceberg's configuration",
        ) from error


# --- the checkpoint


def _progress(table: Table, checkpoint: Path) -> ImportProgress:
    own = str(table.metadata.table_uuid)
    try:
        found = ImportProgress(**json.loads((checkpoint / _STATE).read_bytes()))
    except FileNotFoundError:
        return ImportProgress(table=own)
    if found.table != own:
        raise ImportImpossible(f"{checkpoint} is the checkpoint of another table", "Name another folder")
    return found


def _keep(checkpoint: Path, progress: ImportProgress) -> None:
    """Replace the checkpoint; it is whole at any moment."""
    checkpoint.mkdir(parents=True, exist_ok=True)
    replace_file(checkpoint / _STATE, json.dumps(asdict(progress)).encode())


# --- reading


def _frame(session: SparkSession, table: Table, tasks: Sequence[FileScanTask]) -> DataFrame:
    """The rows of files, with those columns of the table whose types Spark has."""
    fields = []
    for each in table.schema().as_arrow():
        try:
            fields.append(StructField(each.name, from_arrow_type(each.type)))
        except Exception:  # noqa: BLE001, S112 - pyspark's error for a type without a counterpart has no separate class
            continue
    schema = StructType(fields)
    read = TableFileReader(table, schema)
    packed = [(pickle.dumps(task),) for task in tasks]
    files = session.createDataFrame(packed, "task binary").repartition(max(1, len(packed)))
    return files.mapInArrow(read, schema)


class TableFileReader:
    """Reads files in Spark's workers."""

    def __init__(self, table: Table, schema: StructType) -> None:
        self._table = pickle.dumps((table.metadata, table.io))
        self._schema = schema

    def __call__(self, files: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of the files in each batch."""
        from pyiceberg.expressions import AlwaysTrue
        from pyiceberg.io.pyarrow import ArrowScan

        metadata, io = pickle.loads(self._table)  # noqa: S301 - the driver's
        schema = to_arrow_schema(self._schema, timezone="UTC")
        scan = ArrowScan(metadata, io, metadata.schema().select(*schema.names), AlwaysTrue())
        for batch in files:
            tasks = [pickle.loads(task.as_py()) for task in batch.column(0)]  # noqa: S301 - the driver's
            for rows in scan.to_record_batches(tasks):
                yield rows.select(schema.names).cast(schema)
