"""A session of Spark has the data source after `pip install rocketwire[spark]`, without further configuration."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

import rocketwire
from tests.store.support import Golden


def test_the_source_is_found_without_a_registration(spark: SparkSession) -> None:
    with pytest.raises(PySparkException) as raised:  # with an unknown format: DATA_SOURCE_NOT_FOUND
        spark.read.format("rocketmq").load("/nowhere").count()
    assert raised.value.getCondition() == "PYTHON_DATA_SOURCE_ERROR"


def test_without_the_jar_a_column_that_is_not_named_is_an_error_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    # Spark resolves names by the schema, before it calls the source: the source cannot name the option.
    store = str(Golden("4.9.7", tmp_path).untouched)
    default = spark.read.format("rocketmq").load(store)
    with pytest.raises(AnalysisException) as raised:
        default.select("keys")
    assert raised.value.getCondition() == "UNRESOLVED_COLUMN.WITH_SUGGESTION"
    named = spark.read.format("rocketmq").option("columns", "keys").load(store)
    assert named.select("keys").count() == default.count() > 0


def test_the_workers_are_of_this_python_and_have_this_code(spark: SparkSession) -> None:
    def of_worker(_: int) -> tuple[str, str]:
        import rocketwire.spark

        return sys.executable, rocketwire.spark.__file__ or ""

    assert spark.sparkContext.parallelize([0], 1).map(of_worker).collect() == [
        (sys.executable, str(Path(rocketwire.__file__).parent / "spark" / "__init__.py"))
    ]
