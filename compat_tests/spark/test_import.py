"""Rows of Parquet files and Iceberg tables become messages; a checkpoint knows which ones were sent."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
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


def test_rows_of_an_iceberg_table_become_messages(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyiceberg.catalog import load_catalog

    places = {"type": "sql", "uri": f"sqlite:///{tmp_path / 'catalog.db'}", "warehouse": f"file://{tmp_path / 'wh'}"}
    # pyiceberg reads its configuration when it is imported.
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG.config", {"catalog": {"lake": places}})
    catalog = load_catalog("lake")
    catalog.create_namespace("shop")
    columns = pa.schema(
        [
            ("order", pa.int64()),
            ("body", pa.binary()),
            ("keys", pa.list_(pa.string())),
            ("properties", pa.map_(pa.string(), pa.string())),
            ("at", pa.timestamp("us", "UTC")),
        ]
    )
    table = catalog.create_table("shop.orders", schema=columns)

    def add(first: int, end: int) -> None:
        made = [
            {"order": n, "body": b"%d" % n, "keys": [f"k{n}"], "properties": [("a", "b")], "at": n}
            for n in range(first, end)
        ]
        table.append(pa.Table.from_pylist(made, schema=columns))

    for first in range(0, 20, 10):
        add(first, first + 10)
    state = str(tmp_path / "state")
    with endpoint(topics=["Orders", "All"]) as ep:
        source = TableSource(path="shop.orders", format="iceberg", catalog="lake")
        target = {"namesrv": ep.namesrv, "topic": "Orders"}
        assert import_rows(spark, source, target, state) == 20
        assert import_rows(spark, source, target, state) == 0
        add(20, 25)
        assert import_rows(spark, source, target, state) == 5
        found = ep.receive("Orders", count=25)
        assert sorted(int(message.body) for message in found) == list(range(25))
        assert all(message.keys == (f"k{int(message.body)}",) for message in found)
        assert {message.properties["a"] for message in found} == {"b"}
        made = TableSource(
            path="shop.orders",
            format="iceberg",
            catalog="lake",
            select=["'All' topic", "to_json(struct(order, at)) body"],
        )
        assert import_rows(spark, made, {"namesrv": ep.namesrv}, str(tmp_path / "other")) == 25
        assert sum(b'"order":' in message.body for message in ep.receive("All", count=25)) == 25
        none = TableSource(path="shop.orders", format="iceberg", catalog="lake", select=["order body"])
        with pytest.raises(WriteUnsupported):
            import_rows(spark, none, target, str(tmp_path / "wrong"))
