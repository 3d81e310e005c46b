from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from rocketwire.store.layout.consume_queue import AHEAD, ENTRY_SIZE, ENTRY_STRUCT, PRE_BLANK
from rocketwire.store.offline.read.directory import QueueFiles, discover
from rocketwire.store.offline.read.opening import FileGone
from rocketwire.store.offline.read.queues import QueueReader
from rocketwire.store.store import MessageStore
from tests.store.support import Golden, draft


def all_entries(queue: QueueReader, most: int = 7) -> list[tuple[int, int, int]]:
    return [tuple(entry) for _, block in queue.blocks(queue.min, queue.end, most) for entry in block.tolist()]


def queue_of(root: Path, contents: dict[int, bytes]) -> QueueFiles:
    """A queue with files of these contents, by their starts."""
    directory = root / "consumequeue" / "T" / "0"
    directory.mkdir(parents=True)
    for start, content in contents.items():
        (directory / f"{start:020d}").write_bytes(content)
    (queue,) = discover(str(root)).queues
    return queue


def entry(offset: int, size: int = 100) -> bytes:
    return ENTRY_STRUCT.pack(offset, size, 7)


@pytest.mark.parametrize("version", ["golden_497", "golden_550"])
def test_the_queues_of_apache_are_what_apache_reads(version: str, request: pytest.FixtureRequest) -> None:
    golden: Golden = request.getfixturevalue(version)
    ends = {}
    units = defaultdict(list)
    for line in golden.lines("expected-cq.jsonl"):
        key = line["topic"], line["queueId"]
        if line["type"] == "queue":
            ends[key] = line["minOffset"], line["maxOffset"]
        else:
            units[key].append((line["physicalOffset"], line["size"], line["tagsCode"]))
    directory = discover(str(golden.untouched))
    for files in directory.queues:
        with QueueReader(files, log_start=directory.start) as queue:
            key = queue.topic, queue.queue_id
            assert (queue.min, queue.end) == ends[key]
            assert len(queue) == len(units[key])
            assert all_entries(queue) == units[key]


def test_entries_before_the_start_of_the_log_and_blanks_do_not_count(tmp_path: Path) -> None:
    full = PRE_BLANK + entry(50) + entry(100) + entry(200)
    with QueueReader(queue_of(tmp_path, {80: full, 160: entry(300) + bytes(60)}), log_start=100) as queue:
        assert (queue.first, queue.min, queue.end) == (4, 6, 9)
        assert queue.physical_end() == 400
        assert all_entries(queue) == [(100, 100, 7), (200, 100, 7), (300, 100, 7)]
    with QueueReader(queue_of(tmp_path / "b", {0: PRE_BLANK * 2 + entry(0) + bytes(20)})) as queue:
        assert (queue.min, queue.end) == (2, 3)
    with QueueReader(queue_of(tmp_path / "c", {0: PRE_BLANK * 2 + bytes(40)})) as queue:
        assert (queue.min, queue.end, queue.physical_end()) == (2, 2, 0)


def test_a_queue_without_files_is_empty(tmp_path: Path) -> None:
    with QueueReader(queue_of(tmp_path, {})) as queue:
        assert (queue.first, queue.min, queue.end, len(queue)) == (0, 0, 0, 0)
        assert queue.entry(0) == (0, 0, 0)
        assert len(queue.entries(0)) == 0


def test_a_file_that_was_cut_has_the_remaining_entries(tmp_path: Path) -> None:
    files = queue_of(tmp_path, {0: (entry(0) + entry(100))[:-3], 40: entry(200) + bytes(20)})
    with QueueReader(files) as queue:
        assert queue.entry(1) == (0, 0, 0)
        assert queue.end == 3
        assert all_entries(queue)[0] == (0, 100, 7)


def test_a_hole_in_a_file_before_the_last_is_not_the_end(tmp_path: Path) -> None:
    count = 1000
    whole = b"".join(entry(number * 100) for number in range(count))
    for holes in (range(count), range(10, count), range(490, 510)):
        damaged = bytearray(whole)
        damaged[holes.start * ENTRY_SIZE : holes.stop * ENTRY_SIZE] = bytes(len(holes) * ENTRY_SIZE)
        last = entry(count * 100) + bytes(980)
        contents = {0: bytes(damaged), count * ENTRY_SIZE: last, (count + 50) * ENTRY_SIZE: bytes(1000)}
        with QueueReader(queue_of(tmp_path / str(holes.start) / str(holes.stop), contents)) as queue:
            assert queue.end == count + 1


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("size", [1, 206, 700, 2000])
def test_a_hole_in_the_last_file_is_not_the_end(tmp_path: Path, size: int, sparse: bool) -> None:
    """Wherever bisection finds it. A large one shows only in the disk's blocks."""
    count = 4000
    whole = b"".join(entry(number * 100) for number in range(count))
    files = queue_of(tmp_path, {0: entry(0) * 10_000, 200_000: b"", 400_000: AHEAD + bytes(199_980)})
    path = Path(files.files[1].path)
    for at in [*range(0, count - size, 97), count - size - 1]:
        damaged = bytearray(whole)
        damaged[at * ENTRY_SIZE : (at + size) * ENTRY_SIZE] = bytes(size * ENTRY_SIZE)
        with path.open("wb") as file:
            file.write(damaged if sparse else damaged.ljust(200_000, b"\0"))
            file.truncate(200_000)
        (files,) = discover(str(tmp_path)).queues
        assert (files.files[1].allocated < 200_000) is sparse
        if size <= 700 or (sparse and at):
            with QueueReader(files) as queue:
                assert queue.end == 10_000 + count


def test_a_queue_that_grows_while_its_end_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what a read gives, the end may be newer than the begin."""
    files = queue_of(tmp_path, {0: entry(0) + entry(100) + bytes(1960)})
    read = QueueReader._read
    grown = entry(0) + entry(100) + bytes(20) + entry(300)

    def newer(queue: QueueReader, offset: int, count: int) -> bytes:
        data = read(queue, offset, count)
        Path(files.files[0].path).write_bytes(entry(0) + entry(100) + entry(200) + entry(300) + bytes(1920))
        return (grown.ljust(2000, b"\0"))[offset * 20 :][: len(data)] if offset < 4 else data

    monkeypatch.setattr(QueueReader, "_read", newer)
    with QueueReader(files) as queue:
        assert queue.end == 4


def test_what_is_before_a_hole_did_not_expire(tmp_path: Path) -> None:
    content = bytearray(b"".join(entry(number * 100) for number in range(1000)))
    content[490 * ENTRY_SIZE : 510 * ENTRY_SIZE] = bytes(20 * ENTRY_SIZE)
    with QueueReader(queue_of(tmp_path, {0: bytes(content), 20_000: entry(100_000)}), log_start=30_000) as queue:
        assert (queue.min, queue.end) == (300, 1001)


def test_a_hole_between_files_is_skipped(tmp_path: Path) -> None:
    files = queue_of(tmp_path, {0: entry(0) + entry(100), 80: entry(400) + entry(500)})
    with QueueReader(files) as queue:
        queue.end = 6
        assert [at for at, _ in queue.blocks(0, 6)] == [0, 4]
        assert queue.entry(3) == (0, 0, 0)


def test_old_files_may_be_removed_meanwhile(tmp_path: Path) -> None:
    files = queue_of(tmp_path, {at * ENTRY_SIZE: entry(at * 100) + entry(at * 100 + 100) for at in (0, 2, 4)})
    with QueueReader(files) as queue:
        queue.close()
        Path(files.files[0].path).unlink()
        with pytest.raises(FileGone, match="it was removed meanwhile"):
            queue.entry(0)
        assert [at for at, _ in queue.blocks(0, 6)] == [2, 4]
    with QueueReader(files) as queue:
        assert (queue.first, queue.min, queue.end) == (2, 2, 6)
    for file in files.files[1:]:
        Path(file.path).unlink()
    with QueueReader(files) as queue:
        assert (queue.min, queue.end) == (0, 0)


def test_what_is_appended_later_is_not_seen(tmp_path: Path, store: MessageStore) -> None:
    store.append([draft(number) for number in range(5)])
    (files,) = discover(str(tmp_path)).queues
    with QueueReader(files) as queue:
        store.append([draft(number) for number in range(40)])
        assert queue.end == 5
        assert len(all_entries(queue)) == 5
