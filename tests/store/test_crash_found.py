"""Crashes and refusals that once lost or doubled something, each as short as it can be."""

from __future__ import annotations

import errno
from dataclasses import replace
from pathlib import Path

import pytest

from rocketwire.store.append.drafts import Draft
from rocketwire.store.errors import FlushFailed, StoreNotWritable
from rocketwire.store.log.checkpoint import Checkpoint
from rocketwire.store.settings import StoreSettings
from rocketwire.store.store import MessageStore
from tests.store import disk_images
from tests.store.crash_disk import CrashDisk
from tests.store.disk_images import NOTHING, Crash
from tests.store.support import START, Clock, bodies, draft, kill, open_store, small


def crashed(disk: CrashDisk, root: Path, crash: Crash) -> CrashDisk:
    """The disk of a machine that stopped, started again."""
    root.mkdir()
    disk_images.put(disk_images.after(disk.image(), crash), root)
    return CrashDisk(root)


def settings(disk: CrashDisk) -> StoreSettings:
    return small(disk.root / "store", index_entries=10)


def found(store: MessageStore, number: int) -> int:
    return len(store.query("T", f"U{number:07d}", 32, 0, START + 1_000_000).records)


def with_key(number: int) -> Draft:
    return draft(number, keys=None, properties=b"UNIQ_KEY\x01U%07d" % number)


def plain(number: int, size: int = 6) -> Draft:
    """A message with nothing but a body."""
    return draft(number, body=(b"%06d" % number).ljust(size, b"."), properties=b"", keys=None, unique_key=None)


def test_an_index_file_whose_pages_were_lost_is_made_again(tmp_path: Path) -> None:
    disk = CrashDisk(tmp_path)
    store = open_store(settings(disk), files=disk)
    store.append([with_key(n) for n in range(12)])  # all in one millisecond, as the checkpoint's
    store.dispatch_index()
    store.flush_to(store.max_physical_offset)
    store.checkpoint()
    for name in ("nothing", "header"):
        crash = Crash(name, disk_images.every, lambda pages: [False] * len(pages))
        again = crashed(disk, tmp_path.parent / f"{tmp_path.name}-{name}", crash)
        if name == "header":
            second = sorted((again.root / "store" / "index").iterdir())[1]
            second.write_bytes(sorted((tmp_path / "store" / "index").iterdir())[1].read_bytes()[:40].ljust(320, b"\0"))
        reopened = open_store(settings(again), files=again)
        assert [found(reopened, n) for n in range(12)] == [1] * 12
        reopened.close()
    kill(store)


def test_an_index_that_knows_more_than_the_log_is_made_again(tmp_path: Path) -> None:
    disk = CrashDisk(tmp_path)
    clock = Clock()
    store = open_store(settings(disk), clock, disk)
    store.append([with_key(n) for n in range(4)])
    store.flush_to(store.max_physical_offset)
    clock.now += 1000
    store.append([with_key(n) for n in range(4, 12)])
    store.dispatch_index()
    store.checkpoint()
    again = crashed(disk, tmp_path / "again", NOTHING)
    kill(store)
    store = open_store(settings(again), clock, again)
    assert store.max_offset("T", 0) == 4
    assert [found(store, n) for n in range(12)] == [1] * 4 + [0] * 8
    store.append([with_key(n) for n in range(20, 24)])
    kill(store)
    store = open_store(settings(again), clock, again)
    assert [found(store, n) for n in (0, 3, 4, 20, 23)] == [1, 1, 0, 1, 1]


def test_an_index_made_again_is_not_proven_by_the_one_before(tmp_path: Path) -> None:
    disk = CrashDisk(tmp_path)
    clock = Clock()
    large = small(tmp_path / "store", commit_log_file_size=1 << 18, consume_queue_file_size=40_000, index_entries=500)
    store = open_store(large, clock, disk)
    for number in range(1000):
        clock.now += 1
        store.append([with_key(number)])
    store.close()
    for path in (tmp_path / "store" / "index").iterdir():
        disk.remove(str(path))
    store = open_store(large, clock, disk)
    while store.dispatch_index():
        pass
    crash = Crash("headers", disk_images.every, lambda pages: [number == 0 for _, number in pages])
    again = crashed(disk, tmp_path / "again", crash)
    kill(store)
    store = open_store(replace(large, root=again.root / "store"), clock, again)
    while store.dispatch_index():
        pass
    assert [number for number in range(1000) if found(store, number) != 1] == []


@pytest.mark.parametrize("step", ["open", "map"])
def test_a_commit_log_file_that_cannot_be_mapped_is_not_made_twice(tmp_path: Path, step: str) -> None:
    disk = CrashDisk(tmp_path)
    store = open_store(settings(disk), files=disk)
    assert store.append([draft(-1)])
    taken = 0
    for number in range(80):
        disk.refusing = {step: errno.EMFILE}
        while store.append([draft(taken)]):
            taken += 1
        assert isinstance(store.append_error, StoreNotWritable)
        disk.refusing = {}
        assert store.append([draft(taken)]), number
        taken += 1
        if taken > 80:
            break
    log = store._log.segments
    assert [log[n].start for n in range(len(log))] == [4096 * n for n in range(len(log))]
    assert bodies(store) == [b"body-%d" % n for n in range(-1, taken)]


def test_what_a_failed_sync_lost_is_written_again_by_the_next_start(tmp_path: Path) -> None:
    disk = CrashDisk(tmp_path)
    store = open_store(settings(disk), files=disk)
    store.append([draft(n) for n in range(40)])
    disk.refusing = {"sync": errno.EIO}
    with pytest.raises(FlushFailed):
        store.flush_to(store.max_physical_offset)
    disk.refusing = {}
    with pytest.raises(FlushFailed):
        store.close()
    # The process starts again, not the machine: the page cache holds what the disk does not, and calls it written.
    store = open_store(settings(disk), files=disk)
    assert len(bodies(store)) == 40
    store.append([draft(n) for n in range(40, 60)])
    store.flush_to(store.max_physical_offset)
    again = crashed(disk, tmp_path / "again", NOTHING)
    kill(store)
    store = open_store(settings(again), files=again)
    assert bodies(store) == [b"body-%d" % n for n in range(60)]


def test_a_start_that_cannot_write_again_leaves_it_to_the_next(tmp_path: Path) -> None:
    disk = CrashDisk(tmp_path)
    store = open_store(settings(disk), files=disk)
    store.append([draft(0)])
    disk.refusing = {"sync": errno.EIO}
    with pytest.raises(FlushFailed):
        store.flush_to(store.max_physical_offset)
    with pytest.raises(FlushFailed):
        store.close()
    for step in ("sync", "rewrite"):
        disk.refusing = {step: errno.EIO}
        with pytest.raises(StoreNotWritable):
            open_store(settings(disk), files=disk)
    disk.refusing = {}
    store = open_store(settings(disk), files=disk)
    again = crashed(disk, tmp_path / "again", NOTHING)
    store.close()
    store = open_store(settings(again), files=again)
    assert bodies(store) == [b"body-0"]


def test_after_a_kill_the_new_file_of_the_log_is_made_durable(tmp_path: Path) -> None:
    disk = CrashDisk(tmp_path)
    store = open_store(settings(disk), files=disk)
    store.append([draft(0)])
    kill(store)
    store = open_store(settings(disk), files=disk)
    store.append([draft(1)])
    store.flush_to(store.max_physical_offset)
    again = crashed(disk, tmp_path / "again", NOTHING)
    kill(store)
    store = open_store(settings(again), files=again)
    assert bodies(store) == [b"body-0", b"body-1"]


def test_an_index_that_cannot_be_written_refuses_as_the_store_does(tmp_path: Path) -> None:
    disk = CrashDisk(tmp_path)
    store = open_store(settings(disk), files=disk)
    store.append([with_key(n) for n in range(12)])
    for step, code in (("make_directory", errno.EROFS), ("sync_directory", errno.EIO), ("open", errno.EMFILE)):
        disk.refusing = {step: code}
        with pytest.raises(StoreNotWritable):
            store.dispatch_index()
        assert found(store, 3) == 0
    disk.refusing = {}
    assert [found(store, n) for n in range(12)] == [1] * 12
    assert len(disk.names(store.settings.index)) == 2


@pytest.mark.parametrize("step", ["remove", "sync_directory"])
def test_a_stop_that_cannot_mark_itself_as_clean_is_an_error_of_the_store(tmp_path: Path, step: str) -> None:
    disk = CrashDisk(tmp_path)
    store = open_store(settings(disk), files=disk)
    store.append([draft(0)])
    store.flush_to(store.max_physical_offset)
    store.checkpoint()
    disk.refusing = {step: errno.EIO}
    with pytest.raises(StoreNotWritable):
        store.close()
    disk.refusing = {}
    store = open_store(settings(disk), files=disk)
    assert bodies(store) == [b"body-0"]


def wide(disk: CrashDisk) -> StoreSettings:
    """Queue files of three pages of 204 entries and a bit."""
    return small(disk.root / "store", commit_log_file_size=1 << 16, consume_queue_file_size=20 * 600)


def queue_ahead_of_log(tmp_path: Path, page: int) -> CrashDisk:
    """A crash of whose messages only one page of their queue survived; recovery begins behind the queue's others."""
    disk = CrashDisk(tmp_path)
    clock = Clock()
    store = open_store(wide(disk), clock, disk)
    store.append([plain(n) for n in range(10)])
    store.append([draft(n, queue_id=1, body=b"." * 400) for n in range(150)])
    clock.now += 10_000
    store.append([draft(150, queue_id=1)])
    store.flush_to(store.max_physical_offset)
    store.checkpoint()
    assert len(store.append([plain(n) for n in range(10, 550)])) == 540
    crash = Crash(
        "one page of the queue",
        disk_images.every,
        lambda pages: ["/consumequeue/T/0/" in path and number == page for path, number in pages],
    )
    again = crashed(disk, tmp_path / "again", crash)
    kill(store)
    return again


def tail(store: MessageStore) -> bytes:
    queue = store._queues.by_key["T", 0]
    last = queue._segments.last
    assert last is not None
    return bytes(last.view[queue.end * 20 - last.start :])


@pytest.mark.parametrize("page", [1, 2])
def test_entries_behind_the_end_of_a_queue_do_not_come_back(tmp_path: Path, page: int) -> None:
    disk = queue_ahead_of_log(tmp_path, page)
    store = open_store(wide(disk), files=disk)
    assert store.recovered.start == 1 << 16
    assert store.max_offset("T", 0) == 10
    assert not any(tail(store))
    store.append([draft(n, queue_id=1, body=b"." * 400) for n in range(200)])
    store.close()
    again = crashed(disk, disk.root / "again", NOTHING)
    store = open_store(wide(again), files=again)
    assert (store.max_offset("T", 0), store.max_offset("T", 1)) == (10, 351)
    assert not any(tail(store))


def test_files_that_recovery_removed_do_not_come_back(tmp_path: Path) -> None:
    disk = CrashDisk(tmp_path)
    store = open_store(settings(disk), files=disk)
    victim = [store.append([plain(number)])[0] for number in range(200)][20]
    kill(store)
    with (tmp_path / "store" / "commitlog" / f"{0:020d}").open("r+b") as file:
        file.seek(victim.physical_offset)
        file.write(bytes(8))
    disk = CrashDisk(tmp_path)
    store = open_store(settings(disk), files=disk)
    assert len(bodies(store)) == 20
    again = crashed(disk, tmp_path / "again", NOTHING)
    kill(store)
    assert sorted(path.name for path in (again.root / "store" / "commitlog").iterdir()) == [f"{0:020d}"]


def test_what_is_stored_after_the_clock_went_back_is_not_proven_by_the_checkpoint(tmp_path: Path) -> None:
    disk = CrashDisk(tmp_path)
    clock = Clock(START + 3_600_000)
    store = open_store(settings(disk), clock, disk)
    store.append([draft(0)])
    store.flush_to(store.max_physical_offset)
    store.checkpoint()
    clock.now = START
    disk.refusing = {"write_at": errno.EIO}
    assert store.append([draft(1)]) == []
    assert isinstance(store.append_error, StoreNotWritable)
    disk.refusing = {}
    assert len(store.append([draft(n) for n in range(1, 80)])) == 79
    crash = Crash("the third file", disk_images.every, lambda pages: [f"{8192:020d}" in path for path, _ in pages])
    again = crashed(disk, tmp_path / "again", crash)
    kill(store)
    store = open_store(settings(again), clock, again)
    assert bodies(store) == [b"body-0"]


def test_a_flush_after_the_clock_went_back_proves_nothing(tmp_path: Path) -> None:
    disk = CrashDisk(tmp_path)
    clock = Clock(START + 3_600_000)
    store = open_store(settings(disk), clock, disk)
    store.append([draft(0)])
    clock.now += 61_000
    store.flush_by_interval(61_000)
    assert Checkpoint(store.settings.checkpoint, disk).recover_from > START + 3_500_000
    clock.now = START
    store.append([draft(1)])
    store.flush_by_interval(2 * 61_000)
    assert store.flushed_offset == store.max_physical_offset
    assert Checkpoint(store.settings.checkpoint, disk).recover_from < START
    # What is begun from now on is not on the disk, whatever the clock was before.
    store.append([draft(n) for n in range(2, 60)])
    crash = Crash("all but the second page", disk_images.every, lambda pages: [n != 1 for n in range(len(pages))])
    again = crashed(disk, tmp_path / "again", crash)
    kill(store)
    store = open_store(settings(again), clock, again)
    there = bodies(store)
    assert there == [b"body-%d" % n for n in range(len(there))]
    assert len(there) >= 2
