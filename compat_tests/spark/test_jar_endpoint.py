"""The contract of both sources for endpoints: the jar (java/spark) gives the rows and errors of the Python source."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from compat_tests.spark import reference
from compat_tests.spark.sources import (
    JAR,
    WHOLE,
    Row,
    Value,
    failed,
    frame,
    of_jar,
    of_python,
    same,
    sorted_rows,
    streamed,
)
from rocketwire.spark.errors import SparkSourceError
from rocketwire.spark.schema import COLUMNS
from tests.cli.endpoint import FakeAnswer, fake_server, real_endpoint
from tests.spark.endpoint.fake_queue import PULL, FakeQueue, damaged_records, record

pytestmark = pytest.mark.usefixtures("jar")


def send(namesrv: str, topic: str, numbers: range) -> None:
    """Send messages with numbers for bodies, to four queues, one after the other."""
    columns: dict[str, list[Any]] = {
        "body": [b"%04d" % number for number in numbers],
        "tags": [f"t{number % 3}" for number in numbers],
        "keys": [[f"k{number}", "all"] for number in numbers],
        "properties": [[("p", str(number)), ("é", "ü")] for number in numbers],
        "queue_id": [number % 4 for number in numbers],
    }
    reference.write(namesrv, columns, topic=topic)


@pytest.fixture(scope="module")
def namesrv(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name server of an endpoint with 400 messages of topic Read, and some others."""
    with real_endpoint(tmp_path_factory.mktemp("store")) as addresses:
        address = str(addresses.name_server)
        send(address, "Read", range(400))
        reference.write(address, {"body": [b"other"]}, topic="Other")
        reference.write(address, {"body": [b"again"]}, topic="%RETRY%G")
        yield address


@pytest.mark.parametrize(
    "options",
    [
        {"topic": "Read"},
        {"topic": "Read", "minPartitions": 6, "consumerGroup": "Any"},
        {"topic": "Read", "maxBytesPerPartition": "10k", "queues": "1,3"},
        {"topicPattern": "Re.*|O.*"},
        {"includeSystemTopics": True, "topicPattern": r"%RETRY%G|Other"},
        {"topics": "Other,%RETRY%G"},
        {"topic": "Read", "startingOffsets": "latest"},
        {
            "topic": "Read",
            "startingOffsets": '{"broker-a": {"Read": {"0": 90, "1": -1, "2": -2}}}',
            "endingOffsets": '{"Read": {"0": 95, "2": 3, "3": 1}}',
        },
        {"topic": "Read", "startingOffsets": '{"Read": {"0": 101}}', "failOnDataLoss": False},
    ],
)
def test_rows(spark: SparkSession, namesrv: str, options: dict[str, Value]) -> None:
    same(spark, None, namesrv=namesrv, columns=WHOLE, **options)


@pytest.mark.parametrize(
    ("topic", "refused"), [("%RETRY%" + "g" * 248, "%RETRY%" + "g" * 249), ("%DLQ%" + "g" * 250, "t" * 128)]
)
def test_topics_of_groups_with_long_names(spark: SparkSession, namesrv: str, topic: str, refused: str) -> None:
    """Both sources write to retry and dead letter topics of 255 characters, and read them."""
    given = {"namesrv": namesrv, "topic": topic}
    reference.write(namesrv, {"body": [b"by Python"]}, topic=topic)
    rows = spark.sql("select 'by the jar' body")
    rows.write.format(JAR).mode("append").options(**given).save()
    assert same(spark, None, namesrv=namesrv, topic=topic, columns="topic,body,message_id") == 2
    bodies = sorted(row["body"] for row in of_jar(frame(spark, None, columns="body", **given)))
    assert bodies == [b"by Python", b"by the jar"]
    wrong = {**given, "topic": refused}
    error = failed(lambda: rows.write.format(JAR).mode("append").options(**wrong).save())
    assert f"'{refused[:200]}': The specified topic is longer than topic max length." in error
    with pytest.raises(SparkSourceError, match=r"longer than topic max length\."):
        reference.write(namesrv, {"body": [b"x"]}, topic=refused)


def test_times(spark: SparkSession, namesrv: str) -> None:
    found = of_python(None, namesrv=namesrv, topic="Read", columns="store_timestamp")
    times = sorted(row["store_timestamp"] // 1000 for row in found)
    for since, until in ((times[0], times[-1]), (times[200], times[-1] + 1), (times[-1] + 1, times[-1] + 2)):
        same(spark, None, namesrv=namesrv, topic="Read", columns="body", startingTimestamp=since, endingTimestamp=until)


def test_spark_prunes_and_filters(spark: SparkSession, namesrv: str) -> None:
    found = frame(spark, None, namesrv=namesrv)
    assert found.columns == list(COLUMNS)
    everything = of_jar(found.where("topic = 'Read'"))
    one = next(row for row in everything if row["body"] == b"0123")
    time = f"timestamp_micros({one['store_timestamp']})"
    conditions: dict[str, Callable[[Row], bool]] = {
        "topic = 'Read' and queue_id in (1, 2) and queue_offset >= 40 and queue_offset < 43": lambda row: (
            row["queue_id"] in (1, 2) and 40 <= row["queue_offset"] < 43
        ),
        f"topic = 'Read' and store_timestamp > {time}": lambda row: row["store_timestamp"] > one["store_timestamp"],
        f"topic = 'Read' and store_timestamp <= {time}": lambda row: row["store_timestamp"] <= one["store_timestamp"],
        "topic = 'Read' and tags = 't1' and array_contains(keys, 'k4')": lambda row: row["keys"][0] == "k4",
        f"message_id = '{one['message_id']}'": lambda row: row["message_id"] == one["message_id"],
        f"offset_message_id = '{one['offset_message_id']}'": lambda row: row is one,
    }
    for condition, holds in conditions.items():
        assert sorted_rows(of_jar(found.where(condition))) == sorted_rows(list(filter(holds, everything))), condition
    narrow = found.where("topic = 'Read' and queue_id = 2").select("tags", "properties")
    expected = of_python(None, namesrv=namesrv, topic="Read", queues="2", columns="tags,properties")
    assert sorted_rows(of_jar(narrow)) == sorted_rows(expected)
    assert len(found.limit(7).collect()) == 7
    assert found.where("topic = 'not there'").count() == 0
    typed = spark.read.format(JAR).options(namesrv=namesrv, topic="Other").schema("body binary").load()
    assert [bytes(row.body) for row in typed.collect()] == [b"other"]


@pytest.mark.parametrize(
    "options",
    [
        {"topic": "No"},
        {"topic": "Read", "queues": "0,9"},
        {"topic": "Read", "startingOffsets": '{"before": {"Read": {"0": 5}}}'},
        {"topic": "Read", "endingOffsets": '{"Read": {"4": 5}}'},
        {"topic": "Read", "startingOffsets": '{"Read": {"0": 101}}'},
        {"topic": "Read", "consumerGroup": "a b"},
        {"topic": "Read", "secretKey": "s"},
        {"topic": "Read", "endpointTimeoutMs": 0},
        {"topic": "Read", "path": "/data"},
        {"topic": "Read", "columns": "bdy"},
        {"topic": "Read", "namesrv": "nowhere"},
    ],
)
def test_errors(spark: SparkSession, namesrv: str, options: dict[str, Any]) -> None:
    path = options.get("path")
    given = {"namesrv": namesrv, "columns": "body", **{name: options[name] for name in options if name != "path"}}
    with pytest.raises(SparkSourceError) as python:
        of_python(path, **given)
    assert str(python.value) in failed(lambda: frame(spark, path, **given).collect())


def test_an_endpoint_that_does_not_answer(spark: SparkSession) -> None:
    with fake_server() as server:
        address = server.address
    reported = failed(lambda: frame(spark, None, namesrv=address, topic="T").collect())
    assert f"[ROCKETMQ_ENDPOINT_UNREACHABLE] name server {address}: cannot be reached" in reported


def test_streams_continue_with_the_other_source(spark: SparkSession, namesrv: str, tmp_path: Path) -> None:
    given: dict[str, Any] = {"namesrv": namesrv, "topic": "Streamed"}
    send(namesrv, "Streamed", range(50))
    assert streamed(spark, JAR, None, tmp_path, maxOffsetsPerTrigger=20, **given) == 3
    send(namesrv, "Streamed", range(50, 70))
    assert streamed(spark, "rocketmq", None, tmp_path, **given) == 1
    assert streamed(spark, JAR, None, tmp_path, **given) == 0
    send(namesrv, "Streamed", range(70, 90))
    assert streamed(spark, JAR, None, tmp_path, maxBytesPerTrigger=2000, **given) > 1
    found = of_jar(spark.read.parquet(str(tmp_path / "rows")))
    assert sorted_rows(found) == sorted_rows(of_python(None, columns="*", **given))
    assert "a stream has no option endingOffsets" in failed(
        lambda: streamed(spark, JAR, None, tmp_path / "other", endingOffsets="latest", **given)
    )


@pytest.mark.parametrize("at_once", [1, 7, 1000])
def test_the_rows_do_not_depend_on_how_many_a_broker_gives_at_once(spark: SparkSession, at_once: int) -> None:
    numbers = range(300 if at_once == 1 else 30_000)
    queue = FakeQueue([record(number) for number in numbers], at_once=at_once)
    with fake_server(queue.answers()) as server:
        found = frame(spark, None, namesrv=server.address, topic="T").select("body", "queue_offset").collect()
    assert sorted((row.queue_offset, bytes(row.body)) for row in found) == [
        (number, b"body %d" % number) for number in numbers
    ]


def test_removed_messages(spark: SparkSession) -> None:
    queue = FakeQueue([record(number, b"x") for number in range(100)])
    with fake_server({**queue.answers(), PULL: queue.lossy_pull}) as server:
        given: dict[str, Any] = {"namesrv": server.address, "topic": "T", "columns": "queue_offset"}
        assert same(spark, None, failOnDataLoss=False, **given) == 80
        with pytest.raises(SparkSourceError) as python:
            of_python(None, **given)
        assert str(python.value) in failed(frame(spark, None, **given).collect)


def test_damaged_messages(spark: SparkSession) -> None:
    records = [*damaged_records(), *map(record, range(5, 40))]
    records[37] = records[37][:-20]  # what follows is no record
    with fake_server(FakeQueue(records).answers()) as server:
        given: dict[str, Any] = {"namesrv": server.address, "topic": "T", "columns": WHOLE}
        same(spark, None, **given)
        same(spark, None, mode="DROPMALFORMED", **given)
        same(spark, None, verifyChecksums=False, **given)
        with pytest.raises(SparkSourceError) as python:
            of_python(None, mode="FAILFAST", **given)
        assert str(python.value) in failed(frame(spark, None, mode="FAILFAST", **given).collect)


def test_requests_to_a_broker_that_is_busy_or_hangs_up_are_repeated(spark: SparkSession) -> None:
    queue = FakeQueue([record(number) for number in range(200)])
    number = count()

    def pull(ext: dict[str, str]) -> FakeAnswer:
        current = next(number)
        if current == 7:
            server.hang_up()
        return FakeAnswer(215) if 10 <= current < 20 else queue.pull(ext)

    with fake_server({**queue.answers(), PULL: pull}) as server:
        found = frame(spark, None, namesrv=server.address, topic="T", columns="queue_offset")
        assert sorted(row.queue_offset for row in found.collect()) == list(range(200))
        server.answers[PULL] = lambda _: FakeAnswer(26, remark="no group")
        reported = failed(found.select("queue_offset").collect)
        assert "[ROCKETMQ_ENDPOINT_REFUSED] broker" in reported
        assert "answered code 26: no group. Create the group" in reported
