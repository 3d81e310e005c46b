"""The job that test_cluster.py submits: prints the rows of a store as JSON, and the executors that read them.

Arguments: a store. Executors get this module's functions from the driver; they have no copy of it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession


def rows_of(session: SparkSession, store: str) -> DataFrame:
    """Each message as one JSON object, in many tasks."""
    options = {"columns": "*", "minPartitions": "8"}
    return session.read.format("rocketmq").options(**options).load(store).selectExpr("to_json(struct(*)) AS row")


def _marked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows with their executor's folder and kernel; the task that reads them also runs this."""
    import rocketwire.native

    for batch in batches:
        marks = (str(Path.cwd()), "native" if rocketwire.native.kernel else "python")
        columns = [batch.column(0), *(pa.array([mark] * batch.num_rows) for mark in marks)]
        yield pa.record_batch(columns, ["row", "executor", "kernel"])


def main() -> None:
    session = SparkSession.builder.getOrCreate()
    found = rows_of(session, sys.argv[1]).mapInArrow(_marked, "row string, executor string, kernel string").collect()
    told = {
        "rows": sorted(row.row for row in found),
        "executors": sorted({row.executor for row in found}),
        "kernels": sorted({row.kernel for row in found}),
    }
    print(json.dumps(told))
    session.stop()


if __name__ == "__main__":
    main()
