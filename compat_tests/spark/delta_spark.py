"""What a session of Spark needs for Delta; `older_spark` has the Spark."""

from __future__ import annotations

from typing import Final

from rocketwire.spark.importing import DELTA_SETTINGS

PACKAGE: Final = "io.delta:delta-spark_4.2_2.13:4.4.0"
SETTINGS: Final = {
    "spark.jars.packages": PACKAGE,
    "spark.databricks.delta.snapshotPartitions": "1",  # of 50 tasks each, for tables of any size
    **DELTA_SETTINGS,
}
"""Settings; the jar comes from Maven's repository."""
