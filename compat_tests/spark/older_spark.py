"""An older Spark beside the one of the environment, for jars that follow Spark by some months: Delta's and Kafka's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from compat_tests.readme import ROOT
from rocketwire.compat.environment.cache import cached

VERSION: Final = "4.2.0"


def environment() -> dict[str, str]:
    """Variables by which this Python runs that Spark; it is fetched, 400 MB, the first time."""
    return {"PYTHONPATH": os.pathsep.join((str(cached(f"pyspark-{VERSION}", _fetch)), str(ROOT)))}


def _fetch(target: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--target", str(target)]
    subprocess.run([*command, f"pyspark=={VERSION}"], check=True)
