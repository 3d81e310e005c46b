"""Every message is read once, however a read is split."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.datasource import EqualTo, Filter, GreaterThanOrEqual, In, LessThan

from rocketwire.spark.plan.partitions import LogSpan
from rocketwire.spark.plan.planning import plan, plan_ranges
from rocketwire.spark.read.reading import read as rows_of
from rocketwire.spark.request.options import ReadOptions
from rocketwire.spark.request.request import request_of
from rocketwire.spark.stores.opening import open_stores
from tests.spark.made import Made, make, places
from tests.spark.reads import Read, read
from tests.store.support import Golden

#: Options for a walk, and for a read by queues.
NOTHING_AND_QUEUES: list[dict[str, Any]] = [{}, {"topics": "T0,T1"}]
COLUMNS = "topic,queue_id,queue_offset,physical_offset,tags,store_timestamp,body"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return make(tmp_path_factory.mktemp("made") / "store", 300)


def wanted(made: Made, **having: Any) -> list[int]:
    return [
        one["physical_offset"] for one in made.messages if all(one[name] == value for name, value in having.items())
    ]


RESTRICTIONS: list[dict[str, Any]] = [
    {},
    {"topic": "T0"},
    {"topics": "T1,T0"},
    {"topicPattern": "T."},
    {"queues": "1"},
    {"topic": "T1", "queues": "0"},
]


@pytest.mark.slow
@given(st.integers(1024, 60_000), st.integers(1, 40), st.sampled_from(RESTRICTIONS), st.booleans())
def test_every_message_once_whatever_the_size_of_partitions(
    made: Made, size: int, least: int, restriction: dict[str, Any], narrow: bool
) -> None:
    columns = "topic,queue_id,queue_offset,physical_offset" if narrow else COLUMNS
    found = Read(made.root, columns=columns, maxBytesPerPartition=size, minPartitions=least, **restriction)
    having: dict[str, Any] = {}
    if "topic" in restriction:
        having["topic"] = restriction["topic"]
    if "queues" in restriction:
        having["queue_id"] = int(restriction["queues"])
    rows = found.rows()
    assert places(rows) == wanted(made, **having)
    if least > 1 and not narrow:
        assert len(found.partitions) > 1
    by_place = {one["physical_offset"]: one for one in made.messages}
    for row in rows:
        one = by_place[row["physical_offset"]]
        assert (row["topic"], row["queue_id"], row["queue_offset"]) == (
            one["topic"],
            one["queue_id"],
            one["queue_offset"],
        )
        assert narrow or row["body"] == one["body"]


def test_partitions_are_of_about_the_requested_size(made: Made) -> None:
    for restriction in NOTHING_AND_QUEUES:
        partitions = Read(made.root, maxBytesPerPartition=8192, **restriction).partitions
        sizes = [partition.end - partition.start for partition in partitions if isinstance(partition, LogSpan)]
        assert max(sizes) <= 3 * 8192
        assert len(sizes) < 60_000 // 2048


def test_partitions_are_small(made: Made, golden: Golden) -> None:
    for path, options in ((made.root, {"topics": "T0,T1"}), (golden.untouched, {"includeSystemTopics": True})):
        for partition in Read(path, **options).partitions:
            assert len(pickle.dumps(partition)) < 8192


def test_spans_follow_each_other(made: Made) -> None:
    for restriction in NOTHING_AND_QUEUES:
        found = Read(made.root, maxBytesPerPartition=4096, **restriction).partitions
        spans = [span for span in found if isinstance(span, LogSpan)]
        assert [span.start for span in spans][1:] == [span.end for span in spans][:-1]


def test_a_span_is_clipped(made: Made) -> None:
    cut = made.messages[100]["physical_offset"]
    for restriction in NOTHING_AND_QUEUES:
        found = Read(made.root, columns=COLUMNS, **restriction)
        request = found.reader.request  # type: ignore[attr-defined]  # the base class has none
        spans = [span for span in found.partitions if isinstance(span, LogSpan)]
        halves = [[span.clip(0, cut) for span in spans], [span.clip(cut, 1 << 60) for span in spans]]
        first, second = (
            [
                row
                for span in half
                if span.start < span.end
                for batch in rows_of(span, request)
                for row in batch.to_pylist()
            ]
            for half in halves
        )
        assert places(first) == [one["physical_offset"] for one in made.messages[:100]]
        assert places(second) == [one["physical_offset"] for one in made.messages[100:]]


@pytest.mark.slow
@given(st.data())
def test_ranges_of_queues_are_read_exactly(made: Made, data: st.DataObject) -> None:
    [store] = open_stores(ReadOptions(paths=(str(made.root),)))
    ranges = {}
    for queue in [("T0", 0), ("T0", 1), ("T1", 0), ("T1", 1), ("T9", 0)]:
        first = data.draw(st.integers(0, 80))
        ranges[queue] = first, data.draw(st.integers(first, 80))
    ends = {queue: store.bounds(*queue)[1] for queue in ranges}
    ranges = {queue: (min(first, ends[queue]), min(end, ends[queue])) for queue, (first, end) in ranges.items()}
    spans = plan_ranges(store, ranges, max_bytes=data.draw(st.integers(1, 30_000)))
    request = request_of(ReadOptions(paths=(str(made.root),), columns=tuple(COLUMNS.split(","))))
    rows = [row for span in spans for batch in rows_of(span, request) for row in batch.to_pylist()]
    assert sorted((row["topic"], row["queue_id"], row["queue_offset"]) for row in rows) == sorted(
        (topic, queue_id, offset) for (topic, queue_id), (first, end) in ranges.items() for offset in range(first, end)
    )


@pytest.fixture(params=[True, False], ids=["queues", "no queues"])
def root(made: Made, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The store that was made; then a copy without its consume queues."""
    if request.param:
        return made.root
    copy = tmp_path / "store"
    shutil.copytree(made.root, copy)
    shutil.rmtree(copy / "consumequeue")
    return copy


OFFSETS = json.dumps({"T0": {"0": 10, "1": -1}, "T1": {"0": -2}})


def test_requested_offsets(made: Made, root: Path) -> None:
    def requested(**options: Any) -> list[tuple[str, int, int]]:
        rows = read(root, columns=COLUMNS, **options)
        assert places(rows)
        return sorted((row["topic"], row["queue_id"], row["queue_offset"]) for row in rows)

    every = {(one["topic"], one["queue_id"], one["queue_offset"]) for one in made.messages}
    assert requested(startingOffsets=OFFSETS) == sorted(
        one for one in every if one[:2] != ("T0", 1) and (one[:2] != ("T0", 0) or one[2] >= 10)
    )
    assert requested(endingOffsets=OFFSETS) == sorted(
        one for one in every if one[:2] != ("T1", 0) and (one[:2] != ("T0", 0) or one[2] < 10)
    )
    both = requested(startingOffsets='{"T0": {"0": 3}}', endingOffsets='{"T0": {"0": 5}}', topic="T0", queues="0")
    assert both == [("T0", 0, 3), ("T0", 0, 4)]
    named = json.dumps({str(root): {"T0": {"0": 70}, "T1": {"0": 74}}})
    assert requested(startingOffsets=named, queues="0") == sorted(
        one for one in every if one[1] == 0 and one[2] >= (70 if one[0] == "T0" else 74)
    )
    assert read(root, startingOffsets="latest") == []
    assert read(root, endingOffsets="earliest") == []
    assert requested(startingOffsets="earliest", endingOffsets="latest") == sorted(every)


@pytest.mark.parametrize("topic", ["", "T1"])
def test_requested_times(made: Made, root: Path, topic: str) -> None:
    named = {"topic": topic} if topic else {}
    since, until = made.messages[120]["time"], made.messages[180]["time"]
    expected = [one["physical_offset"] for one in made.messages[120:180] if one["topic"] == (topic or one["topic"])]
    found = read(root, columns=COLUMNS, startingTimestamp=since, endingTimestamp=until, **named)
    assert places(found) == expected
    # Within one ms.
    assert places(read(root, columns=COLUMNS, startingTimestamp=since, endingTimestamp=since + 1, **named)) == [
        place for place in expected if place == made.messages[120]["physical_offset"]
    ]


TIMES = "store_timestamp"


@pytest.mark.parametrize(
    ("filters", "passes"),
    [
        ([EqualTo(("topic",), "T1")], lambda one: one["topic"] == "T1"),
        (
            [EqualTo(("topic",), "T1"), EqualTo(("queue_id",), 1)],
            lambda one: one["topic"] == "T1" and one["queue_id"] == 1,
        ),
        ([In(("queue_id",), (1,))], lambda one: one["queue_id"] == 1),
        (
            [GreaterThanOrEqual(("queue_offset",), 20), LessThan(("queue_offset",), 25)],
            lambda one: 20 <= one["queue_offset"] < 25,
        ),
        ([In(("tags",), ("Tag1", "TagX"))], lambda one: one["tags"] == "Tag1"),
        (
            [EqualTo(("topic",), "T0"), EqualTo(("tags",), "Tag2")],
            lambda one: (one["topic"], one["tags"]) == ("T0", "Tag2"),
        ),
        ([EqualTo(("message_id",), "U0000077")], lambda one: one["message_id"] == "U0000077"),
        ([In(("message_id",), ("U0000002", "U0000299"))], lambda one: one["message_id"] in ("U0000002", "U0000299")),
        ([EqualTo(("topic",), "gone")], lambda one: False),
        ([EqualTo(("message_id",), "gone")], lambda one: False),
    ],
)
def test_filters_let_pass_what_they_select(made: Made, root: Path, filters: list[Filter], passes: Any) -> None:
    rows = Read(root, columns=COLUMNS + ",message_id", filters=filters).rows()
    assert places(rows) == [one["physical_offset"] for one in made.messages if passes(one)]


def test_an_offset_message_id_leads_to_its_place(made: Made) -> None:
    columns = "physical_offset,offset_message_id,message_id,body"
    rows = read(made.root, columns=columns)
    one, other = rows[50], rows[200]
    requested: list[Filter] = [In(("offset_message_id",), (one["offset_message_id"], other["offset_message_id"], "x"))]
    assert Read(made.root, columns=columns, filters=requested).rows() == [one, other]
    # As a message id it is not theirs: they have a unique key.
    by_id: list[Filter] = [EqualTo(("message_id",), one["offset_message_id"])]
    assert Read(made.root, columns=columns, filters=by_id).rows() == []


def test_several_stores(made: Made, tmp_path: Path) -> None:
    other = make(tmp_path / "other", 40, topics=1)
    brokers = json.dumps({str(made.root): "a", str(other.root): "b"})
    for path in (f"{made.root},{other.root}", f"{made.root}, {tmp_path}/o*"):
        rows = read(path, columns="broker,topic,physical_offset", brokers=brokers)
        assert places([row for row in rows if row["broker"] == "a"]) == wanted(made)
        assert places([row for row in rows if row["broker"] == "b"]) == wanted(other)
    offsets = json.dumps({"b": {"T0": {"0": 15}}})
    rows = read(
        f"{made.root},{other.root}", columns="broker,topic,physical_offset", brokers=brokers, startingOffsets=offsets
    )
    assert len([row for row in rows if row["broker"] == "a"]) == 300
    assert len([row for row in rows if row["broker"] == "b"]) == 25
    # One that has no such topic gives nothing.
    assert {row["broker"] for row in read(f"{made.root},{other.root}", columns="broker", topic="T1")} == {
        str(made.root)
    }


def test_a_plan_without_anything_to_read(tmp_path: Path) -> None:
    empty = make(tmp_path / "store", 0)
    assert Read(empty.root).partitions == []
    assert (
        plan(open_stores(ReadOptions(paths=(str(empty.root),))), request_of(ReadOptions(paths=(str(empty.root),))))
        == []
    )
