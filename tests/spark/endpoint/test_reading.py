"""Messages of a running endpoint as rows; and of one with given answers."""

from __future__ import annotations

from itertools import count
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.datasource import EqualTo, GreaterThanOrEqual, LessThan
from pyspark.sql.pandas.types import to_arrow_schema

from rocketwire.spark.endpoint.planning import BrokerPart
from rocketwire.spark.endpoint.reading import EndpointReader, read
from rocketwire.spark.errors import (
    DataLost,
    EndpointRefused,
    EndpointUnreachable,
    OptionInvalid,
    RecordMalformed,
    TopicUnknown,
)
from rocketwire.spark.request.option_parsing import read_options
from rocketwire.spark.request.options import is_hidden
from rocketwire.spark.schema import COLUMNS, CORRUPT_RECORD, spark_schema
from rocketwire.spark.source import RocketMQDataSource
from tests.cli.endpoint import FakeAnswer, FakeServer, fake_server
from tests.spark.endpoint.fake_queue import PULL, FakeQueue, damaged_records, record
from tests.spark.endpoint.support import bodies, messages, rows, written
from tests.spark.reads import Read


def reader(namesrv: str, **options: Any) -> EndpointReader:
    given = {name: str(value) for name, value in {"namesrv": namesrv, **options}.items()}
    source = RocketMQDataSource(given)
    found = source.reader(source.schema())
    assert isinstance(found, EndpointReader)
    return found


def table(namesrv: str, **options: Any) -> pa.Table:
    """All rows, as Spark's workers make them."""
    found = Read(None, namesrv=namesrv, **options)
    batches = [batch for number in range(len(found.partitions)) for batch in found.batches(number)]
    return pa.Table.from_batches(batches, to_arrow_schema(found.schema, timezone="UTC"))


@pytest.fixture(scope="module")
def filled(namesrv: str) -> str:
    """An endpoint with 1,000 messages of topic Read in four queues, and some others."""
    for queue_id in range(4):
        numbers = range(queue_id, 1000, 4)
        written(
            namesrv,
            rows(
                body=[b"%04d" % number for number in numbers],
                tags=[f"t{number % 3}" for number in numbers],
                keys=[[f"k{number}"] for number in numbers],
                queue_id=[queue_id] * 250,
            ),
            topic="Read",
        )
    written(namesrv, rows(body=[b"other"]), topic="Other")
    written(namesrv, rows(body=[b"again"]), topic="%RETRY%G")
    return namesrv


def test_every_column_has_the_value_that_other_readers_show(filled: str) -> None:
    found = table(filled, topic="Read", columns="*").to_pylist()
    expected = {(each.message.queue_id, each.message.queue_offset): each for each in messages(filled, "Read")}
    assert len(found) == len(expected) == 1000
    for row in found:
        one = expected[row["queue_id"], row["queue_offset"]]
        message = one.message
        assert row["message_id"] == one.message_id
        assert (row["tags"], row["keys"], dict(row["properties"])) == (one.tags, one.keys, one.properties)
        assert (row["topic"], row["body"], row["flag"]) == ("Read", message.body, message.flag)
        assert row["store_timestamp"].timestamp() * 1000 == pytest.approx(message.store_timestamp)
        assert (row["physical_offset"], row["file"], row["store_size"]) == (message.physical_offset, None, one.size)
        assert row["broker"] == "broker-a"


def test_what_is_read_without_a_topic(filled: str) -> None:
    found = set(table(filled, columns="topic").column(0).to_pylist())
    assert found >= {"Read", "Other"}  # other tests use other topics
    assert not any(map(is_hidden, found))
    assert "%RETRY%G" in table(filled, columns="topic", includeSystemTopics=True).column(0).to_pylist()
    assert table(filled, columns="body", topicPattern="O.*").column(0).to_pylist() == [b"other"]
    assert table(filled, columns="body", topic="%RETRY%G").column(0).to_pylist() == [b"again"]


def test_offsets_of_queues(filled: str) -> None:
    found = table(
        filled,
        topic="Read",
        columns="queue_id,queue_offset",
        startingOffsets='{"broker-a": {"Read": {"0": 240, "1": -1, "2": -2}}}',
        endingOffsets='{"Read": {"0": 245, "2": 3, "3": 1}}',
    )
    assert sorted(map(tuple, (row.values() for row in found.to_pylist()))) == [
        *((0, offset) for offset in range(240, 245)),
        *((2, offset) for offset in range(3)),
        (3, 0),
    ]
    assert table(filled, topic="Read", queues="1,3", columns="queue_id").num_rows == 500
    assert table(filled, topic="Read", startingOffsets="latest").num_rows == 0


@pytest.mark.parametrize(
    ("requested", "text"),
    [
        (
            '{"before": {"Read": {"0": 5}}}',
            "queue 0 of topic Read of broker before, which is not there. Queues .* at broker-a",
        ),
        ('{"Read": {"4": 5}}', "queue 4 of topic Read, which is not there"),
    ],
)
def test_offsets_of_missing_queues(filled: str, requested: str, text: str) -> None:
    for option in ("startingOffsets", "endingOffsets"):
        with pytest.raises(OptionInvalid, match=f"option {option} names {text}"):
            table(filled, topic="Read", **{option: requested})
    assert table(filled, topic="Read", queues="1", startingOffsets='{"Other": {"9": 1}}').num_rows == 250


def test_missing_offsets(filled: str, caplog: pytest.LogCaptureFixture) -> None:
    options = {"topic": "Read", "startingOffsets": '{"Read": {"0": 251}}'}
    with pytest.raises(DataLost, match="startingOffsets asks for 251"):
        table(filled, **options)
    assert table(filled, **options, failOnDataLoss=False).num_rows == 750
    assert "startingOffsets asks for 251" in caplog.text


def test_times(filled: str) -> None:
    times = sorted(each.message.store_timestamp for each in messages(filled, "Read"))
    for time in (times[0], times[500], times[-1], times[-1] + 1):
        found = table(filled, topic="Read", startingTimestamp=time, columns="body").num_rows
        assert found == sum(each >= time for each in times)
        assert table(filled, topic="Read", endingTimestamp=time, columns="body").num_rows == 1000 - found


def test_filters_narrow_what_is_pulled(filled: str) -> None:
    filters = [EqualTo(("topic",), "Read"), EqualTo(("queue_id",), 2), GreaterThanOrEqual(("queue_offset",), 200)]
    filters += [LessThan(("queue_offset",), 230), EqualTo(("tags",), "t1")]
    found = Read(None, namesrv=filled, columns="topic,queue_id,queue_offset,tags", filters=filters)
    (part,) = found.partitions
    assert isinstance(part, BrokerPart)
    assert [(*span.queue[1:], span.first, span.end) for span in part.spans] == [("Read", 2, 200, 230)]
    assert [row["tags"] for row in found.rows()] == ["t1"] * 10
    assert Read(None, namesrv=filled, filters=[EqualTo(("topic",), "NotThere")]).partitions == []


def test_a_filter_by_id_is_kept_to(filled: str) -> None:
    wanted = messages(filled, "Read")[7]
    filters = [EqualTo(("message_id",), wanted.message_id)]
    found = Read(None, namesrv=filled, columns="message_id,body", filters=filters).rows()
    assert found == [{"message_id": wanted.message_id, "body": wanted.message.body}]


def test_parts_are_of_the_requested_size(filled: str) -> None:
    parts = reader(filled, topic="Read", minPartitions=6).partitions()
    assert [sum(span.end - span.first for span in part.spans) for part in parts] == [166, 167, 167] * 2
    parts = reader(filled, topic="Read", maxBytesPerPartition="20k").partitions()
    assert 7 <= len(parts) <= 15
    assert reader(filled, topic="Read", startingOffsets="latest").partitions() == []


def test_what_comes_after_the_plan_is_not_read(filled: str) -> None:
    written(filled, rows(body=[b"1", b"2"], queue_id=[0, 0]), topic="Later")
    found = reader(filled, topic="Later", columns="body")
    parts = found.partitions()
    written(filled, rows(body=[b"3"], queue_id=[0]), topic="Later")
    assert [row["body"] for part in parts for batch in found.read(part) for row in batch.to_pylist()] == [b"1", b"2"]
    assert bodies(filled, "Later") == [b"1", b"2", b"3"]


def test_missing_topics_and_queues(filled: str) -> None:
    with pytest.raises(TopicUnknown, match=r"topic No: the name server .* knows no such topic"):
        table(filled, topic="No")
    with pytest.raises(TopicUnknown, match="Read: there is no queue 9 that can be read"):
        table(filled, topic="Read", queues="0,9")


def test_an_endpoint_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocketwire.spark.endpoint.session._PAUSE", 0.001)
    with fake_server() as server:
        address = server.address
    with pytest.raises(EndpointUnreachable, match=rf"name server {address}: cannot be reached"):
        table(address, topic="T")


def read_fake(server: FakeServer, **options: Any) -> tuple[list[dict[str, Any]], list[float]]:
    """All rows of topic T, and how long was waited."""
    slept: list[float] = []
    found = reader(server.address, topic="T", **{"columns": "queue_offset,body", **options})
    rows = [
        row
        for part in found.partitions()
        for batch in read(part, found.request, found.endpoint, sleep=slept.append)
        for row in batch.to_pylist()
    ]
    return rows, slept


def expected(numbers: Any) -> list[dict[str, Any]]:
    return [{"queue_offset": number, "body": b"body %d" % number} for number in numbers]


@pytest.mark.parametrize("at_once", [1, 5, 32, 1000])
def test_messages_come_in_order_however_many_a_broker_gives_at_once(at_once: int) -> None:
    queue = FakeQueue([record(number) for number in range(1500)], at_once=at_once)
    with fake_server(queue.answers()) as server:
        rows, slept = read_fake(server)
    assert rows == expected(range(1500))
    assert slept == []


def test_removed_messages(caplog: pytest.LogCaptureFixture) -> None:
    queue = FakeQueue([record(number) for number in range(100)])
    with fake_server({**queue.answers(), PULL: queue.lossy_pull}) as server:
        with pytest.raises(DataLost, match="broker b, topic T, queue 0: the messages from offset 10 to 19 are gone"):
            read_fake(server)
        rows, slept = read_fake(server, failOnDataLoss=False)
    assert rows == expected([*range(10), *range(20, 90)])
    assert slept == []
    assert "the messages from offset 90 to 99 are gone" in caplog.text


def test_a_broker_that_wants_less_is_given_time() -> None:
    queue = FakeQueue([record(number) for number in range(200)])
    number = count()
    with fake_server(queue.answers()) as server:
        found = reader(server.address, topic="T", columns="queue_offset,body")
        (part,) = found.partitions()
        slept: list[float] = []
        server.answers[PULL] = lambda ext: FakeAnswer(215) if 1 <= next(number) % 10 < 8 else queue.pull(ext)
        batches = list(read(part, found.request, found.endpoint, sleep=slept.append))
        assert [row for batch in batches for row in batch.to_pylist()] == expected(range(200))
        assert slept[:7] == [0.25, 0.5, 1.0, 2.0, 4.0, 5.0, 5.0]
        server.answers[PULL] = lambda _: FakeAnswer(2, remark="later")
        with pytest.raises(EndpointRefused, match=r"answered code 2: later\. Ask for less at once"):
            list(read(part, found.request, found.endpoint, sleep=lambda _: None))


def test_a_connection_that_ends_costs_and_doubles_nothing() -> None:
    queue = FakeQueue([record(number) for number in range(2000)])
    number = count()

    def pull(ext: dict[str, str]) -> FakeAnswer:
        if next(number) in (7, 40):
            server.hang_up()
        return queue.pull(ext)

    with fake_server({**queue.answers(), PULL: pull}) as server:
        rows, slept = read_fake(server)
    assert rows == expected(range(2000))
    assert 1 <= len(slept) <= 4


def test_a_pull_that_is_refused() -> None:
    queue = FakeQueue([record(0)])
    with fake_server(queue.answers()) as server:
        found = reader(server.address, topic="T")
        (part,) = found.partitions()
        server.answers[PULL] = lambda _: FakeAnswer(26, remark="no group")
        with pytest.raises(EndpointRefused, match=r"answered code 26: no group\. Create the group") as caught:
            list(found.read(part))
    assert "accessKey" not in str(caught.value)


def damaged(**options: Any) -> list[dict[str, Any]]:
    queue = FakeQueue([*damaged_records(), record(5)])
    with fake_server(queue.answers()) as server:
        return read_fake(server, columns=f"queue_offset,body,{CORRUPT_RECORD}", **options)[0]


def test_damaged_messages() -> None:
    found = damaged()
    good = [row for row in found if row[CORRUPT_RECORD] is None]
    assert [row["body"] for row in good] == [b"body 0", b"body 3", b"body 5"]
    reasons = sorted(row[CORRUPT_RECORD] for row in found if row[CORRUPT_RECORD] is not None)
    assert len(reasons) == 2
    assert reasons[0].startswith("broker b, topic T, queue 0, near offset 2: ")
    assert "CRC" in reasons[1]
    assert damaged(mode="DROPMALFORMED") == good
    with pytest.raises(RecordMalformed, match="queue 0, near offset 2"):
        damaged(mode="FAILFAST")


def test_names_of_options_are_known_to_reads() -> None:
    given = {"namesrv": "h:1", "accessKey": "a", "secretKey": "s", "endpointTimeoutMs": "1", "consumerGroup": "g"}
    assert read_options(given).namesrv == "h:1"
    assert spark_schema(list(COLUMNS)).names == list(COLUMNS)
