"""A full disk, a failing disk, and kill -9 under load."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.errors import DiskFull, FlushDelayed, FlushFailed, StoreNotWritable
from tests.store.crash_disk import CrashDisk, refusal
from tests.store.support import START, bodies, draft, kill, open_store, small

#: A disk that refuses every sync, and a process that may open no more files.
FAILING = {"sync": errno.EIO, "sync_directory": errno.EIO}
NO_DESCRIPTORS = {"open": errno.EMFILE, "sync_directory": errno.EMFILE}


def test_a_full_disk_refuses_and_recovers_when_there_is_room(tmp_path: Path) -> None:
    settings = small(tmp_path)
    disk = CrashDisk(tmp_path)
    store = open_store(settings, files=disk)
    stored = [each for n in range(5) for each in store.append([draft(n)])]
    disk.room = 0
    disk.files_left = 0
    taken = 5
    while store.append([draft(taken)]):
        taken += 1
    refused = store.append_error
    assert isinstance(refused, DiskFull)
    assert "No space left" in str(refused)
    assert store.append([draft(n) for n in range(taken, taken + 8)]) == []
    assert bodies(store) == [b"body-%d" % n for n in range(taken)]
    disk.room = disk.files_left = None
    assert len(store.append([draft(n) for n in range(taken, taken + 8)])) == 8
    assert store.append_error is None
    assert bodies(store) == [b"body-%d" % n for n in range(taken + 8)]
    assert len(stored) == 5
    kill(store)
    store = open_store(settings)
    assert bodies(store) == [b"body-%d" % n for n in range(taken + 8)]


@hypothesis_settings(deadline=None, max_examples=60)
@given(room=st.integers(0, 20_000), files=st.integers(0, 12), groups=st.lists(st.integers(1, 9), max_size=12))
def test_wherever_the_disk_is_full_accepted_messages_stay(
    tmp_path_factory: pytest.TempPathFactory, room: int, files: int, groups: list[int]
) -> None:
    root = tmp_path_factory.mktemp("full")
    store_settings = small(root)
    disk = CrashDisk(root)
    store = open_store(store_settings, files=disk)
    disk.room, disk.files_left = room, files
    taken: list[list[bytes]] = [[], []]
    number = 0
    for size in [*groups, 30]:
        drafts = [draft(number + n, queue_id=(number + n) % 2) for n in range(size)]
        results = store.append(drafts)
        assert (len(results) < size) == (store.append_error is not None)
        for each, done in zip(drafts, results, strict=False):
            assert done.queue_offset == len(taken[each.queue_id])
            taken[each.queue_id].append(bytes(each.body))
        number += size
        try:
            store.dispatch_index()
        except DiskFull:
            assert disk.refused
    for queue_id in (0, 1):
        assert bodies(store, queue_id=queue_id) == taken[queue_id]
    disk.room = disk.files_left = None
    last = store.append([draft(number, queue_id=0)])
    assert last[0].queue_offset == len(taken[0])
    for n in range(number):
        found = store.query("T", f"k{n}", 32, 0, START + 1000).records
        assert len(found) == (b"body-%d" % n in taken[n % 2])
    kill(store)
    store = open_store(store_settings)
    assert bodies(store) == [*taken[0], b"body-%d" % number]
    assert bodies(store, queue_id=1) == taken[1]
    store.close()


class BrokenOpen(FileSystem):
    broken = False

    def create(self, path: str, size: int, head: bytes = b"") -> int:
        if self.broken:
            raise refusal(errno.EROFS)
        return super().create(path, size, head)


def test_another_error_of_the_disk_is_refused_too(tmp_path: Path) -> None:
    disk = BrokenOpen()
    store = open_store(small(tmp_path), files=disk)
    disk.broken = True
    assert store.append([draft()]) == []
    assert isinstance(store.append_error, StoreNotWritable)
    disk.broken = False
    assert len(store.append([draft()])) == 1


def test_after_a_failed_flush_nothing_more_is_taken(tmp_path: Path) -> None:
    settings = small(tmp_path)
    disk = CrashDisk(tmp_path)
    store = open_store(settings, files=disk)
    store.append([draft(0)])
    store.flush_to(store.max_physical_offset)
    store.append([draft(1)])
    disk.refusing = FAILING
    with pytest.raises(FlushFailed, match="could not be flushed"):
        store.flush_to(store.max_physical_offset)
    assert store.flushed_offset < store.max_physical_offset
    disk.refusing = {}
    # The kernel may have dropped what it could not write: a flush that works now proves nothing.
    with pytest.raises(FlushFailed):
        store.flush_to(store.max_physical_offset)
    with pytest.raises(FlushFailed):
        store.flush_by_interval(100_000)
    assert store.append([draft(2)]) == []
    assert isinstance(store.append_error, FlushFailed)
    with pytest.raises(FlushFailed):
        store.close()
    assert (tmp_path / "abort").exists()
    store = open_store(settings)
    assert bodies(store) == [b"body-0", b"body-1"]


def test_a_flush_without_descriptors_is_done_later(tmp_path: Path) -> None:
    files = CrashDisk(tmp_path)
    store = open_store(small(tmp_path), files=files)
    store.append([draft(0)])
    files.refusing = NO_DESCRIPTORS
    for _ in range(2):
        with pytest.raises(FlushDelayed, match="Too many open files"):
            store.flush_to(store.max_physical_offset)
        with pytest.raises(FlushDelayed):
            store.checkpoint()
        with pytest.raises(FlushDelayed):
            store.flush_by_interval(100_000)
    assert store.flushed_offset == 0
    assert len(store.append([draft(1)])) == 1
    files.refusing = {}
    store.flush_by_interval(102_000)
    assert store.flushed_offset == store.max_physical_offset
    assert not store._queues.dirty
    store.close()
    assert not (tmp_path / "abort").exists()


def test_the_log_being_written_is_flushed_without_a_new_descriptor(tmp_path: Path) -> None:
    files = CrashDisk(tmp_path)
    store = open_store(small(tmp_path), files=files)
    store.append([draft(0)])
    store.flush_to(store.max_physical_offset)
    files.refusing = NO_DESCRIPTORS
    store.append([draft(1)])
    store.flush_to(store.max_physical_offset)
    assert store.flushed_offset == store.max_physical_offset
    assert not files.refused
    files.refusing = {}
    store.append([draft(n) for n in range(2, 80)])
    store.flush_to(store.max_physical_offset)
    log = store._log
    files_of_log = [log.segments[number] for number in range(len(log.segments))]
    assert [segment.start for segment in files_of_log if segment.keeps_descriptor] == [
        log.position - log.position % 4096
    ]
    store.close()
    assert not any(segment.keeps_descriptor for segment in files_of_log)
    store = open_store(small(tmp_path))
    assert bodies(store) == [b"body-%d" % n for n in range(80)]


def test_a_close_that_cannot_flush_leaves_the_abort_file(tmp_path: Path) -> None:
    disk = CrashDisk(tmp_path)
    store = open_store(small(tmp_path), files=disk)
    store.append([draft(0)])
    disk.refusing = FAILING
    with pytest.raises(FlushFailed):
        store.close()
    assert (tmp_path / "abort").exists()
    store = open_store(small(tmp_path))
    assert bodies(store) == [b"body-0"]


def test_queues_that_could_not_be_flushed_are_flushed_again(tmp_path: Path) -> None:
    disk = CrashDisk(tmp_path)
    store = open_store(small(tmp_path), files=disk)
    store.append([draft(n, queue_id=n) for n in range(4)])
    disk.refusing = FAILING
    with pytest.raises(OSError, match="Input/output"):
        store._queues.flush(0)
    disk.refusing = {}
    assert len(store._queues.dirty) == 4
    store._queues.flush(0)
    assert not store._queues.dirty


KILLED = """
import sys
from pathlib import Path
from rocketwire.store.settings import StoreSettings
from rocketwire.store.append.drafts import Draft
from rocketwire.store.store import MessageStore
settings = StoreSettings(root=Path(sys.argv[1]), sync_flush=True, commit_log_file_size=1 << 16,
                         consume_queue_file_size=2000, index_slots=100, index_entries=400)
store = MessageStore.open(settings, clock=lambda: 1_700_000_000_000, store_host=bytes(8))
number = int(sys.argv[2])
while True:
    group = [
        Draft("T", n % 4, b"body-%d" % n, b"UNIQ_KEY\\x01U%d" % n, 0, 0, 1, bytes(8), unique_key=f"U{n}")
        for n in range(number, number + 1 + number % 7)
    ]
    done = store.append(group)
    assert len(done) == len(group), store.append_error
    store.flush_to(done[-1].physical_offset + done[-1].size)
    number += len(group)
    store.dispatch_index()
    sys.stdout.write(f"{number}\\n")
    sys.stdout.flush()
"""


def test_kill_9_under_load_loses_nothing_acknowledged(tmp_path: Path) -> None:
    root = tmp_path / "store"
    acknowledged = 0
    for _ in range(4):
        with (tmp_path / "acknowledged").open("w") as out:
            process = subprocess.Popen(
                [sys.executable, "-c", KILLED, str(root), str(acknowledged)], stdout=out, env={**os.environ}
            )
        until = time.monotonic() + 120
        while (tmp_path / "acknowledged").stat().st_size < 400 and time.monotonic() < until:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        lines = (tmp_path / "acknowledged").read_text().split("\n")
        acknowledged = int(lines[-2])
        settings = small(
            root, commit_log_file_size=1 << 16, consume_queue_file_size=2000, index_slots=100, index_entries=400
        )
        store = open_store(settings)
        found = [bodies(store, queue_id=queue_id) for queue_id in range(4)]
        total = sum(map(len, found))
        assert total >= acknowledged
        for queue_id in range(4):
            assert found[queue_id] == [b"body-%d" % n for n in range(total) if n % 4 == queue_id]
        # No checkpoint proves the index files: they are made again from the log, in more steps than a query waits for.
        while store.dispatch_index():
            pass
        found_by_key = [len(store.query("T", f"U{n}", 8, 0, START + 1).records) for n in range(total)]
        assert found_by_key == [1] * total
        acknowledged = total
        kill(store)
    store = open_store(settings)
    assert sum(store.max_offset("T", queue_id) for queue_id in range(4)) == acknowledged
