"""The Spark session that all tests here share; it starts with the first test that asks for it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

from rocketwire.compat.brokers.ports import LOOPBACK

#: Less time for compilers and collectors: tests are short, and two cores are busy.
_JAVA: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Spark with two tasks at a time, times in UTC; it stays on loopback and keeps its files in a temporary folder.

    Settings that can change while it runs belong to the test that changes them: it puts them back.
    """
    folder = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.driver.bindAddress": LOOPBACK,
        "spark.driver.host": LOOPBACK,
        "spark.driver.memory": "768m",
        "spark.driver.extraJavaOptions": f"{_JAVA} -Djava.io.tmpdir={folder}",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)  # else the python3 of PATH
        patch.setenv("SPARK_LOCAL_IP", LOOPBACK)
        builder = SparkSession.builder.master("local[2]").appName("rocketwire")
        for key, value in settings.items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
        try:
            yield session
        finally:
            _stop(session)


def _stop(session: SparkSession) -> None:
    """Stop Spark and wait for the end of its JVM, which `stop` alone would leave until this process ends."""
    gateway: Any = session.sparkContext._gateway  # noqa: SLF001 (the JVM is known there alone)
    session.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(timeout=60)
