"""The Spark that Delta's jar runs with, beside the one of the tests: Delta follows Spark by some months."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from rocketwire.compat.environment.cache import cached
from rocketwire.spark.importing import DELTA_SETTINGS
from tests.server.processes import ROOT

VERSION: Final = "4.2.0"
PACKAGE: Final = "io.delta:delta-spark_4.2_2.13:4.4.0"
SETTINGS: Final = {
    "spark.jars.packages": PACKAGE,
    "spark.databricks.delta.snapshotPartitions": "1",  # of 50 tasks each, for tables of any size
    **DELTA_SETTINGS,
}
"""What a session needs for Delta; the jar comes from Maven's repository."""


def environment() -> dict[str, str]:
    """Variables by which this Python runs that Spark; it is fetched, 400 MB, the first time."""
    return {"PYTHONPATH": os.pathsep.join((str(cached(f"pyspark-{VERSION}", _fetch)), str(ROOT)))}


def _fetch(target: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--target", str(target)]
    subprocess.run([*command, f"pyspark=={VERSION}"], check=True)
