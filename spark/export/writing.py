"""A task of an export: reads one span of a log and writes a Parquet file for each topic and day in it.

Rows go from the reader to the files as Arrow batches, within one process. The task reports what it wrote in a small
JSON file, which the driver collects. It exists only when the Parquet files are complete, and on the disk.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rocketwire.spark.errors import ExportImpossible, SparkSourceError
from rocketwire.spark.export.places import NO_VALUE, file_name, folder
from rocketwire.spark.plan.partitions import LogSpan
from rocketwire.spark.read.reading import read
from rocketwire.spark.request.request import ReadRequest
from rocketwire.spark.schema import CORRUPT_RECORD

#: Bytes of rows that are buffered before they are written: mostly all of a span.
_MOST_HELD: Final = 192 << 20
#: At most so many damaged places of a span are reported.
_MOST_REPORTED: Final = 20
_DAY: Final = 86_400_000_000
#: Columns whose values hardly repeat.
_NO_DICTIONARY: Final = frozenset(
    {"body", "message_id", "offset_message_id", "queue_offset", "physical_offset", "body_crc", "keys", "properties"}
)
#: The suffix of the reports that the driver collects.
RESULT_SCHEMA: Final = ".json"

#: Columns that are always read: they determine folders and marks, and distinguish messages from damage.
NEEDED: Final = ("topic", "store_timestamp", "physical_offset", "file", CORRUPT_RECORD)

_Place = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportTask:
    """The common parameters of all tasks of a run.

    Attributes:
        request: What is read; NEEDED are among its columns.
        columns: What is written.
        run: The folder to write to; the driver and all workers reach it by this path.
        compression: What pages of Parquet files are compressed with; `none` for nothing.
    """

    request: ReadRequest
    columns: tuple[str, ...]
    run: str
    compression: str


def write_span(task: ExportTask, number: int, span: LogSpan) -> None:
    """Write the messages of a span, and report the span or the error in the file NUMBER.json."""
    work = Path(tempfile.mkdtemp(dir=task.run))
    try:
        report = _written(task, span, work)
    except SparkSourceError as error:
        report = {"error": [type(error).__name__, error.what, error.remedy]}
    except OSError as error:
        what = f"{task.run} cannot be written: {error.strerror or error}"
        report = {"error": [ExportImpossible.__name__, what, "What is exported so far is kept"]}
    new = work / f"{number}{RESULT_SCHEMA}"
    new.write_text(json.dumps(report), encoding="utf-8")
    # A task that is repeated on another worker reports the same.
    new.replace(Path(task.run) / new.name)


def _written(task: ExportTask, span: LogSpan, work: Path) -> dict[str, Any]:
    files = _Files(task, span, work)
    damage: list[str] = []
    damaged = rows = 0
    mark: tuple[int, int] | None = None
    for batch in read(span, task.request):
        whole, wrong = _apart(batch)
        damaged += len(wrong)
        damage += wrong[: _MOST_REPORTED - len(damage)]
        if len(whole):
            rows += len(whole)
            mark = max(mark or (-1, 0), _last(whole))
            files.take(whole)
    files.flush()
    return {"rows": rows, "files": files.written, "damage": damage, "damaged": damaged, "mark": mark}


def _apart(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, list[str]]:
    """The messages, and the descriptions of damaged places."""
    corrupt = batch.column(CORRUPT_RECORD)
    if corrupt.null_count == len(corrupt):
        return batch, []
    wrong = batch.filter(corrupt.is_valid()).select(["file", "physical_offset", CORRUPT_RECORD])
    return batch.filter(corrupt.is_null()), [
        f"{row['file']} at physical offset {row['physical_offset']}: {row[CORRUPT_RECORD]}" for row in wrong.to_pylist()
    ]


def _last(batch: pa.RecordBatch) -> tuple[int, int]:
    """Physical offset and store time (ms) of the last row."""
    offset, time = batch.column("physical_offset")[-1], batch.column("store_timestamp")[-1]
    return offset.as_py(), time.value // 1000


class _Files:
    """Holds rows of a span until they are many, and writes them: a file a topic and day each time.

    Attributes:
        written: Of each file its name below the folder of the run, its place below that of the export, and its size.
    """

    def __init__(self, task: ExportTask, span: LogSpan, work: Path) -> None:
        self.written: list[tuple[str, str, int]] = []
        self._task = task
        self._span = span
        self._work = work
        self._held: dict[_Place, list[pa.RecordBatch]] = {}
        self._bytes = 0
        self._part = 0

    def take(self, batch: pa.RecordBatch) -> None:
        """Take rows over."""
        for place, rows in _by_place(batch):
            self._held.setdefault(place, []).append(rows.select(self._task.columns))
        self._bytes += batch.nbytes
        if self._bytes >= _MOST_HELD:
            self.flush()

    def flush(self) -> None:
        """Write the held rows, and flush the files."""
        span = self._span
        for place, batches in self._held.items():
            path = self._work / f"{len(self.written)}.parquet"
            table = pa.Table.from_batches(batches)
            repeats = [name for name in table.column_names if name not in _NO_DICTIONARY]
            pq.write_table(table, path, compression=self._task.compression, use_dictionary=repeats)
            with path.open("rb") as file:
                os.fsync(file.fileno())
            name = file_name(span.broker, span.start, span.end, self._part)
            self.written.append((f"{self._work.name}/{path.name}", f"{folder(*place)}/{name}", path.stat().st_size))
        self._part += 1
        self._held.clear()
        self._bytes = 0


def _by_place(batch: pa.RecordBatch) -> Iterator[tuple[_Place, pa.RecordBatch]]:
    """The rows of each topic and day, in the order in which they come."""
    topics = batch.column("topic").dictionary_encode()
    days = np.floor_divide(batch.column("store_timestamp").cast(pa.int64()).to_numpy(), _DAY)
    codes = topics.indices.to_numpy().astype(np.int64)
    # Days are fewer than 2^28, either way of 1970.
    keys, inverse = np.unique((codes << 32) + (days + (1 << 31)), return_inverse=True)
    if len(keys) > 1:
        order = np.argsort(inverse, kind="stable")
        batch = batch.take(pa.array(order))
        inverse = inverse[order]
    bounds = np.searchsorted(inverse, np.arange(len(keys) + 1)).tolist()
    for number, key in enumerate(keys.tolist()):
        first, end = bounds[number], bounds[number + 1]
        place = topics.dictionary[key >> 32].as_py(), _day(int(key & 0xFFFFFFFF) - (1 << 31))
        yield place, batch.slice(first, end - first)


def _day(number: int) -> str:
    """The date of a day counted from 1970 on, as Spark reads it from the name of a folder."""
    text = str(np.datetime64(number, "D"))
    return text if len(text) == len("2026-01-31") else NO_VALUE


def read_report(path: Path) -> Mapping[str, Any]:
    """A task's report from a file."""
    found: dict[str, Any] = json.loads(path.read_bytes())
    return found
