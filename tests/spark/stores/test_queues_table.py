"""The table of queues: the same as `rocketwire store list` finds, options, and errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import LongType, StringType, StructField, StructType

from bench.wide_store import FIRST_STORED, WideStore
from rocketwire.spark.errors import NotAStore, OptionInvalid, SparkSourceError, TopicUnknown
from rocketwire.spark.stores.queues_table import COLUMNS, DEFAULT_COLUMNS, QueuesReader, schema
from rocketwire.store.offline.plan.summary import queue_summaries
from rocketwire.store.offline.read.directory import discover
from tests.store.support import draft, open_store, remove_log_file, small


def table(*roots: Path, **options: str) -> list[dict[str, Any]]:
    given = {"path": ",".join(map(str, roots)), "table": "queues", **options}
    reader = QueuesReader(given, schema(given))
    rows = []
    partitions: list[InputPartition] = [*reader.partitions()]
    for partition in partitions or [InputPartition(None)]:  # Spark's own
        for batch in reader.read(partition):
            assert batch.schema.names == list(reader.columns)
            rows += batch.to_pylist()
    return rows


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two topics, of one of which the log has lost the first messages; a retry topic; a group that is behind."""
    root = tmp_path / "store"
    opened = open_store(small(root))
    for number in range(60):
        opened.append([draft(number, topic="Orders", queue_id=number % 2)])
    opened.append([draft(60, topic="Other"), draft(61, topic="%RETRY%g")])
    remove_log_file(opened)
    opened.close()
    offsets = {"Orders@g": {"0": 25, "1": 99}, "Orders@h": {"1": 0}, "Gone@g": {"0": 3}}
    (root / "config").mkdir(exist_ok=True)
    (root / "config" / "consumerOffset.json").write_text(json.dumps({"offsetTable": offsets}), encoding="utf-8")
    return root


def test_without_a_queue_it_is_empty(store: Path, tmp_path: Path) -> None:
    open_store(small(tmp_path / "new")).close()
    assert table(tmp_path / "new") == table(store, topicPattern="None.*") == table(store, queues="7") == []


def test_it_has_the_figures_of_store_list(store: Path) -> None:
    rows = table(store, columns="*", includeSystemTopics="true")
    names = ("topic", "queue_id", "min_offset", "max_offset", "messages", "bytes")
    expected = list(queue_summaries(discover(str(store))))
    assert len(expected) == 4
    assert [tuple(row[name] for name in names) for row in rows] == [
        tuple(getattr(one, name) for name in names) for one in expected
    ]
    for name in ("first_store_time", "last_store_time"):
        assert [row[name].timestamp() * 1000 for row in rows] == [getattr(one, name) for one in expected]
    assert {row["broker"] for row in rows} == {str(store)}
    assert [row["queue_file_count"] for row in rows] == [1, 2, 2, 1]


def test_groups_that_committed_have_lags(store: Path) -> None:
    lags = {(row["topic"], row["queue_id"]): dict(row["lags"]) for row in table(store)}
    # An offset behind the queue's end is no lag.
    assert lags == {("Orders", 0): {"g": 5}, ("Orders", 1): {"g": 0, "h": 30}, ("Other", 0): {}}


def test_the_default_columns_read_neither_entries_nor_log(store: Path) -> None:
    for file in (store / "commitlog").iterdir():
        file.chmod(0)
    assert (
        set(table(store)[0])
        == set(DEFAULT_COLUMNS)
        == set(COLUMNS)
        - {
            "bytes",
            "first_store_time",
            "last_store_time",
        }
    )


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({}, [("Orders", 0), ("Orders", 1), ("Other", 0)]),
        ({"includeSystemTopics": "true"}, [("%RETRY%g", 0), ("Orders", 0), ("Orders", 1), ("Other", 0)]),
        ({"topic": "%RETRY%g"}, [("%RETRY%g", 0)]),
        ({"topicPattern": "O.*", "queues": "0"}, [("Orders", 0), ("Other", 0)]),
    ],
)
def test_topics_and_queues_are_chosen_as_those_of_messages(store: Path, options: dict[str, str], found: object) -> None:
    assert [(row["topic"], row["queue_id"]) for row in table(store, **options)] == found


def test_stores_are_brokers(store: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    opened = open_store(small(other))
    opened.append([draft()])
    opened.close()
    rows = table(store, other, brokers=json.dumps({str(other): "broker-b"}), columns="broker,topic")
    assert rows[-1] == {"broker": "broker-b", "topic": "T"}
    assert {row["broker"] for row in rows} == {str(store), "broker-b"}


def test_an_empty_queue_has_no_times(tmp_path: Path) -> None:
    opened = open_store(small(tmp_path / "store"))
    opened.append([draft(number) for number in range(10)])
    opened.close()
    log = tmp_path / "store" / "commitlog"
    for file in log.iterdir():
        file.unlink()
    (log / f"{1 << 20:020d}").write_bytes(bytes(4096))
    (row,) = table(tmp_path / "store", columns="*")
    assert (row["min_offset"], row["max_offset"], row["messages"], row["bytes"]) == (10, 10, 0, 0)
    assert row["first_store_time"] is row["last_store_time"] is None


@pytest.mark.parametrize(
    ("options", "error", "what"),
    [
        ({"columns": "topic,bodi"}, OptionInvalid, "bodi"),
        ({"columns": "lagz"}, OptionInvalid, "Did you mean lags"),
        ({"startingOffsets": "earliest"}, OptionInvalid, "startingOffsets"),
        ({"topic": "Order"}, TopicUnknown, "Did you mean Orders"),
    ],
)
def test_unsupported_options_are_errors(
    store: Path, options: dict[str, str], error: type[SparkSourceError], what: str
) -> None:
    with pytest.raises(error, match=what):
        table(store, **options)


def test_a_schema_of_the_users_must_fit(store: Path) -> None:
    given = {"path": str(store), "table": "queues"}
    QueuesReader(given, StructType([StructField("messages", LongType())]))
    with pytest.raises(OptionInvalid, match="messages of type string"):
        QueuesReader(given, StructType([StructField("messages", StringType())]))
    with pytest.raises(OptionInvalid, match="messages of type bigint NOT NULL"):
        QueuesReader(given, StructType([StructField("messages", LongType(), nullable=False)]))
    with pytest.raises(OptionInvalid, match="the column messages twice"):
        QueuesReader(given, StructType([StructField("messages", LongType())] * 2))


def test_a_folder_that_is_no_store_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NotAStore):
        table(tmp_path)


def test_a_wide_store_is_read_in_several_partitions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocketwire.spark.stores.queues_table._PER_PARTITION", 7)
    WideStore(topics=5, queues=4, messages=300, log_files=2, groups=2).make(tmp_path / "store")
    given = {"path": str(tmp_path / "store"), "table": "queues", "columns": "*"}
    reader = QueuesReader(given, schema(given))
    partitions = reader.partitions()
    assert [len(partition.queues) for partition in partitions] == [7, 7, 6]
    rows = [row for partition in partitions for batch in reader.read(partition) for row in batch.to_pylist()]
    assert sum(row["messages"] for row in rows) == 20 * 300
    assert {row["bytes"] for row in rows} == {sum(200 + number % 100 for number in range(300))}
    assert all(dict(row["lags"]) == {"group-0": 0, "group-1": 1} for row in rows)
    assert min(row["first_store_time"].timestamp() * 1000 for row in rows) == FIRST_STORED
