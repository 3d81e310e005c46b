"""Exports stores to Parquet files by topic and day, for `rocketwire spark export` (docs/spark-guide.md, Export).

The files may be those of a table of Delta or Iceberg, too.

The unit of work is a span of a commit log: bytes that never change. One task reads a span and writes its files, one a
topic and day, into a folder of the run; the driver collects finished spans, moves their files to their places and
records the span as done. So a run can be stopped at any point, and the next one does the rest.

Begin with `exporting`, the driver's part; `writing` is the task, `ledger` the state of the export.
May import: `request`, `stores`, `plan`, `read`; `store`, `wire`.
"""

from __future__ import annotations

from rocketwire.spark.export.exporting import ExportFormat, ExportResult, export

__all__ = ["ExportFormat", "ExportResult", "export"]
