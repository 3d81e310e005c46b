"""Spark reads from running endpoints and writes to them: rocketwire and Apache's brokers, each with its name server."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from compat_tests.endpoints import TARGETS
from compat_tests.spark import reference
from compat_tests.spark.sources import JAR
from rocketwire.compat.brokers.endpoint import Endpoint, running
from rocketwire.compat.clients.client import Client, Clients
from rocketwire.compat.messages import SYSTEM_PROPERTIES
from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.spark.endpoint.queues import bounds
from rocketwire.spark.errors import SparkSourceError
from rocketwire.spark.stream.offsets import BrokerQueue
from rocketwire.wire.facts.properties import OWN_NAMES

MESSAGES = 2000
SCHEMA = """
    topic string, body binary, tags string, keys array<string>, properties map<string,string>, delay_level int, flag int
"""
Unique = Callable[[str], str]


@pytest.fixture(scope="module")
def name_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], str]]:
    """Gives the name server of each kind of endpoint; it is started at first use."""
    known: dict[str, str] = {}
    with contextlib.ExitStack() as stack:

        def started(kind: str) -> str:
            if kind not in known:
                folder = tmp_path_factory.mktemp("endpoint")
                endpoint: Endpoint = TARGETS[kind](folder, settings={"messageDelayLevel": "1s 5s"})
                known[kind] = stack.enter_context(running(endpoint)).namesrv
            return known[kind]

        yield started


@pytest.fixture(params=sorted(TARGETS))
def namesrv(request: pytest.FixtureRequest, name_servers: Callable[[str], str]) -> str:
    """The name server of each kind."""
    return name_servers(request.param)


@pytest.fixture(params=["python", "jar"])
def source(request: pytest.FixtureRequest) -> str:
    """The name of each source."""
    name: str = "rocketmq" if request.param == "python" else request.getfixturevalue("with_jar")
    return name


@pytest.fixture
def with_jar(jar: Path) -> str:
    """The name of the jar's source."""
    assert jar.is_file()
    return JAR


def write(frame: DataFrame, namesrv: str, **options: str | int) -> None:
    frame.write.format("rocketmq").mode("append").option("namesrv", namesrv).options(**options).save()


def read(spark: SparkSession, namesrv: str, source: str = "rocketmq", **options: str | int) -> DataFrame:
    return spark.read.format(source).option("namesrv", namesrv).options(**options).load()


def stream(spark: SparkSession, namesrv: str, source: str = "rocketmq", **options: str | int) -> DataFrame:
    return spark.readStream.format(source).option("namesrv", namesrv).options(**options).load()


def settled(namesrv: str, topic: str, count: int) -> None:
    """Wait until so many messages are in the queues: Apache's brokers acknowledge a message before it is."""
    end = time.monotonic() + 120
    with BlockingCluster(namesrv) as cluster:
        queues = [BrokerQueue(broker, topic, number) for broker, number in cluster.readable_queues(topic)]
        while sum(most for _, most in bounds(cluster, queues).values()) < count:
            assert time.monotonic() < end
            time.sleep(0.05)


def numbered(spark: SparkSession, first: int, end: int) -> DataFrame:
    """Rows with numbers for bodies, in two tasks."""
    return spark.range(first, end, numPartitions=2).selectExpr(
        "format_string('%06d', id) body", "concat('t', id % 3) tags", "array(concat('k', id)) keys"
    )


def numbers(rows: list[Row]) -> list[int]:
    return sorted(int(row.body) for row in rows)


def test_what_is_written_is_read_once_in_batches_and_streams(
    spark: SparkSession, namesrv: str, unique: Unique, tmp_path: Path, source: str
) -> None:
    topic = unique("endpoint")
    write(numbered(spark, 0, MESSAGES), namesrv, topic=topic)
    settled(namesrv, topic, MESSAGES)
    rows = read(spark, namesrv, source, topic=topic, columns="*", minPartitions=3).collect()
    assert numbers(rows) == list(range(MESSAGES))
    assert all((row.tags, row["keys"]) == (f"t{int(row.body) % 3}", [f"k{int(row.body)}"]) for row in rows)
    assert len({row.message_id for row in rows}) == len({row.offset_message_id for row in rows}) == MESSAGES

    middle = sorted(row.store_timestamp for row in rows)[MESSAGES // 2]
    since = read(spark, namesrv, source, topic=topic, columns="queue_id", startingTimestamp=f"{middle.isoformat()}Z")
    assert since.count() == sum(row.store_timestamp >= middle for row in rows)

    def copied() -> list[int]:
        """The content of a stream into files, once it has read all present messages."""
        sink = stream(spark, namesrv, source, topic=topic, maxOffsetsPerTrigger=1500, columns="body").writeStream
        sink = sink.format("parquet").option("path", str(tmp_path / "files"))
        query = sink.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
        assert query.awaitTermination(240)
        return numbers(spark.read.parquet(str(tmp_path / "files")).collect())

    assert copied() == list(range(MESSAGES))
    write(numbered(spark, MESSAGES, MESSAGES + 100), namesrv, topic=topic)
    settled(namesrv, topic, MESSAGES + 100)
    assert copied() == list(range(MESSAGES + 100))


@pytest.mark.parametrize("namesrv", ["rocketwire"], indirect=True)
def test_a_stream_into_an_endpoint_that_is_stopped_continues_from_its_checkpoint(
    spark: SparkSession, namesrv: str, unique: Unique, tmp_path: Path
) -> None:
    topic, copy = unique("source"), unique("copy")
    write(numbered(spark, 0, MESSAGES), namesrv, topic=topic)

    def sink() -> DataStreamWriter:
        source = stream(spark, namesrv, topic=topic, maxOffsetsPerTrigger=300, columns="body,tags")
        checkpoint = {"checkpointLocation": str(tmp_path / "checkpoint")}
        return source.writeStream.format("rocketmq").options(namesrv=namesrv, topic=copy, **checkpoint)

    query = sink().start()
    while query.lastProgress is None:
        assert query.isActive, query.exception()
        time.sleep(0.05)
    query.stop()
    query = sink().trigger(availableNow=True).start()
    assert query.awaitTermination(240)
    found = Counter(numbers(read(spark, namesrv, topic=copy).collect()))
    assert found.keys() == set(range(MESSAGES))
    assert found.total() <= MESSAGES + 300  # the micro-batch that was stopped may come twice


@pytest.mark.parametrize("namesrv", ["apache-4.9.7"], indirect=True)
def test_the_official_client_takes_what_spark_has_sent(
    spark: SparkSession, namesrv: str, unique: Unique, clients: Clients
) -> None:
    topic = unique("client")
    rows = [
        (topic, b"plain", "a", ["k1", "k2"], {"p": "1", "é": "ü", "UNIQ_KEY": "not this"}, None, 7),
        (topic, b"second", None, None, None, None, None),
        (topic, b"later", "b", ["k3"], {"q": "2"}, 1, None),
    ]
    write(spark.createDataFrame(rows, SCHEMA).coalesce(1), namesrv)
    client = Client(clients=clients, id="java-4.9.7", namesrv=namesrv)
    received = client.only("received", "PullAll", topic=topic, group=unique("g"), count=3)
    found = {each["text"]: each for each in received}
    own = {
        body: {k: v for k, v in each["properties"].items() if k not in SYSTEM_PROPERTIES}
        for body, each in found.items()
    }
    assert {(body, each["tags"], each["keys"], each["flag"]) for body, each in found.items()} == {
        ("plain", "a", "k1 k2", 7),
        ("second", None, None, 0),
        ("later", "b", "k3", 0),
    }
    assert own["plain"] == {"p": "1", "é": "ü"}
    assert own["second"] == {}
    assert own["later"]["q"] == "2"
    assert found["later"]["storeTimestamp"] - found["later"]["bornTimestamp"] >= 1000
    ids = {row.body.decode(): row.message_id for row in read(spark, namesrv, topic=topic, columns="*").collect()}
    assert ids == {body: each["msgId"] for body, each in found.items()}


@pytest.mark.parametrize("namesrv", ["rocketwire"], indirect=True)
def test_errors_say_what_helps(spark: SparkSession, namesrv: str) -> None:
    with pytest.raises(PySparkException, match=r"\[ROCKETMQ_TOPIC_UNKNOWN\] topic NotThere: the name server .* Check"):
        read(spark, namesrv, topic="NotThere").count()
    with pytest.raises(PySparkException, match=r"\[ROCKETMQ_MESSAGE_INVALID\] a row has no body"):
        write(spark.sql("select cast(null as string) body"), namesrv, topic="NotThere")
    with pytest.raises(PySparkException, match=r"\[ROCKETMQ_WRITE_UNSUPPORTED\] messages that were sent"):
        spark.sql("select 'a' body").write.format("rocketmq").mode("overwrite").option("namesrv", namesrv).save()


@pytest.mark.parametrize("namesrv", ["rocketwire", "apache-4.9.7"], indirect=True)
def test_the_jar_sends_what_the_python_source_sends(
    spark: SparkSession, namesrv: str, unique: Unique, with_jar: str
) -> None:
    rows: list[tuple[object, ...]] = [
        (b"plain", "a", ["k1", "", None, "k2"], {"p": "1", "é": "ü", "": "x", "n": None}, None, 7),
        (b"read", "a", None, {**dict.fromkeys(OWN_NAMES, "x"), "p": "1"}, None, None),
        (b"second", None, None, None, None, None),
        (b"later", "b", [], {"q": "2", "__SHARDINGKEY": "s"}, 1, -3),
        *((f"{number}".encode(), "", [f"k{number}"], {}, 0, None) for number in range(1500)),
    ]
    schema = SCHEMA.replace("topic string,", "")
    found = []
    for source in ("rocketmq", with_jar):
        topic = unique("sources")
        options = {"namesrv": namesrv, "topic": topic, "maxBatchBytes": "20k"}
        frame = spark.createDataFrame(rows, schema).coalesce(2)
        frame.write.format(source).mode("append").options(**options).save()
        settled(namesrv, topic, len(rows))
        sent = read(spark, namesrv, topic=topic, columns="*").collect()
        assert len({row.message_id for row in sent}) == len(rows)
        assert {len(row.message_id) for row in sent} == {32}
        assert len({row.queue_id for row in sent}) > 1
        own = {"MIN_OFFSET", "MAX_OFFSET", "UNIQ_KEY", "CLUSTER", "REAL_TOPIC", "REAL_QID"}
        found.append(
            sorted(
                (
                    bytes(row.body),
                    row.tags or "",
                    row["keys"],
                    sorted((name, text) for name, text in row.properties.items() if name not in own),
                    row.flag,
                    row.body_crc,
                )
                for row in sent
            )
        )
    assert found[0] == found[1]


@pytest.mark.parametrize("namesrv", ["rocketwire"], indirect=True)
def test_a_stream_is_sent_by_the_jar(
    spark: SparkSession, namesrv: str, unique: Unique, tmp_path: Path, with_jar: str
) -> None:
    topic = unique("copy")
    numbered(spark, 0, 500).write.parquet(str(tmp_path / "files"))
    for mode in ("append", "update"):
        rows = spark.readStream.schema("body string, tags string, keys array<string>").parquet(str(tmp_path / "files"))
        checkpoint = {"checkpointLocation": str(tmp_path / mode)}
        sink = rows.writeStream.format(with_jar).options(namesrv=namesrv, topic=topic, **checkpoint)
        assert sink.outputMode(mode).trigger(availableNow=True).start().awaitTermination(240)
    assert numbers(read(spark, namesrv, topic=topic).collect()) == sorted([*range(500), *range(500)])


@pytest.mark.parametrize("namesrv", ["rocketwire"], indirect=True)
@pytest.mark.parametrize(
    ("query", "options", "mode", "error"),
    [
        ("select cast(null as string) body", {}, "append", r"MESSAGE_INVALID\] a row has no body"),
        ("select '' body", {}, "append", r"MESSAGE_INVALID\] a row has a body of 0 bytes"),
        ("select 'abc' body", {"maxMessageSize": 2}, "append", r"MESSAGE_INVALID\] a row has a body of 3 bytes, and 2"),
        ("select 'a' body, 'a b' topic", {}, "append", r"MESSAGE_INVALID\] messages cannot be sent to the topic 'a b'"),
        ("select 'a' body, -1 queue_id", {}, "append", r"MESSAGE_INVALID\] a row has -1 in the column queue_id"),
        (
            "select 'a' body, 99 queue_id",
            {},
            "append",
            r"TOPIC_UNKNOWN\] topic Any has no queue 99 that takes messages",
        ),
        ("select 'a' body, '\u0001' tags", {}, "append", r"MESSAGE_INVALID\] the column tags has a text with 0x01"),
        ("select 'a' body, repeat('x', 40000) tags", {}, "append", r"MESSAGE_INVALID\] a row's tags, keys and"),
        ("select 'a' body", {}, "overwrite", r"WRITE_UNSUPPORTED\] messages that were sent cannot"),
        ("select 'a' body, 1 other", {}, "append", r"WRITE_UNSUPPORTED\] messages have no column other"),
        ("select 1 body", {}, "append", r"WRITE_UNSUPPORTED\] the column body is int"),
        ("select 'a' body", {"retrys": 1}, "append", r"OPTION_INVALID\] there is no option retrys of writing. Did you"),
        ("select 'a' body", {"accessKey": "a"}, "append", r"OPTION_INVALID\] one of the options accessKey and"),
        ("select 'a' body", {"namesrv": "nowhere"}, "append", r"OPTION_INVALID\] option namesrv nowhere: expected"),
    ],
)
def test_the_jar_refuses_what_the_python_source_refuses(
    spark: SparkSession, namesrv: str, query: str, options: dict[str, str | int], mode: str, error: str, with_jar: str
) -> None:
    given = {"namesrv": namesrv, "topic": "Any", **{name: str(value) for name, value in options.items()}}
    frame = spark.sql(query)
    with pytest.raises((PySparkException, Py4JJavaError), match=rf"\[ROCKETMQ_{error}"):
        frame.write.format(with_jar).mode(mode).options(**given).save()
    rows = [row.asDict() for row in frame.collect()]
    with pytest.raises(SparkSourceError, match=rf"\[ROCKETMQ_{error}"):
        reference.write_batch(rows, frame.schema.jsonValue(), given, overwrite=mode == "overwrite")
