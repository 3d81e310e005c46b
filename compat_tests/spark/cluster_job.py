"""The job that test_cluster.py submits: prints the rows of a store as JSON, and the executors that read them.

Arguments: a store, and further options of the data source as JSON. Executors get this module's functions from the
driver; they have no copy of it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

#: Columns with the place of a store.
_PLACES = ("broker", "file")


def rows_of(session: SparkSession, store: str, more: Mapping[str, str]) -> DataFrame:
    """Each message as one JSON object, in many tasks."""
    options = {"columns": "*", "minPartitions": "8", **more}
    found = session.read.format("rocketmq").options(**options).load(store).drop(*_PLACES)
    return found.selectExpr("to_json(struct(*)) AS row")


def _marked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows with their executor's folder and kernel; the task that reads them also runs this."""
    import rocketwire.native

    for batch in batches:
        marks = (str(Path.cwd()), "native" if rocketwire.native.kernel else "python")
        columns = [batch.column(0), *(pa.array([mark] * batch.num_rows) for mark in marks)]
        yield pa.record_batch(columns, ["row", "executor", "kernel"])


def main() -> None:
    session = SparkSession.builder.getOrCreate()
    rows = rows_of(session, sys.argv[1], json.loads(sys.argv[2]))
    found = rows.mapInArrow(_marked, "row string, executor string, kernel string").collect()
    report = {
        "rows": sorted(row.row for row in found),
        "executors": sorted({row.executor for row in found}),
        "kernels": sorted({row.kernel for row in found}),
    }
    print(json.dumps(report))
    session.stop()


if __name__ == "__main__":
    main()
