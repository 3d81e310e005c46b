"""Stores to Parquet files by topic and day: what `rocketwire spark export` does (docs/spark.md, Export).

The unit of work is a span of a commit log: bytes that never change. One task reads a span and writes its files, one a
topic and day, into a folder of the run; the driver takes what tasks have finished, moves the files to their places and
notes the span as done. So a run can be stopped at any point, and the next one does what is missing.
"""

from __future__ import annotations

from rocketwire.spark.export.exporting import Exported, export

__all__ = ["Exported", "export"]
