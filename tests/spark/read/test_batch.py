"""Whole stores, of Apache's brokers and of ours, as rows."""

from __future__ import annotations

import hashlib
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.datasource import DataSourceReader, EqualTo, InputPartition
from pyspark.sql.types import LongType, StringType, StructField, StructType

from rocketwire.spark.request.options import is_hidden
from tests.spark.reads import Read, keyed, read
from tests.store.support import Golden, row_of

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def of_expected(line: dict[str, Any]) -> dict[str, Any]:
    """The columns of a row, from a line of expected.jsonl."""
    times = ("born_timestamp", "store_timestamp")
    row = row_of(line)
    return row | {name: EPOCH + timedelta(milliseconds=row[name]) for name in times}


def check(root: Path, rows: list[dict[str, Any]], lines: list[dict[str, Any]]) -> None:
    found = keyed(rows)
    assert len(found) == len(lines)
    for line in lines:
        row = found[str(root), line["physicalOffset"]]
        body = row.pop("body")
        assert (len(body), hashlib.sha256(body).hexdigest()) == (line["bodyLength"], line["bodySha256"])
        row["properties"] = dict(row["properties"])
        assert row.pop("broker") == str(root)
        assert row.pop("file") == f"{root}/commitlog/{line['file']}"
        assert row == of_expected(line)


def test_a_golden_store_has_the_rows_that_apache_reads(golden: Golden) -> None:
    root = golden.untouched
    lines = [line for line in golden.lines("expected.jsonl") if line["type"] == "message"]
    check(root, read(root, columns="*", includeSystemTopics=True), lines)


def test_without_consume_queues_and_with_they_are_the_same(golden: Golden, tmp_path: Path) -> None:
    root = golden.copy(tmp_path)
    # What a deleted topic left in the log, no queue leads to.
    lines = [
        line for line in golden.lines("expected.jsonl") if line["type"] == "message" and line["topic"] != "GoldenDel"
    ]
    topics = ",".join({line["topic"] for line in lines})
    by_queues = Read(root, columns="*", topics=topics, maxBytesPerPartition="64k")
    assert len(by_queues.partitions) > 3
    check(root, by_queues.rows(), lines)
    shutil.rmtree(root / "consumequeue")
    check(root, read(root, columns="*", topics=topics), lines)


def test_spark_sees_no_pushdown_where_it_refuses_one(golden: Golden) -> None:
    """As plan_data_source_read checks it: with push-down off, a reader that has its own `pushFilters` is an error."""
    reader: Any = Read(golden.untouched, pushFilters="true").reader
    assert reader.pushFilters.__func__ is DataSourceReader.pushFilters
    filters = [EqualTo(("topic",), "GoldenNormal")]
    assert reader.pushFilters(filters) == filters
    assert reader.request.narrowed.topics == frozenset({"GoldenNormal"})


def test_a_plan_without_tasks_has_no_rows(golden: Golden) -> None:
    found = Read(golden.untouched, startingOffsets="latest")
    assert found.partitions == []
    # What Spark makes of that.
    assert list(found.reader.read(InputPartition(None))) == []


def test_a_schema_of_the_users_narrows_the_columns(golden: Golden) -> None:
    schema = StructType([StructField("tags", StringType()), StructField("queue_offset", LongType())])
    rows = Read(golden.untouched, schema=schema, topic="GoldenNormal").rows()
    assert rows
    assert all(row.keys() == {"tags", "queue_offset"} for row in rows)


def test_hidden_topics(golden: Golden) -> None:
    lines = [line for line in golden.lines("expected.jsonl") if line["type"] == "message"]
    for options in ({}, {"columns": "topic,store_timestamp"}):
        found = {row["topic"] for row in read(golden.untouched, **options)}
        assert {topic for topic in found if is_hidden(topic)} == set()
        assert found <= {line["topic"] for line in lines}
    retried = [line for line in lines if line["topic"] == "%RETRY%golden_cg_retry"]
    assert len(read(golden.untouched, topic="%RETRY%golden_cg_retry")) == len(retried) > 0


@pytest.mark.parametrize("columns", ["topic", "queue_id,queue_offset,physical_offset,store_size,broker,file,topic"])
def test_columns_of_queues_have_the_same_values_without_the_log(golden: Golden, columns: str) -> None:
    names = columns.split(",")
    every = read(golden.untouched, columns="*")
    deleted = [row for row in every if row["topic"] == "GoldenDel"]  # no queue leads to it

    def key(row: dict[str, Any]) -> str:
        return str([row[name] for name in names])

    found = read(golden.untouched, columns=columns)
    assert sorted(map(key, found)) == sorted(key(row) for row in every if row not in deleted)
