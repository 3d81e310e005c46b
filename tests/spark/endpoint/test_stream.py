"""Streams of a running endpoint, driven as Spark drives them; and of one with given answers."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes, ReadMaxRows

from rocketwire.spark.endpoint.stream import EndpointStreamReader
from rocketwire.spark.errors import DataLost, OptionInvalid
from rocketwire.spark.source import RocketMQDataSource
from rocketwire.wire.facts.codes import RequestCode
from tests.cli.endpoint import Answers, FakeAnswer, FakeServer, fake_server
from tests.spark.endpoint.support import rows, written

Offset = dict[str, Any]


def stream(namesrv: str, **options: Any) -> EndpointStreamReader:
    given = {name: str(value) for name, value in {"namesrv": namesrv, "columns": "topic,body", **options}.items()}
    source = RocketMQDataSource(given)
    return EndpointStreamReader(source.options, source.schema())


class Query:
    """A query: what it has read, micro-batch by micro-batch, and its checkpoint."""

    def __init__(self, reader: EndpointStreamReader, checkpoint: Offset | None = None) -> None:
        self.reader = reader
        self.offset: Offset = reader.initialOffset() if checkpoint is None else checkpoint
        self.batches: list[list[bytes]] = []

    def run(self, limit: Any = None) -> list[bytes]:
        """Read until there is nothing more; the bodies, sorted."""
        before = len(self.batches)
        while self.step(limit):
            assert len(self.batches) < 1000
        return sorted(body for batch in self.batches[before:] for body in batch)

    def step(self, limit: Any = None) -> bool:
        end = self.reader.latestOffset(self.offset, limit or self.reader.getDefaultReadLimit())
        end = json.loads(json.dumps(end))
        if end == self.offset:
            return False
        self.batches.append(self.read(self.offset, end))
        self.offset = end
        return True

    def read(self, start: Offset, end: Offset) -> list[bytes]:
        worker = pickle.loads(pickle.dumps(self.reader))
        parts = pickle.loads(pickle.dumps(self.reader.partitions(start, end)))
        return [row["body"] for part in parts for batch in worker.read(part) for row in batch.to_pylist()]


def numbered(first: int, end: int) -> list[bytes]:
    return [b"%05d" % number for number in range(first, end)]


def test_what_comes_is_read_once(namesrv: str) -> None:
    written(namesrv, rows(body=numbered(0, 3000)), topic="Stream")
    query = Query(stream(namesrv, topic="Stream"))
    assert query.offset["broker-a"]["Stream"].keys() == {"0", "1", "2", "3"}
    assert query.run() == numbered(0, 3000)
    assert query.run() == []
    assert query.reader.reportLatestOffset() == query.offset
    written(namesrv, rows(body=numbered(3000, 3001)), topic="Stream")
    assert query.run() == numbered(3000, 3001)
    again = Query(stream(namesrv, topic="Stream"), query.offset)
    assert again.run() == []
    latest = Query(stream(namesrv, topic="Stream", startingOffsets="latest"))
    assert latest.offset == query.offset
    assert latest.reader.partitions(latest.offset, latest.offset) == []
    query.reader.commit(query.offset)
    query.reader.stop()


def test_a_micro_batch_that_is_done_again_reads_the_same(namesrv: str) -> None:
    written(namesrv, rows(body=numbered(0, 2000)), topic="Again")
    query = Query(stream(namesrv, topic="Again", maxOffsetsPerTrigger=700))
    start = query.offset
    query.step()
    written(namesrv, rows(body=numbered(2000, 2100)), topic="Again")
    other = Query(stream(namesrv, topic="Again", maxOffsetsPerTrigger=700), start)
    assert other.read(start, query.offset) == query.batches[0]
    assert len(query.batches[0]) == 700


def test_limits_are_kept_and_shared_by_the_queues(namesrv: str) -> None:
    written(namesrv, rows(body=numbered(0, 400), queue_id=[0] * 400), topic="Limits")
    written(namesrv, rows(body=numbered(400, 600), queue_id=[1] * 200), topic="Limits")
    query = Query(stream(namesrv, topic="Limits", maxOffsetsPerTrigger=150))
    assert query.reader.getDefaultReadLimit() == ReadMaxRows(150)
    assert query.run() == numbered(0, 600)
    assert [len(batch) for batch in query.batches] == [150] * 4
    assert Counter(body < b"00400" for body in query.batches[0]) == {True: 100, False: 50}
    everything = Query(stream(namesrv, topic="Limits", maxOffsetsPerTrigger=150))
    everything.step(ReadAllAvailable())
    assert len(everything.batches[0]) == 600
    size = 200  # of a record, about
    by_bytes = Query(stream(namesrv, topic="Limits", maxBytesPerTrigger=f"{100 * size}"))
    assert by_bytes.reader.getDefaultReadLimit() == ReadMaxBytes(100 * size)
    assert by_bytes.run() == numbered(0, 600)
    assert all(80 <= len(batch) <= 160 for batch in by_bytes.batches[:-1])
    both = Query(stream(namesrv, topic="Limits", maxBytesPerTrigger="1m", maxOffsetsPerTrigger=500))
    both.run()
    assert [len(batch) for batch in both.batches] == [500, 100]
    least = Query(
        stream(namesrv, topic="Limits", maxBytesPerTrigger="1", startingOffsets='{"Limits": {"0": 398, "1": -1}}')
    )
    assert least.run() == numbered(398, 400)
    assert [len(batch) for batch in least.batches] == [1, 1]


def test_available_now_ends_at_what_was_stored_when_it_began(namesrv: str) -> None:
    written(namesrv, rows(body=numbered(0, 100)), topic="Now")
    query = Query(stream(namesrv, topicPattern="Now.*", maxOffsetsPerTrigger=30))
    query.reader.prepareForTriggerAvailableNow()
    query.step()
    written(namesrv, rows(body=numbered(100, 150)), topic="Now")
    written(namesrv, rows(body=numbered(150, 160)), topic="NowToo")
    query.run()
    assert sorted(body for batch in query.batches for body in batch) == numbered(0, 100)
    later = Query(stream(namesrv, topicPattern="Now.*"), query.offset)
    later.reader.prepareForTriggerAvailableNow()
    assert later.run() == numbered(100, 160)


def test_topics_that_appear_are_read_from_their_first_message_on(namesrv: str) -> None:
    written(namesrv, rows(body=numbered(0, 10)), topic="New1")
    query = Query(stream(namesrv, topicPattern="New.*"))
    assert query.run() == numbered(0, 10)
    written(namesrv, rows(body=numbered(10, 20)), topic="New2")
    assert query.run() == numbered(10, 20)
    assert query.offset["broker-a"].keys() == {"New1", "New2"}


def test_options_that_no_stream_has(namesrv: str) -> None:
    with pytest.raises(OptionInvalid, match="a stream has no option endingOffsets"):
        stream(namesrv, endingOffsets="latest")
    written(namesrv, rows(body=numbered(0, 1)), topic="Known")
    query = Query(stream(namesrv, topic="Known"))
    with pytest.raises(OptionInvalid, match="the checkpoint's offsets cannot be read"):
        query.reader.latestOffset({"seq": "x"}, ReadAllAvailable())


def answers(least: int, most: int) -> Answers:
    """Queue 0 of T has these offsets, and queue 1 none."""
    return {
        RequestCode.GET_MIN_OFFSET: lambda ext: FakeAnswer(0, {"offset": "0" if ext["queueId"] == "1" else str(least)}),
        RequestCode.GET_MAX_OFFSET: lambda ext: FakeAnswer(0, {"offset": "0" if ext["queueId"] == "1" else str(most)}),
        RequestCode.PULL_MESSAGE: lambda _: FakeAnswer(21),
    }


def at(offset: int) -> Offset:
    return {"b": {"T": {"0": offset, "1": 0}}}


def spans(server: FakeServer, start: Offset, end: Offset, **options: Any) -> list[tuple[int, int]]:
    parts = stream(server.address, topic="T", **options).partitions(start, end)
    return [(span.first, span.end) for part in parts for span in part.spans]


def test_messages_that_are_removed_before_they_were_read() -> None:
    with fake_server(answers(10, 20)) as server:
        with pytest.raises(DataLost, match="queue 0: the messages from offset 5 to 9 are gone"):
            spans(server, at(5), at(20))
        assert spans(server, at(5), at(20), failOnDataLoss=False) == [(10, 20)]
        assert spans(server, at(12), at(15)) == [(12, 15)]
        assert spans(server, {}, at(15)) == [(10, 15)]


def test_messages_removed_from_one_queue_do_not_change_the_others() -> None:
    # Of queue 0 all that was to be read is removed, queue 1 has two messages.
    reported: Answers = answers(10, 20) | {
        RequestCode.GET_MAX_OFFSET: lambda ext: FakeAnswer(0, {"offset": "2" if ext["queueId"] == "1" else "20"})
    }
    start, end = {"b": {"T": {"0": 5, "1": 0}}}, {"b": {"T": {"0": 8, "1": 2}}}
    with fake_server(reported) as server:
        assert spans(server, start, end, failOnDataLoss=False) == [(0, 2)]


def test_a_queue_that_appears_loses_nothing_unnoticed() -> None:
    with fake_server(answers(10, 20)) as server:
        reader = stream(server.address, topic="T")
        noted = reader.latestOffset({}, ReadAllAvailable())
        assert noted == at(10)
        assert spans(server, {}, noted) == []
        end = reader.latestOffset(noted, ReadAllAvailable())
        assert end == at(20)
        server.answers |= answers(12, 20)
        assert spans(server, {}, noted) == []
        with pytest.raises(DataLost, match="queue 0: the messages from offset 10 to 11 are gone"):
            spans(server, noted, end)


def test_small_queues_do_not_wait_for_large_ones(namesrv: str) -> None:
    written(namesrv, rows(body=numbered(0, 300), queue_id=[1] * 300), topic="Uneven")
    written(namesrv, rows(body=[b"small"], queue_id=[0]), topic="Uneven")
    query = Query(stream(namesrv, topic="Uneven", maxOffsetsPerTrigger=10))
    assert query.step()
    assert len(query.batches[0]) == 10
    assert b"small" in query.batches[0]


def test_a_topic_that_was_made_again(caplog: pytest.LogCaptureFixture) -> None:
    with fake_server(answers(0, 7)) as server:
        with pytest.raises(DataLost, match="queue 0 ends at offset 7, and was read up to 20"):
            stream(server.address, topic="T").latestOffset(at(20), ReadAllAvailable())
        with pytest.raises(DataLost, match="queue 0 ends at offset 7, and messages up to 20 were there"):
            spans(server, at(5), at(20))
        assert spans(server, at(5), at(20), failOnDataLoss=False) == [(5, 7)]
        going_on = stream(server.address, topic="T", failOnDataLoss=False)
        assert going_on.latestOffset(at(20), ReadAllAvailable()) == at(7)
        assert spans(server, at(20), at(7), failOnDataLoss=False) == [(0, 7)]
    assert "Begin with a new checkpointLocation" not in caplog.text


def test_removed_queues_stay_in_the_offsets() -> None:
    away = {"a": {"T": {"0": 3}}, "b": {"T": {"0": 5, "1": 0}}}
    with fake_server(answers(0, 7)) as server:
        reader = stream(server.address, topic="T")
        assert reader.reportLatestOffset() is None
        end = reader.latestOffset(away, ReadAllAvailable())
        assert end == {"a": {"T": {"0": 3}}, "b": {"T": {"0": 7, "1": 0}}}
        assert reader.reportLatestOffset() == end
        assert spans(server, away, end) == [(5, 7)]
        with pytest.raises(DataLost, match="broker a, topic T, queue 0 is not there any more"):
            spans(server, away, {"a": {"T": {"0": 9}}})
