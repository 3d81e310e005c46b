"""The Spark session that all tests here share; it starts with the first test that uses it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from pyspark.sql import SparkSession

from bench.spark.session import session
from compat_tests.spark import reference
from tools import build_spark_jar

#: Less time for compilers and collectors: tests are short, and two cores are busy.
_JAVA: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@pytest.fixture(scope="session")
def jar_without_a_name(tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    """The jar without its registration: `rocketmq` is the Python source, and the jar's is named by its class.

    With a Spark that has no Python source for us it keeps the name. None where there is no Maven to build it.
    """
    try:
        if not reference.IS_HERE:
            return build_spark_jar.build()
        return build_spark_jar.unnamed(tmp_path_factory.mktemp("jar") / "unnamed.jar")
    except build_spark_jar.BuildFailed:
        return None


@pytest.fixture(scope="session")
def jar(jar_without_a_name: Path | None) -> Path:
    """The jar in the session; tests that need it are skipped where it cannot be built."""
    if jar_without_a_name is None:
        pytest.skip("Maven, which builds the jar, is not here")
    return jar_without_a_name


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory, jar_without_a_name: Path | None) -> Iterator[SparkSession]:
    """Spark with two tasks at a time, times in UTC; it stays on loopback and keeps its files in a temporary folder.

    Settings that can change while it runs belong to the test that changes them: it puts them back.
    """
    folder = tmp_path_factory.mktemp("spark")
    more = {"spark.driver.memory": "768m", "spark.driver.extraJavaOptions": f"{_JAVA} -Djava.io.tmpdir={folder}"}
    with session(folder, jars=[] if jar_without_a_name is None else [jar_without_a_name], more=more) as started:
        yield started
