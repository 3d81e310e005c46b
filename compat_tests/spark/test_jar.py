"""The contract of both sources for stores: the jar (java/spark) gives the rows and errors of the Python source."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

from compat_tests.spark import reference
from compat_tests.spark.sources import (
    JAR,
    PLACES,
    WHOLE,
    Row,
    failed,
    frame,
    of_jar,
    of_python,
    plan_of,
    same,
    sorted_rows,
    streamed,
)
from rocketwire.spark.errors import SparkSourceError
from rocketwire.spark.schema import COLUMNS
from rocketwire.store.offline.columns.extend import extend
from rocketwire.store.offline.read.directory import discover
from rocketwire.store.store import MessageStore
from tests.spark.made import Made, fill, make
from tests.spark.records import records, stored
from tests.store.support import Clock, Golden, kill, open_store, small

pytestmark = pytest.mark.usefixtures("jar")


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("golden")
    return {version: Golden(version, folder).untouched for version in ("4.9.7", "5.5.0")}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return make(tmp_path_factory.mktemp("made") / "store", 100)


@pytest.fixture
def copied(made: Made, tmp_path: Path) -> Path:
    shutil.copytree(made.root, tmp_path / "store")
    return tmp_path / "store"


@pytest.mark.parametrize("version", ["4.9.7", "5.5.0"])
@pytest.mark.parametrize(
    "options",
    [
        {"columns": "*", "includeSystemTopics": True},
        {"columns": "*", "includeSystemTopics": True, "maxBytesPerPartition": "100k", "minPartitions": 3},
        {"columns": "*", "topicPattern": "Golden.*", "decompress": False, "verifyChecksums": False},
        {"columns": PLACES, "includeSystemTopics": True},
        {"columns": "body,keys", "topic": "GoldenNormal", "queues": "0,2", "maxBytesPerPartition": "2k"},
        {"columns": "*", "startingOffsets": '{"GoldenNormal": {"0": 3, "1": -1, "2": -2}}', "topic": "GoldenNormal"},
        {"columns": "*", "endingOffsets": '{"GoldenOrder": {"1": 2}}', "topics": "GoldenOrder,GoldenKeys"},
        {"columns": PLACES, "startingOffsets": "latest"},
    ],
)
def test_golden_stores(spark: SparkSession, golden: dict[str, Path], version: str, options: dict[str, Any]) -> None:
    same(spark, golden[version], **options)


def test_times(spark: SparkSession, golden: dict[str, Path]) -> None:
    store = golden["5.5.0"]
    times = sorted(row["store_timestamp"] // 1000 for row in of_python(store, columns="store_timestamp"))
    between = {"startingTimestamp": times[len(times) // 3], "endingTimestamp": times[2 * len(times) // 3]}
    assert 0 < same(spark, store, columns="*", **between) < len(times)
    same(spark, store, columns="*", topic="GoldenFill", **between)


def test_the_source_of_python_in_this_session(spark: SparkSession, golden: dict[str, Path]) -> None:
    options = {"columns": "*", "includeSystemTopics": "true"}
    python = spark.read.format("rocketmq").options(**options).load(str(golden["4.9.7"]))
    jar = frame(spark, golden["4.9.7"], **options)
    assert jar.schema == python.schema
    assert sorted_rows(of_jar(jar)) == sorted_rows(of_jar(python))


def test_all_columns_are_the_default_and_spark_prunes_them(spark: SparkSession, golden: dict[str, Path]) -> None:
    found = frame(spark, golden["5.5.0"])
    assert found.columns == list(COLUMNS)
    expected = of_python(golden["5.5.0"], columns="keys,topic")
    assert sorted_rows(of_jar(found.select("keys", "topic"))) == sorted_rows(expected)
    typed = spark.read.format(JAR).schema("tags string, body binary").load(str(golden["5.5.0"]))
    assert sorted_rows(of_jar(typed)) == sorted_rows(of_python(golden["5.5.0"], columns="tags,body"))


def test_filters(spark: SparkSession, golden: dict[str, Path]) -> None:
    rows = of_python(golden["5.5.0"], columns="*", includeSystemTopics=True)
    one = next(row for row in rows if row["topic"] == "GoldenNormal" and row["queue_offset"] == 2)
    time = one["store_timestamp"]
    conditions: dict[str, Callable[[Row], bool]] = {
        "topic = 'GoldenNormal' and queue_offset >= 3 and queue_offset < 7": lambda row: (
            row["topic"] == "GoldenNormal" and 3 <= row["queue_offset"] < 7
        ),
        "topic <=> 'GoldenOrder' and queue_id = 1": lambda row: (row["topic"], row["queue_id"]) == ("GoldenOrder", 1),
        "queue_offset in (1, 5)": lambda row: row["queue_offset"] in (1, 5),
        "queue_offset > 9223372036854775806": lambda _: False,
        "queue_id is not null and queue_id in (2, 3)": lambda row: row["queue_id"] in (2, 3),
        f"tags = '{one['tags']}'": lambda row: row["tags"] == one["tags"],
        "tags is null": lambda row: row["tags"] is None,
        f"store_timestamp > timestamp_micros({time})": lambda row: row["store_timestamp"] > time,
        f"store_timestamp <= timestamp_micros({time}) and topic in ('GoldenNormal', 'GoldenKeys')": lambda row: (
            row["store_timestamp"] <= time and row["topic"] in ("GoldenNormal", "GoldenKeys")
        ),
        f"message_id = '{one['message_id']}'": lambda row: row["message_id"] == one["message_id"],
        f"offset_message_id in ('{one['offset_message_id']}', 'x')": lambda row: (
            row["offset_message_id"] == one["offset_message_id"]
        ),
        f"message_id = '{one['message_id']}' or topic = 'GoldenKeys'": lambda row: (
            row["message_id"] == one["message_id"] or row["topic"] == "GoldenKeys"
        ),
        "array_contains(keys, 'k') or size(keys) > 1": lambda row: "k" in row["keys"] or len(row["keys"]) > 1,
        "topic = 'unknown'": lambda _: False,
    }
    found = frame(spark, golden["5.5.0"], includeSystemTopics=True)
    for condition, passes in conditions.items():
        expected = sorted(row["physical_offset"] for row in rows if passes(row))
        assert sorted(row[0] for row in found.where(condition).select("physical_offset").collect()) == expected, (
            condition
        )
        assert found.where(condition).count() == len(expected), condition


def test_counts_and_limits(spark: SparkSession, golden: dict[str, Path]) -> None:
    store = golden["5.5.0"]
    rows = of_python(store, columns=PLACES)
    found = frame(spark, store)
    assert found.count() == len(rows)
    counted = found.groupBy("topic", "queue_id").agg(
        fn.count("*").alias("n"), fn.min("queue_offset").alias("a"), fn.max("physical_offset").alias("z")
    )
    assert "aggregated from consume queues" in plan_of(counted)
    for row in counted.collect():
        own = [one for one in rows if (one["topic"], one["queue_id"]) == (row["topic"], row["queue_id"])]
        assert (row["n"], row["a"], row["z"]) == (
            len(own),
            min(one["queue_offset"] for one in own),
            max(one["physical_offset"] for one in own),
        )
    nothing = found.where("topic = 'unknown'").agg(fn.count("*"), fn.max("queue_offset")).collect()
    assert [tuple(row) for row in nothing] == [(0, None)]
    assert len(found.limit(7).collect()) == 7
    assert found.where("tags is null").limit(2).count() == 2
    assert found.agg(fn.count("tags")).collect()[0][0] == sum(
        row["tags"] is not None for row in of_python(store, columns="tags")
    )


@settings(max_examples=12, deadline=None, suppress_health_check=[*HealthCheck])
@given(fields=st.lists(records(), min_size=1, max_size=12))
def test_records_of_all_kinds(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, fields: list[dict[str, Any]]
) -> None:
    root = tmp_path_factory.mktemp("odd")
    (root / "commitlog").mkdir()
    (root / "commitlog" / f"{0:020d}").write_bytes(stored(fields).ljust(64 << 10, b"\0"))
    same(spark, root, columns=WHOLE, includeSystemTopics=True)
    same(spark, root, columns=WHOLE, decompress=False, verifyChecksums=False)


@pytest.mark.parametrize("way", [{}, {"topics": "T0,T1"}])
def test_damage_anywhere(spark: SparkSession, copied: Path, way: dict[str, Any]) -> None:
    chance = random.Random(7)
    logs = sorted((copied / "commitlog").iterdir())
    for number, content in enumerate([b"\1\2\3\4", bytes(300), b"\xda\xa3\x20\xa7" * 20, b"\x7f" * 9]):
        whole = [path.read_bytes() for path in logs]
        file = logs[number % 3]
        at = chance.randrange(3000)
        file.write_bytes(whole[number % 3][:at] + content + whole[number % 3][at + len(content) :])
        for size in ("2k", "128m"):
            options = {"columns": WHOLE, "failOnDataLoss": False, "maxBytesPerPartition": size, **way}
            same(spark, copied, **options)
        same(spark, copied, columns="*", mode="DROPMALFORMED", failOnDataLoss=False, **way)
        file.write_bytes(whole[number % 3])


@pytest.mark.parametrize("way", [{}, {"topics": "T0,T1"}])
def test_modes_of_damage(spark: SparkSession, made: Made, copied: Path, way: dict[str, Any]) -> None:
    place = made.messages[20]["physical_offset"] + 90  # of its body
    with (copied / "commitlog" / f"{place // 4096 * 4096:020d}").open("r+b") as file:
        file.seek(place % 4096)
        file.write(b"\xff")
    assert same(spark, copied, columns=WHOLE, **way) == 100
    assert same(spark, copied, columns="topic,body", mode="DROPMALFORMED", **way) == 99
    assert same(spark, copied, columns="topic,store_timestamp", mode="FAILFAST", **way) == 100
    with pytest.raises(SparkSourceError) as python:
        reference.read(copied, columns="body", mode="FAILFAST", **way)
    assert str(python.value) in failed(frame(spark, copied, columns="body", mode="FAILFAST", **way).collect)


def _without_its_last_log_file(root: Path) -> None:
    max(path for path in (root / "commitlog").iterdir() if any(path.read_bytes())).unlink()


def _without_a_log_file(root: Path) -> None:
    sorted((root / "commitlog").iterdir())[1].unlink()


def _without_queues(root: Path) -> None:
    shutil.rmtree(root / "consumequeue")


def _crashed(root: Path) -> None:
    (root / "abort").touch()


def _torn(root: Path) -> None:
    _crashed(root)
    last = max(path for path in (root / "commitlog").iterdir() if any(path.read_bytes()))
    data = last.read_bytes()
    end = len(data.rstrip(b"\0"))
    last.write_bytes(data[: end - 30] + bytes(len(data) - end + 30))


def _cut(root: Path) -> None:
    os.truncate(sorted((root / "commitlog").iterdir())[2], 2000)


def _without_entries(root: Path) -> None:
    file = min((root / "consumequeue" / "T0" / "1").iterdir())
    data = file.read_bytes()
    file.write_bytes(data[:40] + bytes(40) + data[80:])


@pytest.mark.parametrize(
    "change",
    [_without_its_last_log_file, _without_a_log_file, _without_queues, _crashed, _torn, _cut, _without_entries],
)
def test_stores_that_lack_something(spark: SparkSession, copied: Path, change: Callable[[Path], None]) -> None:
    change(copied)
    for options in ({"columns": WHOLE}, {"columns": WHOLE, "topic": "T0"}, {"columns": PLACES}):
        reported, expected = "", list[Row]()
        try:
            expected = of_python(copied, **options)
        except SparkSourceError as error:
            reported = str(error)
        if reported:
            assert reported in failed(frame(spark, copied, **options).collect)
        else:
            assert sorted_rows(of_jar(frame(spark, copied, **options))) == sorted_rows(expected)
        same(spark, copied, failOnDataLoss=False, **options)
    # Queues that cannot be trusted are not counted by.
    rows = of_python(copied, columns=PLACES, failOnDataLoss=False)
    assert frame(spark, copied, failOnDataLoss=False).count() == len(rows)


@pytest.mark.parametrize("column", ["queue_offset", "physical_offset", "store_timestamp"])
def test_the_first_rows_in_an_order(spark: SparkSession, live: tuple[Made, MessageStore], column: str) -> None:
    made, _ = live
    found = frame(spark, made.root, maxBytesPerPartition="1k")
    rows = of_jar(found)
    for condition, own in (("true", rows), ("topic = 'T1'", [row for row in rows if row["topic"] == "T1"])):
        for descending in (True, False):
            for count in (1, 7, 500):
                order = fn.col(column).desc() if descending else fn.col(column).asc_nulls_last()
                top = found.where(condition).orderBy(order, "physical_offset").limit(count)
                assert f"for the first {count} by {column}" in plan_of(top)
                sign = -1 if descending else 1
                own.sort(key=lambda row: (sign * row[column], row["physical_offset"]))
                assert of_jar(top) == own[:count]


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED"])
@pytest.mark.parametrize("column", ["queue_offset", "physical_offset", "store_timestamp"])
def test_the_first_rows_where_some_are_damaged(spark: SparkSession, copied: Path, mode: str, column: str) -> None:
    for file in sorted((copied / "commitlog").iterdir()):
        data = bytearray(file.read_bytes())
        data[1200:1204] = bytes(4)
        at = len(data.rstrip(b"\0")) - 500
        data[at : at + 200] = b"\x7f" * 200 if at > 1300 else data[at : at + 200]
        file.write_bytes(data)
    found = frame(spark, copied, mode=mode, failOnDataLoss=False)
    rows = [row for row in of_jar(found) if row[column] is not None]
    for descending in (True, False):
        order = fn.col(column).desc() if descending else fn.col(column).asc_nulls_last()
        top = [row[column] for row in of_jar(found.orderBy(order).limit(12))]
        assert top == sorted((row[column] for row in rows), reverse=descending)[:12]


def columns_of(root: Path, folder: Path) -> Path:
    """Columns of what a store has now."""
    extend(discover(str(root)), folder, lambda _: None)
    return folder


CACHED = "topic,queue_id,queue_offset,physical_offset,store_size,tags,born_timestamp,store_timestamp,file,broker"


@pytest.mark.parametrize(
    "options",
    [
        {"includeSystemTopics": True, "maxBytesPerPartition": "1k"},
        {"columns": "tags,store_timestamp", "topic": "GoldenNormal"},
        {"columns": "tags,physical_offset", "topicPattern": "Golden[NOK].*", "queues": "0,2"},
        {"topic": "GoldenNormal", "startingOffsets": '{"GoldenNormal": {"0": 3, "1": -1, "2": -2}}'},
        {"minPartitions": 5},
    ],
)
def test_columns_beside_a_store(
    spark: SparkSession, golden: dict[str, Path], tmp_path: Path, options: dict[str, Any]
) -> None:
    store = golden["5.5.0"]
    cache = str(columns_of(store, tmp_path / "cache"))
    given = {"columns": f"{CACHED},_corrupt_record"} | options
    assert same(spark, store, columnCache=cache, **given) == len(of_python(store, **given))
    times = sorted(row["store_timestamp"] // 1000 for row in of_python(store, columns="store_timestamp"))
    same(spark, store, columnCache=cache, startingTimestamp=times[len(times) // 2], **given)


def test_a_count_by_columns_touches_no_log(
    spark: SparkSession, live: tuple[Made, MessageStore], tmp_path: Path
) -> None:
    made, store = live
    cache = columns_of(made.root, tmp_path / "cache")

    def counted(**options: str) -> list[Row]:
        found = frame(spark, made.root, **options).where("tags != 'Tag2'")
        hour = fn.date_trunc("minute", "store_timestamp").cast("string").alias("minute")
        return [row.asDict() for row in found.groupBy("topic", "tags", hour).count().collect()]

    assert sorted_rows(counted(columnCache=str(cache))) == sorted_rows(counted())
    clock = Clock()
    clock.now += 100_000
    fill(made, store, clock, 15)  # these are read from the log
    found = frame(spark, made.root, columnCache=str(cache))
    assert sorted_rows(counted(columnCache=str(cache))) == sorted_rows(counted())
    assert found.where("tags = 'Tag1'").count() == sum(one["tags"] == "Tag1" for one in made.messages)
    # What is in the columns is not read from the log: other bytes in its place change nothing.
    for one in made.messages[:40]:
        file = made.root / "commitlog" / f"{one['physical_offset'] // 4096 * 4096:020d}"
        with file.open("r+b") as opened:
            opened.seek(one["physical_offset"] % 4096)
            opened.write(b"\1" * one["size"])
    assert found.groupBy("tags").count().agg(fn.sum("count")).collect()[0][0] == 75


@pytest.mark.parametrize("name", ["manifest", "segment-*/tag/data.ninja", "segment-*/physical_offset/data.ninja"])
def test_damaged_columns_are_ignored(spark: SparkSession, made: Made, tmp_path: Path, name: str) -> None:
    cache = columns_of(made.root, tmp_path / "cache")
    [file] = cache.glob(name)
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    assert same(spark, made.root, columnCache=str(cache), columns=CACHED) == 100
    other = columns_of(make(tmp_path / "other", 20, topics=3).root, tmp_path / "elsewhere")
    assert same(spark, made.root, columnCache=f"{other},{tmp_path / 'nothing'}", columns=CACHED) == 100


def test_streams_leave_columns_alone(spark: SparkSession, copied: Path, tmp_path: Path) -> None:
    cache = columns_of(copied, tmp_path / "cache")
    log = sorted((copied / "commitlog").iterdir())[1]
    with log.open("r+b") as file:
        file.write(bytes(8))  # of a record: only a reader of the log sees it
    options = {"columns": "topic,tags,store_timestamp", "columnCache": str(cache), "failOnDataLoss": "false"}
    assert frame(spark, copied, **options).where("tags is not null").count() == 100
    read = spark.readStream.format(JAR).options(**options).load(str(copied))
    read.writeStream.format("memory").queryName("found").trigger(availableNow=True).start().awaitTermination()
    assert spark.table("found").where("tags is not null").count() == 99


def test_damage_beside_columns(spark: SparkSession, copied: Path, tmp_path: Path) -> None:
    file = sorted((copied / "commitlog").iterdir())[1]
    data = bytearray(file.read_bytes())
    data[1000:1004] = bytes(4)
    data[3000:3300] = bytes(300)
    file.write_bytes(data)
    cache = columns_of(copied, tmp_path / "cache")
    for mode in ("PERMISSIVE", "DROPMALFORMED"):
        given: dict[str, Any] = {"columns": f"{CACHED},_corrupt_record", "mode": mode, "failOnDataLoss": False}
        assert same(spark, copied, columnCache=str(cache), **given) == len(of_python(copied, **given))


@pytest.fixture
def live(tmp_path: Path) -> Iterator[tuple[Made, MessageStore]]:
    store_of = Made(tmp_path / "live")
    clock = Clock()
    store = open_store(small(store_of.root), clock)
    fill(store_of, store, clock, 60)
    yield store_of, store
    store.close()


def test_a_live_store(spark: SparkSession, live: tuple[Made, MessageStore]) -> None:
    made, store = live
    for options in ({"columns": WHOLE}, {"columns": WHOLE, "topics": "T0,T1"}, {"columns": PLACES}):
        assert same(spark, made.root, **options) == 60
    counted = frame(spark, made.root)
    assert counted.count() == 60
    assert "aggregated" in plan_of(counted.groupBy().count())
    clock = Clock()
    fill(made, store, clock, 10)
    assert counted.count() == 70  # each query lists the store again


def test_a_killed_store(spark: SparkSession, tmp_path: Path) -> None:
    made, clock = Made(tmp_path / "killed"), Clock()
    store = open_store(small(made.root), clock)
    fill(made, store, clock, 30)
    kill(store)
    assert same(spark, made.root, columns=WHOLE) == 30
    assert same(spark, made.root, columns=PLACES, topic="T1") == 15


@pytest.mark.parametrize(
    ("path", "options"),
    [
        ("{tmp}/nothing", {}),
        ("{tmp}/file", {}),
        ("{tmp}", {}),
        ("{tmp}/no*thing", {}),
        ("{store}", {"topc": "x"}),
        ("{store}", {"columns": "bdy"}),
        ("{store}", {"columns": "body,body"}),
        ("{store}", {"mode": "loud"}),
        ("{store}", {"minPartitions": "0"}),
        ("{store}", {"maxBytesPerPartition": "many"}),
        ("{store}", {"startingTimestamp": "soon"}),
        ("{store}", {"startingOffsets": "[]"}),
        ("{store}", {"topic": "x", "topicPattern": "y"}),
        ("{store}", {"topic": "GoldenNornal"}),
        ("{store}", {"topic": "GoldenNormal", "queues": "77"}),
        ("{store}", {"startingOffsets": '{"GoldenNormal": {"0": 999999}}'}),
        ("{store}", {"startingOffsets": '{"GoldenNormal": {"88": 0}}'}),
        ("{store}", {"startingOffsets": '{"b": {"GoldenNormal": {"0": 0}}}'}),
        ("{store}", {"brokers": '{"/elsewhere": "b"}'}),
        ("{store}", {"brokers": "{}{"}),
    ],
)
def test_errors(
    spark: SparkSession, golden: dict[str, Path], tmp_path: Path, path: str, options: dict[str, str]
) -> None:
    (tmp_path / "file").touch()
    where = path.format(tmp=tmp_path, store=golden["5.5.0"])
    with pytest.raises(SparkSourceError) as python:
        reference.read(where, **({"columns": PLACES} | options))
    assert str(python.value) in failed(lambda: frame(spark, where, **({"columns": PLACES} | options)).collect())


def test_a_stream_continues_with_the_other_source(
    spark: SparkSession, live: tuple[Made, MessageStore], tmp_path: Path
) -> None:
    made, store = live
    clock = Clock()
    assert streamed(spark, JAR, made.root, tmp_path, maxOffsetsPerTrigger=25) == 3
    fill(made, store, clock, 20)
    assert streamed(spark, "rocketmq", made.root, tmp_path) == 1
    assert streamed(spark, JAR, made.root, tmp_path) == 0
    fill(made, store, clock, 20)
    assert streamed(spark, JAR, made.root, tmp_path, maxBytesPerTrigger=2000) > 1
    rows = of_jar(spark.read.parquet(str(tmp_path / "rows")))
    assert sorted_rows(rows) == sorted_rows(of_python(made.root, columns="*"))


@pytest.mark.parametrize("source", [JAR, "rocketmq"])
def test_a_store_made_again_under_a_checkpoint_is_noticed(spark: SparkSession, tmp_path: Path, source: str) -> None:
    made, clock = Made(tmp_path / "store"), Clock()
    other = {JAR: "rocketmq", "rocketmq": JAR}[source]

    def make_store(count: int) -> None:
        store = open_store(small(made.root), clock)
        fill(made, store, clock, count)
        store.close()

    make_store(20)
    assert streamed(spark, other, made.root, tmp_path) == 1
    shutil.rmtree(made.root)
    make_store(40)
    reported = failed(lambda: streamed(spark, source, made.root, tmp_path))
    assert "ROCKETMQ_DATA_LOST" in reported
    assert "failOnDataLoss" in reported
    assert streamed(spark, source, made.root, tmp_path, failOnDataLoss="false") == 1
    rows = of_jar(spark.read.parquet(str(tmp_path / "rows")))
    assert len(rows) == 60
    assert streamed(spark, other, made.root, tmp_path) == 0


def test_what_the_jar_leaves_to_python(spark: SparkSession, golden: dict[str, Path]) -> None:
    reader = spark.read.format(JAR).option("table", "queues")
    if not reference.IS_HERE:
        reported = failed(lambda: reader.load(str(golden["5.5.0"])))
        assert "[ROCKETMQ_OPTION_INVALID] the option table needs rocketwire's Python source" in reported
        return
    queues = reader.load(str(golden["5.5.0"]))
    assert sorted_rows([row.asDict() for row in queues.collect()]) == sorted_rows(
        [row | {"lags": dict(row["lags"])} for row in reference.read(golden["5.5.0"], table="queues")]
    )
    counts = (
        spark.read.format(JAR).option("table", "counts").load(str(golden["5.5.0"])).groupBy("topic", "tags", "time")
    )
    messages = spark.read.format(JAR).option("columns", "topic,tags,store_timestamp").load(str(golden["5.5.0"]))
    minute = fn.date_trunc("minute", "store_timestamp").alias("time")
    assert sorted_rows(
        [row.asDict() for row in counts.agg(fn.sum("messages").alias("count")).collect()]
    ) == sorted_rows([row.asDict() for row in messages.groupBy("topic", "tags", minute).count().collect()])


@pytest.mark.parametrize("package", ["", "org.apache.commons:commons-csv:1.10.0"], ids=["alone", "beside a package"])
def test_the_short_name_is_the_jars_in_a_session_of_ours(golden: dict[str, Path], package: str) -> None:
    program = """
import sys
from rocketwire import spark
session = spark.session(
    {
        "spark.master": "local[1]",
        "spark.ui.enabled": "false",
        "spark.jars.packages": sys.argv[2],
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.shuffle.partitions": "1",
    }
)
found = session.read.format("rocketmq").load(sys.argv[1])
print(len(found.columns), found.count(), len(found.where("topic = 'GoldenNormal'").select("keys").collect()))
print(*sorted(path.rpartition("/")[2] for path in session.sparkContext.getConf().get("spark.jars").split(",")))
"""
    local = {"SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program, str(golden["5.5.0"]), package],
        env=os.environ | local,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    total = len(reference.read(golden["5.5.0"], columns=PLACES))
    keys = len(reference.read(golden["5.5.0"], topic="GoldenNormal"))
    jars = ["org.apache.commons_commons-csv-1.10.0.jar"] if package else []
    assert done.stdout.splitlines()[-2:] == [  # Ivy of Spark 3.5 prints before them
        f"{len(COLUMNS)} {total} {keys}",
        " ".join([*jars, "rocketwire-spark.jar"]),
    ]
