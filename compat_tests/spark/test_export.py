"""Exports by a real Spark: the files hold what the data source reads, whatever happens to the exporting processes."""

from __future__ import annotations

import contextlib
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody names it

from bench.wide_store import WideStore
from compat_tests.spark.export_job import bar
from rocketwire.spark.export import export
from rocketwire.spark.request.option_parsing import read_options
from tools import demo_store

ROOT = Path(__file__).resolve().parents[2]
_WITHIN = 400.0


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("export") / "store"
    demo_store.make(root, np.random.default_rng(3), messages=6_000)
    return root


@contextlib.contextmanager
def texts(spark: SparkSession) -> Iterator[None]:
    """Topics are texts, though they may look like numbers."""
    name = "spark.sql.sources.partitionColumnTypeInference.enabled"
    spark.conf.set(name, "false")
    try:
        yield
    finally:
        spark.conf.unset(name)


def same(spark: SparkSession, store: Path, to: Path, *, hidden: bool) -> int:
    """Compare all columns of all messages, by the sum of their hashes; how many messages there are."""
    source = spark.read.format("rocketmq").option("columns", "*").option("includeSystemTopics", str(hidden))
    messages = source.load(str(store)).withColumn("day", F.date_format("store_timestamp", "yyyy-MM-dd"))
    with texts(spark):
        files = spark.read.parquet(str(to)).select(*messages.columns)
        found, expected = (
            frame.withColumn("properties", F.array_sort(F.map_entries("properties")))
            .agg(F.count("*"), F.sum(F.xxhash64(*messages.columns).cast("decimal(38,0)")))
            .collect()[0]
            for frame in (files, messages)
        )
    assert tuple(found) == tuple(expected)
    return int(found[0])


def test_the_files_hold_what_the_source_reads(spark: SparkSession, store: Path, tmp_path: Path) -> None:
    options = read_options({"path": str(store), "columns": "*"})
    done = export(lambda: spark, options, str(tmp_path / "to"), bar=bar)
    assert same(spark, store, tmp_path / "to", hidden=False) == done.messages == 6_000
    assert export(lambda: spark, options, str(tmp_path / "to"), bar=bar).messages == 0


def test_killed_exports_lose_and_double_nothing(spark: SparkSession, store: Path, tmp_path: Path) -> None:
    chance = random.Random(5)
    to = tmp_path / "to"
    for kill in range(2):
        command = [sys.executable, "-m", "compat_tests.spark.export_job", str(store), str(to)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as job:
            assert job.stdout is not None
            total = int(job.stdout.readline())
            assert total > 0
            job.stdout.readline()
            time.sleep(chance.uniform(0, 0.5))
            job.kill()
        with texts(spark):
            found = spark.read.parquet(str(to))
        count, distinct = found.agg(F.count("*"), F.count_distinct("physical_offset")).collect()[0]
        assert 0 < count == distinct, kill
    command = [sys.executable, "-m", "rocketwire", "spark", "export", str(store), "--to", str(to), "--all-topics"]
    done = subprocess.run(
        [*command, "--master", "local[2]"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=_WITHIN
    )
    # On a busy machine the program prints, after two seconds, what is being read.
    assert done.returncode == 0
    assert re.fullmatch(r"(rocketwire: reading [\d,]+ bytes …\n)*", done.stderr)
    assert "messages exported; files: " in done.stdout
    assert same(spark, store, to, hidden=True) > 6_000
    assert {path.name for path in (to / "_rocketwire").iterdir()} == {"done.json", "lock", "spark.log"}


def test_spark_reads_the_table_of_queues(spark: SparkSession, tmp_path: Path) -> None:
    WideStore(topics=40, queues=50, messages=100, log_files=100).make(tmp_path / "store")
    queues = (
        spark.read.format("rocketmq").option("table", "queues").option("columns", "*").load(str(tmp_path / "store"))
    )
    row = queues.agg(
        F.count("*"),
        F.sum("messages"),
        F.sum("bytes"),
        F.sum(F.col("lags")["group-3"]),
        F.countDistinct("topic"),
        F.min("first_store_time") < F.min("last_store_time"),
    ).collect()[0]
    assert tuple(row) == (2000, 200_000, 2000 * sum(200 + n % 100 for n in range(100)), 6000, 40, True)
