"""Stores that change between the plan and the reading: a snapshot is read, and missing messages are reported."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyspark.sql.datasource import EqualTo

from rocketwire.spark.errors import DataLost
from rocketwire.store.offline.read.directory import StoreState, discover
from rocketwire.store.store import MessageStore
from tests.spark.made import Made, fill, make, places
from tests.spark.reads import Read, read
from tests.store.support import Clock, kill, open_store, remove_log_file, small

COLUMNS = "topic,queue_id,queue_offset,physical_offset,body,_corrupt_record"
WAYS: list[dict[str, Any]] = [
    {"columns": COLUMNS},
    {"columns": COLUMNS, "topics": "T0,T1"},
    {"columns": "topic,queue_id,queue_offset,physical_offset"},
]


@pytest.fixture
def live(tmp_path: Path) -> Iterator[tuple[Made, MessageStore, Clock]]:
    """A store that has messages, and its broker."""
    made, clock = Made(tmp_path / "store"), Clock()
    store = open_store(small(made.root), clock)
    fill(made, store, clock, 60)
    yield made, store, clock
    store.close()


def expected(made: Made, count: int | None = None) -> list[int]:
    return [one["physical_offset"] for one in made.messages[:count]]


def ends(made: Made) -> list[int]:
    return [one["physical_offset"] + one["size"] for one in made.messages]


@pytest.mark.parametrize("way", WAYS)
def test_what_is_appended_later_is_not_read(live: tuple[Made, MessageStore, Clock], way: Any) -> None:
    made, store, clock = live
    assert discover(str(made.root)).state is StoreState.LIVE
    planned = Read(made.root, **way)
    fill(made, store, clock, 60)
    assert places(planned.rows()) == expected(made, 60)
    assert places(read(made.root, **way)) == expected(made)


@pytest.mark.parametrize("way", WAYS[:2])
def test_expired_files_are_lost(live: tuple[Made, MessageStore, Clock], way: Any) -> None:
    made, store, _ = live
    planned = Read(made.root, **way)
    tolerant = Read(made.root, failOnDataLoss="false", **way)
    remove_log_file(store)
    with pytest.raises(DataLost, match=r"ROCKETMQ_DATA_LOST.*00000000000000000000.*Set failOnDataLoss to false"):
        planned.rows()
    left = [place for place in expected(made) if place >= 4096]
    assert places(tolerant.rows()) == left
    # A new plan reads the present messages.
    assert places(read(made.root, **way)) == left


def test_removed_offsets(live: tuple[Made, MessageStore, Clock]) -> None:
    made, store, _ = live
    remove_log_file(store)
    first = next(one for one in made.messages if one["physical_offset"] >= 4096 and one["topic"] == "T0")
    queue, offset = first["queue_id"], first["queue_offset"]
    requested = {"topic": "T0", "queues": queue, "startingOffsets": f'{{"T0": {{"{queue}": {offset - 1}}}}}'}
    with pytest.raises(DataLost, match=f"has the offsets from {offset} to 15: startingOffsets asks for {offset - 1}"):
        read(made.root, **requested)
    found = read(made.root, columns="queue_offset", failOnDataLoss="false", **requested)
    assert [row["queue_offset"] for row in found] == list(range(offset, 15))
    with pytest.raises(DataLost, match="endingOffsets asks for those up to 16"):
        read(made.root, topic="T0", queues=queue, endingOffsets=f'{{"T0": {{"{queue}": 16}}}}')


@pytest.mark.slow
@settings(max_examples=40)
@example(cut=11577, way=WAYS[0], zeros=True)  # inside a record of the last part, with nothing whole behind it
@given(cut=st.integers(0, 12_287), way=st.sampled_from(WAYS[:2]), zeros=st.booleans())
def test_a_log_that_is_cut_after_the_plan(
    tmp_path_factory: pytest.TempPathFactory, cut: int, way: Any, zeros: bool
) -> None:
    made = make(tmp_path_factory.mktemp("cut") / "store", 75)
    strict = Read(made.root, maxBytesPerPartition=3000, **way)
    tolerant = Read(made.root, maxBytesPerPartition=3000, failOnDataLoss="false", **way)
    for file in sorted((made.root / "commitlog").iterdir()):
        start = int(file.name)
        if start + 4096 > cut:
            keep = max(0, cut - start)
            os.truncate(file, keep)
            if zeros:
                os.truncate(file, 4096)
    whole = [place for place, end in zip(expected(made), ends(made), strict=True) if end <= cut]
    rows = tolerant.rows()
    found = places([row for row in rows if row["_corrupt_record"] is None])
    # Properties have no checksum: it is unknown whether zeros were always there.
    assert found[: len(whole)] == whole
    assert len(found) <= len(whole) + zeros
    bodies = {one["physical_offset"]: one["body"] for one in made.messages}
    assert all(row["body"] == bodies[row["physical_offset"]] for row in rows if row["_corrupt_record"] is None)
    if cut < expected(made)[-1]:
        with pytest.raises(DataLost):
            strict.rows()


@settings(max_examples=60)
@given(data=st.data(), way=st.sampled_from(WAYS[:2]), crashed=st.booleans())
def test_a_torn_tail_is_no_message(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, way: Any, crashed: bool
) -> None:
    """A record is being copied into the log, or was when the broker died: only its first bytes are written."""
    made, clock = Made(tmp_path_factory.mktemp("torn") / "store"), Clock()
    store = open_store(small(made.root), clock)
    fill(made, store, clock, data.draw(st.integers(4, 40)))
    last = made.messages[-1]["physical_offset"]
    file = made.root / "commitlog" / f"{last // 4096 * 4096:020d}"
    whole = file.read_bytes()
    size = int.from_bytes(whole[last % 4096 : last % 4096 + 4])
    written = data.draw(st.integers(0, size - 1))
    at = last % 4096 + written
    with file.open("r+b") as opened:
        opened.seek(at)
        opened.write(bytes(last % 4096 + size - at))
    try:
        if crashed:
            kill(store)
            assert discover(str(made.root)).state is StoreState.CRASHED
        rows = read(made.root, **way)
        untorn = whole[at : last % 4096 + size].strip(b"\0") == b""
        assert places(rows) == expected(made, None if untorn else -1)
        assert all(row["_corrupt_record"] is None for row in rows)
    finally:
        if not crashed:
            store.close()


@pytest.mark.parametrize("way", WAYS)
def test_a_crashed_store_is_walked(tmp_path: Path, way: Any) -> None:
    made, clock = Made(tmp_path / "store"), Clock()
    store = open_store(small(made.root), clock)
    fill(made, store, clock, 50)
    kill(store)
    # The queues' last pages were lost.
    for queue in (made.root / "consumequeue").glob("T0/*/*"):
        os.truncate(queue, 40)
        os.truncate(queue, 320)
    found = Read(made.root, **way)
    assert all(getattr(partition, "queues", None) is None for partition in found.partitions)
    assert places(found.rows()) == expected(made)


def test_a_queue_file_that_is_removed_after_the_plan(tmp_path: Path) -> None:
    made = make(tmp_path / "store", 100)
    way = WAYS[1]
    strict, tolerant = Read(made.root, **way), Read(made.root, failOnDataLoss="false", **way)
    (made.root / "consumequeue/T0/0" / f"{0:020d}").unlink()
    with pytest.raises(DataLost, match="16 entries of T0, queue 0, are gone"):
        strict.rows()
    assert places(tolerant.rows()) == [
        one["physical_offset"]
        for one in made.messages
        if (one["topic"], one["queue_id"]) != ("T0", 0) or one["queue_offset"] >= 16
    ]


def test_a_log_file_that_is_removed_after_the_plan_of_a_look_by_ids(tmp_path: Path) -> None:
    made = make(tmp_path / "store", 100)
    ids = [EqualTo(("message_id",), "U0000003")]
    strict = Read(made.root, filters=ids)
    tolerant = Read(made.root, filters=ids, failOnDataLoss="false")
    assert len(strict.rows()) == 1
    (made.root / "commitlog" / f"{0:020d}").unlink()
    with pytest.raises(DataLost, match="was removed since the read was planned"):
        strict.rows()
    assert tolerant.rows() == []
