"""Starts a Spark session that reads RocketMQ: with this Python, and with the jar if the installation has it."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log: Final = logging.getLogger("rocketwire.spark")
_NAME: Final = "rocketwire-spark.jar"
_JARS: Final = "spark.jars"


def jar() -> Path | None:
    """The jar of the data source: that of the installed package, or of a clone where it was built; None without one."""
    here = Path(__file__).resolve().parent
    places = (here / _NAME, here.parent / "java" / "spark" / "target" / _NAME)
    return next((path for path in places if path.is_file()), None)


def session(settings: Mapping[str, str] | None = None, *, with_jar: bool = True) -> SparkSession:
    """The running session, or a new one that reads stores with the jar, if there is one, and else with Python.

    The jar prunes columns and pushes filters and counts down; what it leaves to Python (endpoints, writes, URLs, the
    table of queues) works as without it. PYSPARK_PYTHON becomes this Python, unless it is set.

    Args:
        settings: Spark's, as `{"spark.master": "local[4]"}`; their `spark.jars` are kept.
        with_jar: False for the Python source alone.
    """
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    found = jar() if with_jar else None
    running = SparkSession.getActiveSession()
    if running is not None:
        if found is not None and str(found) not in (running.conf.get(_JARS, "") or ""):
            log.warning("the session that runs was started without %s: Python reads stores in it", found)
        return running
    conf = SparkConf().setAll([*(settings or {}).items()])
    if found is not None:
        conf.set(_JARS, ",".join(filter(None, [conf.get(_JARS, ""), str(found)])))
    return SparkSession.builder.config(conf=conf).getOrCreate()
