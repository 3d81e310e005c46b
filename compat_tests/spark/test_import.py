"""Rows of Parquet files become messages; a checkpoint knows which ones were sent."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rocketwire.spark.errors import OptionInvalid, WriteUnsupported
from rocketwire.spark.importing import TableSource, import_rows
from rocketwire.testing import endpoint


def test_rows_become_messages(spark: SparkSession, tmp_path: Path) -> None:
    table, state = str(tmp_path / "table"), str(tmp_path / "state")

    def add(first: int, end: int) -> None:
        spark.range(first, end, numPartitions=2).selectExpr(
            "concat('T', id % 2) topic",
            "cast(id as string) body",
            "'x' tags",
            "array(concat('k', id)) keys",
            "map('a', 'b', 'UNIQ_KEY', 'old') properties",
            "7 queue_id",
            "current_timestamp() store_timestamp",
        ).write.mode("append").partitionBy("topic").parquet(table)

    add(0, 20)
    with endpoint(topics=["T0", "T1", "All"]) as ep:
        target = {"namesrv": ep.namesrv}
        assert import_rows(spark, TableSource(path=table), target, state) == 20
        assert import_rows(spark, TableSource(path=table), target, state) == 0
        add(20, 30)
        assert import_rows(spark, TableSource(path=table, options={"maxFilesPerTrigger": "1"}), target, state) == 10
        found = [message for topic in ("T0", "T1") for message in ep.receive(topic, count=15)]
        assert sorted(int(message.body) for message in found) == list(range(30))
        assert {(message.tags, message.properties["a"]) for message in found} == {("x", "b")}
        assert all(message.keys == (f"k{int(message.body)}",) for message in found)
        made = TableSource(path=table, select=["'All' topic", "to_json(struct(tags)) body"])
        assert import_rows(spark, made, target, str(tmp_path / "other")) == 30
        assert ep.receive("All", count=30)[0].body == b'{"tags":"x"}'
    spark.range(1).write.parquet(str(tmp_path / "none"))
    with pytest.raises(OptionInvalid, match="no column body"):
        import_rows(spark, TableSource(path=str(tmp_path / "none")), target, state)
    with pytest.raises(WriteUnsupported, match="no column other"):
        import_rows(spark, TableSource(path=table, select=["body", "1 other"]), target, state)
