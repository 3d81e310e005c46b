"""What a start and the passes of retention touch of many queues."""

from __future__ import annotations

import mmap
from pathlib import Path

import pytest

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.errors import StoreForeign
from rocketwire.store.layout.consume_queue import AHEAD
from rocketwire.store.store import MessageStore
from tests.store.offline.support import verified
from tests.store.support import Clock, bodies, draft, kill, open_store, small

QUEUES, EACH = 30, 40


class Counted(FileSystem):
    """Counts mappings of consume queues' files; little of them stays mapped."""

    def __init__(self) -> None:
        self.maps = 0

    def map(self, fd: int, size: int, *, scattered: bool) -> mmap.mmap:
        self.maps += Path(f"/proc/self/fd/{fd}").readlink().parts[-4] == "consumequeue"
        return super().map(fd, size, scattered=scattered)

    def mappings(self) -> int:
        return 16


def test_a_clean_start_maps_each_queue_once(tmp_path: Path) -> None:
    settings = small(tmp_path, commit_log_file_size=1 << 20, consume_queue_file_size=20 * 1000)
    files = Counted()
    store = open_store(settings, Clock(), files)
    store.append([draft(n, queue_id=n % QUEUES) for n in range(QUEUES * EACH)])
    store.close()
    files.maps = 0
    store = open_store(settings, Clock(), files)
    assert files.maps == QUEUES
    assert {(queue.min, queue.end) for queue in store._queues} == {(0, EACH)}
    for queue in store.retention.queues():
        assert not store.retention.remove_queue_file(queue)
    assert files.maps == QUEUES


def test_a_clean_start_knows_which_messages_are_removed(tmp_path: Path) -> None:
    settings = small(tmp_path, consume_queue_file_size=20 * 1000)
    store = open_store(settings)
    store.append([draft(n, queue_id=n % QUEUES) for n in range(QUEUES * EACH)])
    for _ in range(2):
        segment = store.retention.detach_log_file(0, 0, forcibly=True)
        assert segment is not None
        segment.remove()
    for queue in store.retention.queues():
        store.retention.remove_queue_file(queue)
    expected = {queue.key: (queue.min, queue.physical_end()) for queue in store._queues}
    assert min(expected.values()) > (0, 0)
    store.close()
    store = open_store(settings)
    assert {queue.key: (queue.min, queue.physical_end()) for queue in store._queues} == expected
    # What was remembered at the start is not what is true after an append, or once more of the log is removed.
    store.append([draft(n, queue_id=n) for n in range(QUEUES)])
    for queue in store._queues:
        entry = queue.entry(queue.end - 1)
        assert queue.physical_end() == entry[0] + entry[1] > expected[queue.key][1]
    while (segment := store.retention.detach_log_file(0, 0, forcibly=True)) is not None:
        segment.remove()
    for queue in store.retention.queues():
        store.retention.remove_queue_file(queue)
        assert queue.min > expected[queue.key][0]


def test_a_queue_file_begins_with_an_entry_that_leads_nowhere(tmp_path: Path) -> None:
    """Until it has a message; a kill then leaves no file that Apache's broker finds a message in."""
    settings = small(tmp_path, consume_queue_file_size=20 * EACH)
    store = open_store(settings)
    store.append([draft(n) for n in range(EACH)])
    store._queues.by_key["T", 0].extend()
    file = tmp_path / "consumequeue" / "T" / "0" / f"{20 * EACH:020}"
    assert file.read_bytes() == AHEAD.ljust(20 * EACH, b"\0")
    kill(store)
    findings, _ = verified(tmp_path)
    assert {each.path for each in findings} == {"abort"}
    store = open_store(settings)
    assert store.max_offset("T", 0) == EACH
    store.append([draft(EACH)])
    assert file.read_bytes()[:8] != AHEAD[:8]
    assert bodies(store)[-1] == b"body-%d" % EACH


def test_where_the_messages_of_a_queue_stand(tmp_path: Path) -> None:
    settings = small(tmp_path, consume_queue_file_size=20 * EACH)
    store = open_store(settings)
    assert store.place(("T", 0), 0) is None
    places = [appended.physical_offset for appended in store.append([draft(n) for n in range(EACH + 3)])]
    for _ in range(2):
        assert [store.place(("T", 0), offset) for offset in range(EACH + 3)] == places
        assert store.place(("T", 0), -1) is store.place(("T", 0), EACH + 3) is None
        store.close()
        store = open_store(settings)


def test_a_queue_that_is_filled_gets_more_room_each_time(tmp_path: Path) -> None:
    store = open_store(small(tmp_path, consume_queue_file_size=20 * 100_000))
    store.append([draft(0)])
    queue = store._queues.by_key["T", 0]
    limits = [queue.limit]
    while queue.end < 30_000:
        queue.put(0, 100, 0)
        if queue.limit != limits[-1]:
            limits.append(queue.limit)
    assert [-(-limit // 4096) for limit in limits] == [4, 12, 28, 60, 92, 124, 156]
    queue.unmap()
    queue.put(0, 100, 0)
    assert -(-queue.limit // 4096) == 156  # what it had reserved; the next time it gets little again
    assert queue._window == 4 * 4096


def test_a_missing_file_in_the_middle_names_its_remedy(tmp_path: Path) -> None:
    store = open_store(small(tmp_path))
    store.append([draft(n) for n in range(60)])
    store.close()
    folder = tmp_path / "consumequeue" / "T" / "0"
    _, second, *_ = sorted(folder.iterdir())
    second.unlink()
    with pytest.raises(
        StoreForeign, match=r"/T/0 .*; move all files out of this folder: the queue is made again"
    ) as refused:
        open_store(small(tmp_path))
    assert "\n" not in str(refused.value)
    for each in folder.iterdir():
        each.unlink()
    store = open_store(small(tmp_path))
    assert bodies(store) == [draft(n).body for n in range(60)]


def test_a_missing_file_of_the_log_names_its_remedy(tmp_path: Path, store: MessageStore) -> None:
    store.append([draft(n) for n in range(120)])
    store.close()
    _, second, *_ = sorted((tmp_path / "commitlog").iterdir())
    second.unlink()
    with pytest.raises(StoreForeign, match=r"; have `rocketwire store repair` make a store of what is left$"):
        open_store(small(tmp_path))
