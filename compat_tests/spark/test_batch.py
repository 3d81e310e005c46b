"""Stores of Apache's brokers in a real Spark: `spark.read.format("rocketmq").load(path)`, and SQL over it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from tests.store.support import Golden, row_of

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Store:
    def __init__(self, version: str, folder: Path) -> None:
        golden = Golden(version, folder)
        self.path = golden.untouched
        self.lines = [line for line in golden.lines("expected.jsonl") if line["type"] == "message"]

    def of(self, topic: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["topic"] == topic]


@pytest.fixture(scope="module", params=["4.9.7", "5.5.0"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(request.param, tmp_path_factory.mktemp("golden"))


@pytest.fixture(scope="module")
def newest(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store("5.5.0", tmp_path_factory.mktemp("golden"))


@pytest.fixture(params=["true", "false"])
def either(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[SparkSession]:
    """Spark with filters pushed down, and without."""
    spark.conf.set(PUSHDOWN, request.param)
    yield spark
    spark.conf.unset(PUSHDOWN)


def frame(spark: SparkSession, path: Path | str, **options: str | bool) -> DataFrame:
    return spark.read.format("rocketmq").options(**options).load(str(path))


def ms(time: datetime) -> int:
    return round((time.replace(tzinfo=UTC) - EPOCH) / timedelta(milliseconds=1))


def test_all_columns_of_all_messages(spark: SparkSession, store: Store) -> None:
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    found = frame(spark, store.path, columns="*", includeSystemTopics=True, maxBytesPerPartition="200k")
    times = {name: fn.unix_millis(name).alias(name) for name in ("born_timestamp", "store_timestamp")}
    rows = {
        row["physical_offset"]: row for row in found.select(*(times.get(c, fn.col(c)) for c in found.columns)).collect()
    }
    assert len(rows) == len(store.lines)
    for line in store.lines:
        row = rows[line["physicalOffset"]].asDict()
        body = bytes(row.pop("body"))
        assert (len(body), hashlib.sha256(body).hexdigest()) == (line["bodyLength"], line["bodySha256"])
        place = {"broker": str(store.path), "file": f"{store.path}/commitlog/{line['file']}"}
        assert row == row_of(line) | place


def test_counts_and_groups(either: SparkSession, newest: Store) -> None:
    found = frame(either, newest.path, columns="topic,queue_id", includeSystemTopics=True)
    counted = Counter(line["topic"] for line in newest.lines if line["topic"] != "GoldenDel")
    grouped = {row["topic"]: row["count"] for row in found.groupBy("topic").count().collect()}
    assert grouped == counted
    assert found.count() == counted.total()


def test_sql(either: SparkSession, newest: Store) -> None:
    frame(either, newest.path, columns="*").createOrReplaceTempView("messages")
    tagged = either.sql(
        "select queue_offset, size(keys) as keys, properties['UNIQ_KEY'] = message_id as same, length(body) as length"
        " from messages where topic = 'GoldenNormal' and queue_id in (0, 2) order by queue_id, queue_offset"
    )
    lines = sorted(
        (line for line in newest.of("GoldenNormal") if line["queueId"] in (0, 2)),
        key=lambda line: (line["queueId"], line["queueOffset"]),
    )
    assert [(row["queue_offset"], row["length"]) for row in tagged.collect()] == [
        (line["queueOffset"], line["bodyLength"]) for line in lines
    ]
    assert lines


def test_filters_let_pass_what_they_should(spark: SparkSession, newest: Store) -> None:
    """With push-down each reads other files; Spark filters the rows again."""
    one = newest.of("GoldenNormal")[5]
    time, message_id, offset_id = one["storeTimestamp"], one["msgId"], one["offsetMsgId"]
    conditions: dict[str, Callable[[dict[str, Any]], bool]] = {
        "topic = 'GoldenNormal' and queue_offset >= 3 and queue_offset < 7": lambda line: (
            line["topic"] == "GoldenNormal" and 3 <= line["queueOffset"] < 7
        ),
        "topic <=> 'GoldenOrder' and queue_id = 1": lambda line: (line["topic"], line["queueId"]) == ("GoldenOrder", 1),
        f"tags = '{one['tags']}'": lambda line: line["tags"] == one["tags"],
        "tags is null": lambda line: line["tags"] is None,
        f"store_timestamp > timestamp_millis({time})": lambda line: line["storeTimestamp"] > time,
        f"store_timestamp <= timestamp_millis({time}) and topic in ('GoldenNormal', 'GoldenKeys')": lambda line: (
            line["storeTimestamp"] <= time and line["topic"] in ("GoldenNormal", "GoldenKeys")
        ),
        f"message_id = '{message_id}'": lambda line: line["msgId"] == message_id,
        f"offset_message_id in ('{offset_id}', 'x')": lambda line: line["offsetMsgId"] == offset_id,
        f"message_id = '{message_id}' or topic = 'GoldenKeys'": lambda line: (
            line["msgId"] == message_id or line["topic"] == "GoldenKeys"
        ),
        "topic = 'unknown'": lambda _: False,
    }
    spark.conf.set(PUSHDOWN, "true")
    try:
        columns = "topic,queue_id,queue_offset,tags,store_timestamp,message_id,offset_message_id,physical_offset"
        for condition, passes in conditions.items():
            # One for each: Spark keeps the plan of a frame.
            found = frame(spark, newest.path, columns=columns, includeSystemTopics=True, pushFilters=True)
            places = [row[0] for row in found.where(condition).select("physical_offset").collect()]
            assert sorted(places) == [line["physicalOffset"] for line in newest.lines if passes(line)], condition
    finally:
        spark.conf.unset(PUSHDOWN)


def test_a_data_frame_that_is_used_more_than_once(either: SparkSession, newest: Store) -> None:
    """Spark makes one plan for all uses, by the last filters that it pushes: so these narrow nothing alone."""
    found = frame(either, newest.path, columns="topic,tags")
    normal, keys = (found.where(fn.col("topic") == topic) for topic in ("GoldenNormal", "GoldenKeys"))
    expected = {"GoldenNormal": len(newest.of("GoldenNormal")), "GoldenKeys": len(newest.of("GoldenKeys"))}
    both = normal.unionAll(keys).groupBy("topic").count().collect()
    assert {row["topic"]: row["count"] for row in both} == expected
    assert normal.count() == expected["GoldenNormal"]
    assert found.count() > sum(expected.values())


def test_options(spark: SparkSession, newest: Store) -> None:
    lines = [line for line in newest.of("GoldenNormal") if line["queueId"] == 0]
    found = frame(
        spark,
        newest.path,
        topic="GoldenNormal",
        startingOffsets='{"GoldenNormal": {"0": 2, "1": -1, "2": -1, "3": -1}}',
        columns="queue_offset,tags,body",
        brokers=json.dumps({str(newest.path): "golden"}),
    )
    assert found.columns == ["queue_offset", "tags", "body"]
    assert sorted(row["queue_offset"] for row in found.collect()) == [line["queueOffset"] for line in lines][2:]
    since = lines[3]["storeTimestamp"]
    later = frame(
        spark, newest.path, topics="GoldenNormal", queues="0", startingTimestamp=since, columns="queue_offset"
    )
    assert later.count() == len([line for line in lines if line["storeTimestamp"] >= since])
    assert spark.read.format("rocketmq").load([str(newest.path)]).count() > 0
    typed = spark.read.format("rocketmq").schema("body binary, topic string").load(str(newest.path))
    assert typed.where("topic = 'GoldenNormal'").count() == len(newest.of("GoldenNormal"))


def test_a_damaged_record(spark: SparkSession, newest: Store, tmp_path: Path) -> None:
    copy = tmp_path / "store"
    copy.symlink_to(newest.path)
    line = newest.of("GoldenNormal")[5]
    file = newest.path / "commitlog" / line["file"]
    place = line["physicalOffset"] - int(line["file"]) + 4
    with file.open("r+b") as opened:
        opened.seek(place)
        magic = opened.read(4)
        opened.seek(place)
        opened.write(b"oops")
    try:
        rows = frame(spark, copy, columns="*,_corrupt_record").where("_corrupt_record is not null").collect()
        assert [row["physical_offset"] for row in rows] == [line["physicalOffset"]]
        assert "magic number" in rows[0]["_corrupt_record"]
        with pytest.raises(PySparkException, match="ROCKETMQ_RECORD_MALFORMED"):
            frame(spark, copy, mode="FAILFAST").collect()
    finally:
        with file.open("r+b") as opened:
            opened.seek(place)
            opened.write(magic)


@pytest.mark.parametrize(
    ("path", "options", "texts"),
    [
        ("{tmp}/nothing", {}, ["ROCKETMQ_PATH_UNREADABLE", "{tmp}/nothing"]),
        ("{tmp}/file", {}, ["ROCKETMQ_NOT_A_STORE", "{tmp}/file", "storePathRootDir"]),
        ("{tmp}", {}, ["ROCKETMQ_NOT_A_STORE", "{tmp}"]),
        ("{store}", {"topc": "x"}, ["ROCKETMQ_OPTION_INVALID", "no option topc. Did you mean topic?"]),
        ("{store}", {"columns": "bdy"}, ["ROCKETMQ_OPTION_INVALID", "no column bdy", "Did you mean body?"]),
        ("{store}", {"topic": "GoldenNornal"}, ["ROCKETMQ_TOPIC_UNKNOWN", "Did you mean GoldenNormal?"]),
        ("{store}", {"topic": "GoldenNormal", "queues": "77"}, ["ROCKETMQ_TOPIC_UNKNOWN", "queue 77"]),
        (
            "{store}",
            {"startingOffsets": '{"GoldenNormal": {"0": 999999}}'},
            ["ROCKETMQ_DATA_LOST", "startingOffsets asks for 999999", "failOnDataLoss"],
        ),
    ],
)
def test_errors_as_a_user_sees_them(
    spark: SparkSession, newest: Store, tmp_path: Path, path: str, options: dict[str, str], texts: list[str]
) -> None:
    (tmp_path / "file").touch()
    names = {"tmp": tmp_path, "store": newest.path}
    with pytest.raises(PySparkException) as caught:
        frame(spark, path.format(**names), **options).count()
    for text in texts:
        assert text.format(**names) in str(caught.value)
