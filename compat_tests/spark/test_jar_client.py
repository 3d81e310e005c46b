"""The jar's own client of the remoting protocol: accounts, and an endpoint that is killed and comes back."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from compat_tests.spark.sources import JAR, failed, frame, streamed
from tests.server.processes import Caller, Process, eventually
from tests.spark.endpoint.accounts import ACCOUNT, guarded_endpoint

pytestmark = pytest.mark.usefixtures("jar")

GUARDED: Final[dict[str, Any]] = {"topic": "Guarded", "consumerGroup": "readers"}
TOPIC: Final = "Killed"
QUEUES: Final = 2
PATIENT: Final = {"retries": "20", "endpointTimeoutMs": "60000"}
#: Of one task: 8 requests are in flight, and their answers may be lost with the endpoint.
IN_FLIGHT: Final = 8


def numbered(spark: SparkSession, end: int) -> DataFrame:
    """Rows with numbers of six digits for bodies, in two tasks."""
    return spark.range(0, end, numPartitions=2).selectExpr("format_string('%06d', id) body")


def numbers(found: DataFrame) -> list[int]:
    return sorted(int(row.body) for row in found.select("body").collect())


def test_requests_are_signed(spark: SparkSession, tmp_path: Path) -> None:
    with guarded_endpoint(tmp_path) as namesrv:
        given: dict[str, Any] = {"namesrv": namesrv, **ACCOUNT, **GUARDED}
        send = {"namesrv": namesrv, "topic": "Guarded", **ACCOUNT}
        numbered(spark, 300).write.format(JAR).mode("append").options(**send).save()
        assert numbers(frame(spark, None, **given)) == list(range(300))
        assert streamed(spark, JAR, None, tmp_path / "read", **given) == 1
        assert numbers(spark.read.parquet(str(tmp_path / "read" / "rows"))) == list(range(300))
        source = spark.readStream.format(JAR).options(**given, columns="body").load()
        sink = source.writeStream.format(JAR).options(**send | {"topic": "Copy"})
        sink = sink.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
        assert sink.start().awaitTermination(240)
        assert numbers(frame(spark, None, **given | {"topic": "Copy"})) == list(range(300))


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"secretKey": "wrong123"}, id="wrong key"),
        pytest.param({"accessKey": "unknown"}, id="unknown account"),
        pytest.param({"accessKey": None, "secretKey": None}, id="no account"),
    ],
)
def test_wrong_accounts_are_refused(spark: SparkSession, tmp_path: Path, wrong: dict[str, str | None]) -> None:
    with guarded_endpoint(tmp_path) as namesrv:
        right = {"namesrv": namesrv, "topic": "Guarded", **ACCOUNT}
        numbered(spark, 2).write.format(JAR).mode("append").options(**right).save()
        account = {name: value for name, value in (ACCOUNT | wrong).items() if value is not None}
        given: dict[str, Any] = {"namesrv": namesrv, **account}
        reported = failed(lambda: frame(spark, None, **given, **GUARDED).collect())
        assert "[ROCKETMQ_ENDPOINT_REFUSED]" in reported
        assert "give the options accessKey and secretKey" in reported
        reported = failed(lambda: streamed(spark, JAR, None, tmp_path, **given, **GUARDED))
        assert "[ROCKETMQ_ENDPOINT_REFUSED]" in reported
        writer = numbered(spark, 2).write.format(JAR).mode("append").options(topic="Guarded", retries=0, **given)
        assert "[ROCKETMQ_SEND_FAILED]" in failed(writer.save)
        assert numbers(frame(spark, None, **right, consumerGroup="readers")) == [0, 1]
        assert "group:TOOLS_CONSUMER" in failed(lambda: frame(spark, None, **right).collect())


class Endpoint:
    """A process that is killed and started again at the same addresses, on the same store."""

    def __init__(self, store: Path) -> None:
        self._store = store
        store.mkdir()
        self._process = Process(store)
        self._process.wait_ready()
        self.namesrv = self._process.name_server
        with Caller(self._process.broker) as caller:
            caller.create_topic(TOPIC, QUEUES)

    def has(self, count: int) -> bool:
        """Whether so many messages are in the topic."""
        with Caller(self._process.broker) as caller:
            ends = [caller.request(30, {"topic": TOPIC, "queueId": str(queue)}) for queue in range(QUEUES)]
        return sum(int((end.header.ext or {})["offset"]) for end in ends) >= count

    def kill(self) -> None:
        self._process.end(signal.SIGKILL)

    def start_again(self) -> None:
        self._process = Process(self._store, name_server=self.namesrv, broker=self._process.broker)
        self._process.wait_ready()


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[Endpoint]:
    made = Endpoint(tmp_path / "store")
    yield made
    made.kill()


@contextmanager
def restarted_when(condition: Callable[[], bool], endpoint: Endpoint) -> Iterator[None]:
    """While the block runs, kill the endpoint once that holds, and start it again."""
    ended = threading.Event()
    in_time: list[bool] = []

    def run() -> None:
        if eventually(condition):
            endpoint.kill()
            in_time.append(not ended.is_set())
            endpoint.start_again()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    assert in_time == [True]


def test_a_write_continues_when_the_endpoint_is_killed_and_comes_back(spark: SparkSession, endpoint: Endpoint) -> None:
    count, at_once = 40_000, 20
    most = f"{at_once * 30}"  # bytes of a batch: a message in it takes 26 without its properties
    writer = numbered(spark, count).write.format(JAR).mode("append")
    writer = writer.options(namesrv=endpoint.namesrv, topic=TOPIC, maxBatchBytes=most, **PATIENT)
    with restarted_when(lambda: endpoint.has(count // 10), endpoint):
        writer.save()
        assert endpoint.has(count)
    read = frame(spark, None, namesrv=endpoint.namesrv, topic=TOPIC)
    found = Counter(numbers(read))
    assert found.keys() == set(range(count))
    assert found.total() - count <= 2 * IN_FLIGHT * at_once
    assert read.select("message_id").distinct().count() == count  # what comes twice has one id


def test_a_stream_has_each_message_once_over_a_restart_of_its_endpoint(
    spark: SparkSession, endpoint: Endpoint, tmp_path: Path
) -> None:
    count = 1500
    given = {"namesrv": endpoint.namesrv, "topic": TOPIC}
    numbered(spark, count).write.format(JAR).mode("append").options(**given).save()
    files = tmp_path / "read" / "rows"
    with restarted_when(lambda: len(list(files.glob("*.parquet"))) > 2, endpoint):
        try:
            streamed(spark, JAR, None, tmp_path / "read", maxOffsetsPerTrigger=150, **given)
        except StreamingQueryException as error:  # on a machine so busy that the restart outlasts the retries
            if "[ROCKETMQ_ENDPOINT_UNREACHABLE]" not in str(error):
                raise
    streamed(spark, JAR, None, tmp_path / "read", **given)
    assert numbers(spark.read.parquet(str(files))) == list(range(count))
