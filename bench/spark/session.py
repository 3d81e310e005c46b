"""A Spark session of this machine, for the benchmark and the tests: two tasks at a time, times in UTC."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pyspark.sql import SparkSession

LOOPBACK = "127.0.0.1"


@contextmanager
def session(
    folder: Path, *, jars: Sequence[Path] = (), more: Mapping[str, str] = MappingProxyType({})
) -> Iterator[SparkSession]:
    """A separate session, with a JVM, which ends with it.

    Args:
        folder: for its temporary files.
        jars: on its class path; that of the data source takes the place of the Python source.
        more: settings in place of these, or besides.
    """
    settings = {
        "spark.driver.bindAddress": LOOPBACK,
        "spark.driver.host": LOOPBACK,
        "spark.driver.memory": "1g",
        "spark.local.dir": str(folder),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **more,
    }
    if jars:
        settings["spark.jars"] = ",".join(map(str, jars))
    saved = dict(os.environ)
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": LOOPBACK}
    try:
        builder: Any = SparkSession.builder
        for key, value in settings.items():
            builder = builder.config(key, value)
        started: SparkSession = builder.master("local[2]").appName("rocketwire").getOrCreate()
        started.sparkContext.setLogLevel("ERROR")
        try:
            yield started
        finally:
            stop(started)
    finally:
        os.environ.clear()
        os.environ.update(saved)


def stop(started: SparkSession) -> None:
    """Stop Spark, and wait for the end of its JVM, which `stop` alone would leave until this process ends."""
    context: Any = started.sparkContext
    gateway = context._gateway  # noqa: SLF001 - the JVM is known there alone
    started.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(timeout=60)
    type(context)._gateway = type(context)._jvm = None  # noqa: SLF001 - else the next session uses the ended JVM
