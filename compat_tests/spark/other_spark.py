"""Versions of Spark beside the one of the tests, for processes that run with them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from rocketwire.compat.environment.cache import cached
from tests.server.processes import ROOT


def environment(version: str) -> dict[str, str]:
    """Variables by which this Python runs that Spark; it is fetched, 300 to 400 MB, the first time."""

    def fetch(target: Path) -> None:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--target", str(target)]
        subprocess.run([*command, f"pyspark=={version}"], check=True)

    return {"PYTHONPATH": os.pathsep.join((str(cached(f"pyspark-{version}", fetch)), str(ROOT)))}
