"""The table of counts has what a group-by over the messages has."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StringType, StructField, StructType

from rocketwire.spark.errors import OptionInvalid, SparkSourceError, TopicUnknown
from rocketwire.wire.java import INT32_MAX
from tests.spark.made import Made, make
from tests.spark.reads import Read
from tests.spark.records import records, stored
from tests.store.support import START, Golden

_MINUTE = 60_000_000
Counts = Counter[tuple[str, str, str | None, int]]


def counts(*roots: Path, **options: Any) -> Counts:
    """What the table has, its rows summed."""
    read = Read(",".join(map(str, roots)), table="counts", failOnDataLoss=False, **options)
    found: Counts = Counter()
    for part in range(len(read.partitions)):
        for batch in read.batches(part):
            brokers, topics, tags, minutes, messages = (
                column.cast("int64").to_pylist() if name == "time" else column.to_pylist()
                for name, column in zip(batch.schema.names, batch.columns, strict=True)
            )
            keys = list(zip(brokers, topics, tags, minutes, strict=True))
            assert len(set(keys)) == len(keys)
            for key, count in zip(keys, messages, strict=True):
                found[key] += count
    return found


def grouped_messages(*roots: Path, **options: Any) -> Counts:
    """The same of the rows of messages."""
    found: Counts = Counter()
    columns = "broker,topic,tags,store_timestamp"
    read = Read(",".join(map(str, roots)), columns=columns, mode="DROPMALFORMED", failOnDataLoss=False, **options)
    for part in range(len(read.partitions)):
        for batch in read.batches(part):
            times = batch.column("store_timestamp").cast("int64")
            for broker, topic, tags, time in zip(*batch.columns[:3], times, strict=True):
                minute = min(max(time.as_py() // _MINUTE, -INT32_MAX), INT32_MAX)
                found[broker.as_py(), topic.as_py(), tags.as_py(), minute * _MINUTE] += 1
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return make(tmp_path_factory.mktemp("made") / "store", 200)


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ({}, 200),
        ({"minPartitions": 7}, 200),
        ({"maxBytesPerPartition": "1k", "minPartitions": 30}, 200),
        ({"topic": "T1"}, 100),
        ({"topicPattern": ".*0"}, 100),
        ({"startingTimestamp": START + 10_000, "endingTimestamp": START + 150_000}, 140),
        ({"startingTimestamp": START // 60_000 * 60_000 + 60_000}, None),
        ({"endingTimestamp": START // 60_000 * 60_000 + 120_000, "topics": "T0,T1"}, None),
    ],
)
def test_they_are_those_of_messages(made: Made, options: dict[str, Any], count: int | None) -> None:
    found = counts(made.root, **options)
    assert found == grouped_messages(made.root, **options)
    assert found.total() == count if count else 0 < found.total() < 200
    assert found == counts(made.root, columnCache="nowhere", **options), "the jar alone reads columns beside a store"


def test_two_stores_are_two_brokers(made: Made, tmp_path: Path) -> None:
    other = make(tmp_path / "other", 50, topics=3).root
    expected = grouped_messages(made.root) + grouped_messages(other)
    assert counts(made.root, other, minPartitions=4) == expected
    named = counts(made.root, other, brokers=json.dumps({str(other): "b"}))
    assert {broker for broker, *_ in named} == {str(made.root), "b"}


def test_golden_stores(golden: Golden) -> None:
    for options in ({}, {"includeSystemTopics": True}):
        found = counts(golden.untouched, **options)
        assert found == grouped_messages(golden.untouched, **options)
        assert found.total() > 100


@settings(max_examples=30, suppress_health_check=[*HealthCheck], deadline=None)
@given(
    fields=st.lists(records(), min_size=1, max_size=8),
    place=st.integers(0, 2000),
    content=st.binary(max_size=60),
    since=st.none() | st.integers(10**10, 1 << 42),
)
def test_odd_and_damaged_records(
    tmp_path_factory: pytest.TempPathFactory,
    fields: list[dict[str, Any]],
    place: int,
    content: bytes,
    since: int | None,
) -> None:
    root = tmp_path_factory.mktemp("odd")
    (root / "commitlog").mkdir()
    data = bytearray(stored(fields).ljust(64 << 10, b"\0"))
    data[place : place + len(content)] = content
    (root / "commitlog" / f"{0:020d}").write_bytes(data)
    options = {"includeSystemTopics": True} | ({} if since is None else {"startingTimestamp": since})
    assert counts(root, **options) == grouped_messages(root, **options)


@pytest.mark.parametrize(("unit", "minutes"), [("hour", 60), ("Day", 24 * 60)])
@pytest.mark.parametrize("options", [{}, {"minPartitions": 7}, {"startingTimestamp": START + 10_000}])
def test_longer_units_of_time(made: Made, options: dict[str, Any], unit: str, minutes: int) -> None:
    expected: Counts = Counter()
    for (broker, topic, tags, time), count in counts(made.root, **options).items():
        expected[broker, topic, tags, time // (minutes * _MINUTE) * minutes * _MINUTE] += count
    assert counts(made.root, countsPer=unit, **options) == expected


def test_its_columns_are_those_named(made: Made) -> None:
    rows = Read(made.root, table="counts", columns="messages,Time").rows()
    assert list(rows[0]) == ["messages", "time"]
    assert isinstance(rows[0]["time"], datetime)
    [nothing] = [InputPartition(None)]  # Spark's own
    assert list(Read(made.root, table="counts").reader.read(nothing)) == []
    assert Read(made.root, table="counts", endingTimestamp=START - 3_600_000).rows() == []


@pytest.mark.parametrize(
    ("options", "error", "what"),
    [
        ({"columns": "topic,tag"}, OptionInvalid, "no column tag in the table counts"),
        ({"queues": "1"}, OptionInvalid, "option queues is for messages, and not for the table counts"),
        ({"startingOffsets": "earliest"}, OptionInvalid, "startingOffsets"),
        ({"mode": "FAILFAST"}, OptionInvalid, "mode"),
        ({"countsPer": "week"}, OptionInvalid, "countsPer=week is none of minute, hour, day"),
        ({"topic": "T"}, TopicUnknown, "there is no topic T"),
        ({"topic": "%LMQ%x"}, OptionInvalid, "light topic"),
    ],
)
def test_unsupported_options_are_errors(
    made: Made, options: dict[str, Any], error: type[SparkSourceError], what: str
) -> None:
    with pytest.raises(error, match=what):
        Read(made.root, table="counts", **options)


def test_a_schema_of_the_users_must_fit(made: Made) -> None:
    with pytest.raises(OptionInvalid, match="the table counts has no column messages of type string"):
        Read(made.root, table="counts", schema=StructType([StructField("messages", StringType())]))


def test_messages_with_a_damaged_body_count(made: Made, tmp_path: Path) -> None:
    root = tmp_path / "store"
    shutil.copytree(made.root, root)
    for number in (0, 60, 61, 150, 199):
        one = made.messages[number]
        path = root / "commitlog" / f"{one['physical_offset'] // 4096 * 4096:020d}"
        data = bytearray(path.read_bytes())
        data[data.index(one["body"], one["physical_offset"] % 4096)] = 0
        path.write_bytes(data)
    for options, count in (({}, 200), ({"minPartitions": 4}, 200), ({"startingTimestamp": START + 60_000}, 140)):
        assert counts(root, **options).total() == count
