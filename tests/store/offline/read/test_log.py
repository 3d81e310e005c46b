"""Of `log` and `opening`."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pytest

from rocketwire.store.errors import StoreUnreadable
from rocketwire.store.offline.read.directory import RowFile, discover
from rocketwire.store.offline.read.heads import head_store_time, promised_size
from rocketwire.store.offline.read.log import CommitLogReader, LogFileReader, RecordPlace
from rocketwire.store.offline.read.opening import FileGone, OpenFile, read_whole
from rocketwire.store.records.walk import WalkEnd
from rocketwire.wire.message import MessageRecord, encode_record
from tests.store.support import START, Golden, draft, open_store, small

V6 = ("2001:db8::1", 10911)


def row_file(path: Path, start: int = 0) -> RowFile:
    status = path.stat()
    return RowFile(str(path), start, status.st_size, status.st_blocks * 512, 0)


def log_file(path: Path, messages: list[MessageRecord], size: int) -> RowFile:
    """A commit log file of these messages, put at their places."""
    content = b""
    for message in messages:
        content += encode_record(
            MessageRecord(
                topic=message.topic,
                queue_id=0,
                body=message.body,
                physical_offset=len(content),
                store_timestamp=START,
                born_host=message.born_host,
                store_host=message.store_host,
            )
        )
    path.write_bytes(content)
    os.truncate(path, size)
    return row_file(path)


@pytest.mark.parametrize("version", ["golden_497", "golden_550"])
@pytest.mark.parametrize("block", [4096, 10_000, 4 << 20])
def test_all_records_of_apache_are_read_in_blocks(version: str, block: int, request: pytest.FixtureRequest) -> None:
    golden: Golden = request.getfixturevalue(version)
    expected = [line for line in golden.lines("expected.jsonl") if line["type"] == "message"]
    found: list[tuple[int, int, int]] = []
    stops = []
    for file in discover(str(golden.untouched)).commit_log:
        with LogFileReader(file) as opened:
            blocks = list(opened.blocks(block=block))
        for before, after in pairwise(blocks):
            assert before.stop in (WalkEnd.MORE, WalkEnd.FULL)
            assert len(after.records.position) == 0 or after.records.physical_offset[0] == before.next
        stops.append(blocks[-1].stop)
        for one in blocks:
            columns = one.records
            found += zip(
                columns.physical_offset.tolist(), columns.size.tolist(), columns.store_timestamp.tolist(), strict=True
            )
            assert [len(one.record(n)) for n in range(len(columns.size))] == columns.size.tolist()
    assert found == [(line["physicalOffset"], line["storeSize"], line["storeTimestamp"]) for line in expected]
    assert stops == [WalkEnd.BLANK, WalkEnd.BLANK, WalkEnd.UNWRITTEN]


def test_a_record_larger_than_a_block_is_read_whole(tmp_path: Path) -> None:
    sizes = [10, 50_000, 3, 9_000, 20]
    file = log_file(
        tmp_path / "log", [MessageRecord(topic="T", queue_id=0, body=bytes([65]) * size) for size in sizes], 1 << 17
    )
    with LogFileReader(file) as opened:
        blocks = list(opened.blocks(block=4096))
    assert [size for block in blocks for size in block.records.body_length.tolist()] == sizes
    assert max(len(block.buffer) for block in blocks) < 64_000
    assert blocks[-1].stop is WalkEnd.UNWRITTEN


def test_room_is_not_made_for_a_record_that_only_claims_to_be_large(tmp_path: Path) -> None:
    file = log_file(tmp_path / "log", [MessageRecord(topic="T", queue_id=0, body=b"x")], 8 << 20)
    with Path(file.path).open("r+b") as content:
        content.write((6 << 20).to_bytes(4))
    with LogFileReader(file) as opened:
        (block,) = opened.blocks(block=4096)
    assert (block.stop, block.next, len(block.buffer)) == (WalkEnd.DAMAGED, 0, 4096)
    assert "lengths" in block.reason


def test_a_file_that_was_cut_ends_with_damage(tmp_path: Path) -> None:
    messages = [MessageRecord(topic="T", queue_id=0, body=bytes([65]) * 1000) for _ in range(4)]
    file = log_file(tmp_path / "log", messages, 1 << 16)
    size = len(encode_record(MessageRecord(topic="T", queue_id=0, body=bytes(1000))))
    for left, count in [(2 * size + 10, 2), (2 * size, 2), (size + 200, 1)]:
        os.truncate(file.path, left)
        with LogFileReader(file) as opened:
            blocks = list(opened.blocks())
        assert sum(len(block.records.size) for block in blocks) == count
        assert (blocks[-1].stop, blocks[-1].next) == (WalkEnd.DAMAGED, count * size)
    os.truncate(file.path, 0)
    with LogFileReader(file) as opened:
        (block,) = opened.blocks()
    assert block.stop is WalkEnd.UNWRITTEN
    assert opened.end == 1 << 16


def test_blocks_may_begin_at_any_record(golden_497: Golden) -> None:
    file = discover(str(golden_497.untouched)).commit_log[1]
    with LogFileReader(file) as opened:
        whole = [place for block in opened.blocks() for place in block.records.physical_offset.tolist()]
        for start in whole[::50]:
            part = [place for block in opened.blocks(start) for place in block.records.physical_offset.tolist()]
            assert part == whole[whole.index(start) :]


def test_a_removed_file_stays_readable_where_it_is_open(golden_497: Golden, tmp_path: Path) -> None:
    directory = discover(str(golden_497.copy(tmp_path)))
    with CommitLogReader(directory.commit_log) as log:
        before = log.read(0, 500)
        Path(directory.commit_log[0].path).unlink()
        Path(directory.commit_log[1].path).unlink()
        assert log.read(0, 500) == before
        with pytest.raises(FileGone):
            log.read(directory.commit_log[1].start, 1)
        assert log.store_time(directory.commit_log[1].start) is None
        places = [RecordPlace(file.start, 20) for file in directory.commit_log]
        assert [len(data) for _, data in log.gather(places)] == [20, 0, 20]
    with pytest.raises(FileGone):
        LogFileReader(directory.commit_log[0])


def test_single_records_are_found_by_their_place(golden_550: Golden) -> None:
    directory = discover(str(golden_550.untouched))
    expected = [line for line in golden_550.lines("expected.jsonl") if line["type"] == "message"]
    with CommitLogReader(directory.commit_log) as log:
        for line in expected:
            record = log.record(line["physicalOffset"])
            assert record is not None
            assert len(record) == line["storeSize"]
            assert log.store_time(line["physicalOffset"]) == line["storeTimestamp"]
        assert log.record(expected[3]["physicalOffset"] + 1) is None
        assert log.record(1 << 40) is None
        assert log.record(-5) is None
        assert log.store_time(1 << 40) is None
        assert log.file_of(directory.commit_log[-1].end) is None


@pytest.mark.parametrize("step", [1, 2, 30])
def test_places_are_gathered_in_their_order(step: int, golden_497: Golden) -> None:
    directory = discover(str(golden_497.untouched))
    lines = [line for line in golden_497.lines("expected.jsonl") if line["type"] == "message"][::step]
    places = [RecordPlace(line["physicalOffset"], line["storeSize"], number, 3) for number, line in enumerate(lines)]
    with CommitLogReader(directory.commit_log) as log:
        found = list(log.gather(places))
        assert [place for place, _ in found] == places
        assert [len(data) for _, data in found] == [place.size for place in places]
        assert [data for _, data in log.gather(reversed(places))] == [data for _, data in reversed(found)]
        assert list(log.gather([])) == []


def test_a_place_as_large_as_no_record_costs_no_room(golden_497: Golden) -> None:
    directory = discover(str(golden_497.untouched))
    with CommitLogReader(directory.commit_log) as log:
        (_, data), (_, following) = log.gather([RecordPlace(0, 0x7FFFFFFE), RecordPlace(20, 30)])
    assert len(data) < 200
    assert len(following) == 30, "what follows is read separately"


def test_a_store_time_is_read_with_hosts_of_either_size() -> None:
    message = {"topic": "T", "queue_id": 0, "body": b"", "physical_offset": 7, "store_timestamp": START}
    for hosts in ({}, {"born_host": V6}, {"store_host": V6}, {"born_host": V6, "store_host": V6}):
        record = encode_record(MessageRecord(**message, **hosts))  # type: ignore[arg-type]
        assert head_store_time(record, 7) == START
        assert head_store_time(record, 8) is None
        assert promised_size(record, 0, 7) == len(record)
        assert promised_size(record[:40], 0, 7) is None
        assert promised_size(record[:92], 0, 7) in (None, len(record))
    assert head_store_time(bytes(200), 0) is None
    assert head_store_time(b"", 0) is None


def test_an_unwritten_file_has_no_store_time(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(bytes(8192))
    with LogFileReader(row_file(tmp_path / "log")) as opened:
        assert opened.first_store_time() is None
    (tmp_path / "empty").touch()
    with LogFileReader(row_file(tmp_path / "empty")) as opened:
        assert opened.first_store_time() is None
        assert [block.stop for block in opened.blocks()] == [WalkEnd.UNWRITTEN]


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreUnreadable, match="pipe cannot be read: it is not a regular file"):
        OpenFile(str(tmp_path / "pipe"))
    with pytest.raises(StoreUnreadable, match="it is not a regular file"):
        OpenFile(str(tmp_path))
    with pytest.raises(FileGone):
        OpenFile(str(tmp_path / "none"))
    (tmp_path / "file").write_bytes(b"abcdef")
    assert read_whole(str(tmp_path / "file"), 4) == b"abcd"
    with OpenFile(str(tmp_path / "file")) as file:
        assert file.size() == 6
        assert file.read(4, 10) == b"ef"
        file.close()
    with pytest.raises(StoreUnreadable, match="Bad file descriptor"):
        file.read(0, 1)


def test_a_growing_log_is_read_as_far_as_it_comes(tmp_path: Path) -> None:
    store = open_store(small(tmp_path, commit_log_file_size=1 << 16))
    store.append([draft(0)])
    file = discover(str(tmp_path)).commit_log[0]
    with LogFileReader(file) as opened:
        (first,) = opened.blocks()
        assert (first.stop, len(first.records.size)) == (WalkEnd.UNWRITTEN, 1)
        store.append([draft(1), draft(2)])
        (more,) = opened.blocks(first.next)
        assert len(more.records.size) == 2
