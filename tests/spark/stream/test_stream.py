"""Streams over stores, called as by Spark's planner and workers: what is read once, and the errors."""

from __future__ import annotations

import contextlib
import json
import pickle
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes, ReadMaxRows

from pyspark_rocketmq import DefaultSource
from rocketwire.spark.errors import DataLost, NotAStore, OptionInvalid, PathUnreadable, TopicUnknown
from rocketwire.spark.stream.stream import StoreStreamReader
from rocketwire.store.store import MessageStore
from tests.store.support import Clock, draft, open_store, remove_log_file, small

COLUMNS = "topic,queue_id,queue_offset,body,store_size"
ALL = ReadAllAvailable()
Row = dict[str, Any]


class Stream:
    """A running query's side: it keeps offsets as a checkpoint does."""

    def __init__(self, root: Path, **options: Any) -> None:
        texts = {"path": str(root), "columns": COLUMNS} | {name: str(value) for name, value in options.items()}
        source = DefaultSource(CaseInsensitiveDict(texts))
        reader = StoreStreamReader(source.options, source.schema())
        self.reader = reader
        self.offsets: dict[str, Any] = _kept(reader.initialOffset())

    def limit(self) -> ReadLimit:
        return self.reader.getDefaultReadLimit()

    def batch(self, limit: ReadLimit | None = None) -> list[Row]:
        end = _kept(self.reader.latestOffset(self.offsets, self.limit() if limit is None else limit))
        rows = self.rows(self.offsets, end)
        self.offsets = end
        return rows

    def rows(self, start: dict[str, Any], end: dict[str, Any]) -> list[Row]:
        partitions = [pickle.loads(pickle.dumps(partition)) for partition in self.reader.partitions(start, end)]
        return [row for each in partitions for batch in self.reader.read(each) for row in batch.to_pylist()]


def _kept(offsets: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(offsets))
    return found


def places(rows: list[Row]) -> list[tuple[str, int, int]]:
    return [(row["topic"], row["queue_id"], row["queue_offset"]) for row in rows]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[MessageStore]:
    opened = open_store(small(tmp_path, commit_log_file_size=1 << 14), clock)
    yield opened
    opened.close()


def put(store: MessageStore, first: int, count: int, **changes: Any) -> set[tuple[str, int, int]]:
    for number in range(first, first + count):
        values: dict[str, Any] = {"queue_id": number % 3, "body": b"%05d" % number}
        store.append([draft(number, **values | changes)])
    topic = changes.get("topic", "T")
    return {(topic, queue, offset) for queue in range(3) for offset in range(store.max_offset(topic, queue))}


def test_what_is_appended_comes_once(store: MessageStore, tmp_path: Path) -> None:
    put(store, 0, 10)
    stream = Stream(tmp_path)
    seen = places(stream.batch())
    assert stream.batch() == []
    expected = put(store, 10, 300)
    seen += places(stream.batch())
    assert sorted(seen) == sorted(expected)


def test_a_batch_that_is_done_again_is_the_same(store: MessageStore, tmp_path: Path) -> None:
    put(store, 0, 20)
    stream = Stream(tmp_path)
    start = stream.offsets
    rows = stream.batch()
    put(store, 20, 20)
    assert Stream(tmp_path).rows(start, stream.offsets) == rows


def test_columns_beside_the_store_are_not_touched(store: MessageStore, tmp_path: Path) -> None:
    put(store, 0, 10)
    assert len(Stream(tmp_path, columns="topic,tags,store_timestamp", columnCache="nowhere").batch()) == 10


def test_topics_and_queues_that_appear_are_read_from_their_start(store: MessageStore, tmp_path: Path) -> None:
    put(store, 0, 3)
    stream = Stream(tmp_path)
    stream.batch()
    put(store, 3, 3, topic="Later", queue_id=2)
    assert stream.batch() == []  # they are noted
    assert places(stream.batch()) == [("Later", 2, 0), ("Later", 2, 1), ("Later", 2, 2)]


@pytest.mark.parametrize(
    ("where", "expected"), [("latest", []), ('{"T": {"1": 2}}', [2, 3]), ("earliest", [0, 1, 2, 3])]
)
def test_where_a_stream_begins(store: MessageStore, tmp_path: Path, where: str, expected: list[int]) -> None:
    put(store, 0, 12)
    stream = Stream(tmp_path, startingOffsets=where, queues="1")
    assert [row["queue_offset"] for row in stream.batch()] == expected


def test_a_stream_begins_at_a_time(store: MessageStore, tmp_path: Path, clock: Clock) -> None:
    put(store, 0, 30)
    clock.now += 1_000_000
    put(store, 30, 30)
    stream = Stream(tmp_path, startingTimestamp=clock.now)
    assert sorted(row["body"] for row in stream.batch()) == [b"%05d" % number for number in range(30, 60)]
    assert Stream(tmp_path, startingTimestamp=clock.now + 1_000_000).batch() == []


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[str, int, int]]]:
    """A store of 60 messages of different sizes, and what they are."""
    root = tmp_path_factory.mktemp("limits")
    opened = open_store(small(root, commit_log_file_size=1 << 14), Clock())
    for number in range(60):
        expected = put(opened, number, 1, body=bytes(number * 37 % 700))
    opened.close()
    return root, sorted(expected)


@pytest.mark.slow
@given(rows=st.integers(1, 40), size=st.none() | st.integers(1, 20_000))
@settings(max_examples=20)
def test_limits_are_kept_and_all_comes(
    waiting: tuple[Path, list[tuple[str, int, int]]], rows: int, size: int | None
) -> None:
    root, expected = waiting
    options = {"maxOffsetsPerTrigger": rows} | ({} if size is None else {"maxBytesPerTrigger": size})
    stream = Stream(root, **options)
    assert stream.limit() == ReadMaxRows(rows)
    seen: list[tuple[str, int, int]] = []
    while found := stream.batch():
        assert len(found) <= rows
        assert size is None or sum(row["store_size"] for row in found) <= size or len(found) == 1
        seen += places(found)
    assert sorted(seen) == expected


def test_the_engine_may_request_all_whatever_the_limits(store: MessageStore, tmp_path: Path) -> None:
    put(store, 0, 60)
    stream = Stream(tmp_path, maxBytesPerTrigger="1k")
    assert stream.limit() == ReadMaxBytes(1024)
    assert len(stream.batch(ALL)) == 60


def test_available_now_reads_the_present_messages_and_ends(store: MessageStore, tmp_path: Path) -> None:
    expected = put(store, 0, 50)
    stream = Stream(tmp_path, maxOffsetsPerTrigger=7)
    stream.reader.prepareForTriggerAvailableNow()
    seen: list[tuple[str, int, int]] = []
    while found := stream.batch():
        put(store, 1000 + len(seen), 5)
        put(store, 2000 + len(seen), 1, topic="Later")
        seen += places(found)
    assert sorted(seen) == sorted(expected)


def test_what_waits_longest_is_taken_whatever_its_size(store: MessageStore, tmp_path: Path) -> None:
    store.append([draft(0, queue_id=0, body=bytes(3000))])
    stream = Stream(tmp_path, maxBytesPerTrigger="1k")
    put(store, 1, 60, queue_id=1)
    seen = [places(stream.batch()) for _ in range(4)]
    assert seen[0] == [("T", 0, 0)]
    assert all(len(found) > 1 for found in seen[1:])


def test_small_queues_do_not_wait_for_large_ones(store: MessageStore, tmp_path: Path) -> None:
    put(store, 0, 50, queue_id=1)
    stream = Stream(tmp_path, maxOffsetsPerTrigger=5)
    put(store, 50, 1, queue_id=0)
    put(store, 51, 1000, queue_id=1)
    seen = [place for _ in range(11) for place in places(stream.batch())]
    assert seen.count(("T", 0, 0)) == 1
    assert len(seen) == 55


def test_a_queue_that_appears_loses_nothing_unnoticed(store: MessageStore, tmp_path: Path) -> None:
    put(store, 0, 3)
    stream = Stream(tmp_path)
    stream.batch()
    put(store, 3, 300, topic="Later")
    start = stream.offsets
    assert stream.batch() == []
    noted = stream.offsets
    end = _kept(stream.reader.latestOffset(noted, ALL))
    assert len(stream.rows(noted, end)) == 300
    remove_log_file(store)
    assert stream.rows(start, noted) == []
    with pytest.raises(DataLost, match=r"Later, queue 0 of .* those from 0 on were to be read"):
        stream.rows(noted, end)


def test_a_store_that_was_away_for_a_while(tmp_path: Path) -> None:
    roots = [tmp_path / name for name in "ab"]
    for root in roots:
        opened = open_store(small(root), Clock())
        put(opened, 0, 3)
        opened.close()
    stream = Stream(tmp_path / "*")
    stream.reader.prepareForTriggerAvailableNow()
    stream.offsets.pop(str(roots[1]))
    shutil.rmtree(roots[1])
    assert len(stream.batch(ReadMaxRows(5))) == 3
    assert stream.batch() == []


def test_a_store_without_queues_to_follow_is_refused(tmp_path: Path) -> None:
    open_store(small(tmp_path), Clock()).close()
    Stream(tmp_path)  # nothing is in it
    opened = open_store(small(tmp_path), Clock())
    put(opened, 0, 3)
    queues = tmp_path / "consumequeue"
    queues.rename(tmp_path / "moved")
    Stream(tmp_path)  # its broker may be about to make them
    (tmp_path / "consumequeue_rocksdb").mkdir()
    with pytest.raises(NotAStore, match="has messages and no consume queues"):
        Stream(tmp_path)
    (tmp_path / "consumequeue_rocksdb").rmdir()
    (tmp_path / "moved").rename(queues)
    opened.close()
    queues.rename(tmp_path / "moved")
    with pytest.raises(NotAStore, match="has messages and no consume queues"):
        Stream(tmp_path)
    (tmp_path / "moved").rename(queues)
    assert len(Stream(tmp_path).batch()) == 3
    shutil.copytree(queues / "T", tmp_path / "batchconsumequeue" / "B")
    assert len(Stream(tmp_path).batch()) == 3
    with pytest.raises(TopicUnknown, match="B is a batch topic"):
        Stream(tmp_path, topic="T,B")


def test_messages_that_were_removed_before_they_were_read(store: MessageStore, tmp_path: Path) -> None:
    put(store, 0, 300)
    stream, patient = Stream(tmp_path), Stream(tmp_path, failOnDataLoss="false")
    remove_log_file(store)
    with pytest.raises(DataLost, match=r"\[ROCKETMQ_DATA_LOST\] T, queue 0 of .* failOnDataLoss"):
        stream.batch()
    left = places(patient.batch())
    for queue in range(3):
        offsets = sorted(offset for _, number, offset in left if number == queue)
        assert offsets == list(range(offsets[0], 100))
        assert 0 < offsets[0] < 100


def test_a_store_that_was_replaced(store: MessageStore, tmp_path: Path) -> None:
    put(store, 0, 30)
    stream = Stream(tmp_path)
    start = stream.offsets
    stream.batch()
    far = json.loads(json.dumps(stream.offsets))
    far[str(tmp_path)]["T"]["0"] += 5
    with pytest.raises(DataLost, match="those up to 15 were there before"):
        stream.rows(start, far)
    with pytest.raises(DataLost, match="none of the stores is of that broker"):
        stream.rows({}, {"another": {"T": {"0": 1}}})


def test_a_queue_that_was_made_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    root = tmp_path / "store"
    with contextlib.closing(open_store(small(root), Clock())) as before:
        put(before, 0, 30)
        stream, patient = Stream(root), Stream(root, failOnDataLoss="false")
        assert (len(stream.batch()), len(patient.batch())) == (30, 30)
    for each in (stream, patient):
        del each.offsets[str(root)]["@last"]  # as a checkpoint of before
    shutil.rmtree(root)
    with contextlib.closing(open_store(small(root), Clock())) as after:
        expected = put(after, 0, 15)
        with pytest.raises(DataLost, match=r"T, queue 0 of .* ends at offset 5, and was read up to 10"):
            stream.batch()
        assert sorted(places(patient.batch())) == sorted(expected)
        assert "going on" in caplog.text
        put(after, 15, 3)
        assert len(patient.batch()) == 3


@pytest.mark.parametrize("size", [5, 6, 700])
@pytest.mark.parametrize("count", [15, 60])
def test_a_store_that_was_made_again(tmp_path: Path, size: int, count: int, caplog: pytest.LogCaptureFixture) -> None:
    root, clock = tmp_path / "store", Clock()
    with contextlib.closing(open_store(small(root), clock)) as before:
        put(before, 0, 15, body=bytes(5))
        stream, patient = Stream(root), Stream(root, failOnDataLoss="false")
        begun = stream.offsets
        assert (len(stream.batch()), len(patient.batch())) == (15, 15)
    shutil.rmtree(root)
    clock.now += 1000
    with contextlib.closing(open_store(small(root), clock)) as after:
        expected = put(after, 0, count, body=bytes(size))
        for resumed in (stream, Stream(root)):
            resumed.offsets = stream.offsets
            with pytest.raises(DataLost, match=r"was read before, and the log has another .* failOnDataLoss"):
                resumed.batch()
            with pytest.raises(DataLost, match="was read before, and the log has another"):
                resumed.rows(begun, stream.offsets)  # a micro-batch that was not done
        assert patient.rows(begun, stream.offsets) == []
        assert sorted(places(patient.batch())) == sorted(expected)
        assert "going on" in caplog.text
        put(after, count, 3)
        assert len(patient.batch()) == 3
        assert patient.batch() == []


def test_a_store_whose_read_messages_were_removed_is_the_same(store: MessageStore, tmp_path: Path) -> None:
    put(store, 0, 90)
    stream = Stream(tmp_path, topic="T")
    assert len(stream.batch()) == 90
    put(store, 90, 150, topic="Other")
    remove_log_file(store)
    assert stream.batch() == []
    put(store, 240, 3)
    assert len(stream.batch()) == 3


def test_a_stream_that_begins_at_the_end_knows_the_store(tmp_path: Path) -> None:
    root, clock = tmp_path / "store", Clock()
    for start, count in ((0, 30), (1000, 60)):
        clock.now += start
        with contextlib.closing(open_store(small(root), clock)) as opened:
            put(opened, start, count)
        if start == 0:
            stream = Stream(root, startingOffsets="latest")
            shutil.rmtree(root)
    with pytest.raises(DataLost, match="was read before"):
        stream.batch()


def test_limits_do_not_lose_sight_of_the_newest(store: MessageStore, tmp_path: Path) -> None:
    put(store, 0, 60)
    stream, seen = Stream(tmp_path, maxOffsetsPerTrigger=7), [0]
    while stream.batch():
        seen.append(stream.offsets[str(tmp_path)]["@last"]["physical_offset"])
    whole = Stream(tmp_path)
    whole.batch()
    assert seen == sorted(seen)
    assert whole.offsets == stream.offsets


def test_queues_that_a_broker_fills_again_after_a_crash_are_waited_for(store: MessageStore, tmp_path: Path) -> None:
    put(store, 0, 30)
    stream = Stream(tmp_path, failOnDataLoss="false")
    start = stream.offsets
    stream.batch()
    queue = tmp_path / "consumequeue" / "T" / "1"
    kept = {file: file.read_bytes() for file in queue.iterdir()}
    for file, data in kept.items():
        file.write_bytes(bytes(len(data)))
    assert stream.batch() == []
    with pytest.raises(PathUnreadable, match="fills its queues again after a crash"):
        stream.rows(start, stream.offsets)
    for file, data in kept.items():
        file.write_bytes(data)
    assert len(stream.rows(start, stream.offsets)) == 30
    put(store, 30, 3)
    assert len(stream.batch()) == 3


def test_what_a_stream_cannot_have(store: MessageStore, tmp_path: Path) -> None:
    put(store, 0, 3)
    for options in ({"endingOffsets": "latest"}, {"endingTimestamp": "2026-01-01"}, {"maxOffsetsPerTrigger": "none"}):
        with pytest.raises(OptionInvalid, match=next(iter(options))):
            Stream(tmp_path, **options)
    with pytest.raises(TopicUnknown, match="there is no topic Nothing"):
        Stream(tmp_path, topic="Nothing")


def test_the_backlog_is_reported(store: MessageStore, tmp_path: Path) -> None:
    put(store, 0, 9)
    stream = Stream(tmp_path, maxOffsetsPerTrigger=1)
    assert stream.reader.reportLatestOffset() is None
    stream.batch()
    assert stream.reader.reportLatestOffset() == {str(tmp_path): {"T": {"0": 3, "1": 3, "2": 3}}}
