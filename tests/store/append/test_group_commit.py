"""Group commit, and the flushes that are due by the clock."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import trio
import trio.testing

from rocketwire.store.append.group_commit import GroupCommit
from rocketwire.store.disk.files import FileSystem
from rocketwire.store.errors import FlushDelayed, FlushFailed
from rocketwire.store.log.checkpoint import Checkpoint
from tests.store.support import START, Clock, draft, open_store, small


class Disk:
    """A store whose flush takes a second of trio's time."""

    def __init__(self) -> None:
        self.flushed_offset = 0
        self.flushes: list[int] = []
        self.broken = False
        self.delayed = False

    def flush_to(self, offset: int) -> None:
        self.flushes.append(offset)
        if self.broken:
            raise FlushFailed("disk", "broken")
        if self.delayed:
            raise FlushDelayed("disk", "no descriptor")
        self.flushed_offset = max(self.flushed_offset, offset)


async def slowly(action: Callable[[], None]) -> None:
    await trio.sleep(1)
    action()


async def test_those_who_come_during_a_flush_share_the_next(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    commit, disk = GroupCommit(), Disk()
    answers: list[tuple[int, bool, float]] = []
    start = trio.current_time()

    def wait(offset: int) -> None:
        commit.wait_durable(offset, lambda durable: answers.append((offset, durable, trio.current_time() - start)))

    nursery.start_soon(commit.run, disk, slowly)
    await trio.testing.wait_all_tasks_blocked()
    wait(10)
    await trio.sleep(0.1)
    for offset in (20, 40, 30):
        wait(offset)
    await trio.sleep(3)
    assert disk.flushes == [10, 40]
    assert answers == [(10, True, 1.0), (20, True, 2.0), (40, True, 2.0), (30, True, 2.0)]
    nursery.cancel_scope.cancel()


async def test_a_flush_that_takes_too_long_is_answered_in_time(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    commit, disk = GroupCommit(timeout=5), Disk()
    answers: list[tuple[bool, float]] = []
    start = trio.current_time()

    async def hang(action: Callable[[], None]) -> None:
        await trio.sleep(60)
        action()

    nursery.start_soon(commit.run, disk, hang)
    await trio.sleep(2)
    commit.wait_durable(1, lambda durable: answers.append((durable, trio.current_time() - start)))
    await trio.sleep(1)
    commit.wait_durable(2, lambda durable: answers.append((durable, trio.current_time() - start)))
    await trio.sleep(100)
    assert answers == [(False, 7.0), (False, 8.0)]
    nursery.cancel_scope.cancel()


async def test_a_disk_that_refuses_acknowledges_no_send(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    commit, disk = GroupCommit(), Disk()
    disk.broken = True
    answers: list[bool] = []
    nursery.start_soon(commit.run, disk, slowly)
    commit.wait_durable(5, answers.append)
    await trio.sleep(2)
    assert answers == [False]
    nursery.cancel_scope.cancel()


async def test_a_send_that_waits_for_a_delayed_flush_is_not_refused(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    commit, disk = GroupCommit(timeout=5), Disk()
    answers: list[tuple[int, bool, float]] = []
    start = trio.current_time()

    def wait(offset: int) -> None:
        commit.wait_durable(offset, lambda durable: answers.append((offset, durable, trio.current_time() - start)))

    async def at_once(action: Callable[[], None]) -> None:
        await trio.lowlevel.checkpoint()
        action()

    disk.delayed = True
    nursery.start_soon(commit.run, disk, at_once)
    wait(10)
    await trio.sleep(2.5)
    wait(20)
    await trio.sleep(3.6)
    assert answers == [(10, False, 5.0)]
    assert len(disk.flushes) < 70
    disk.delayed = False
    await trio.sleep(1)
    (late,) = answers[1:]
    assert late[:2] == (20, True)
    assert late[2] == pytest.approx(6.1, abs=0.11)
    nursery.cancel_scope.cancel()


async def test_it_knows_whether_anybody_waits(nursery: trio.Nursery, autojump_clock: trio.testing.MockClock) -> None:
    commit, disk = GroupCommit(), Disk()
    answered: list[float] = []
    commit.on_answered.subscribe(lambda: answered.append(trio.current_time() - start))
    start = trio.current_time()
    nursery.start_soon(commit.run, disk, slowly)
    seen = [commit.has_waiters]
    commit.wait_durable(5, lambda _: None)
    commit.wait_durable(6, lambda _: None)
    seen.append(commit.has_waiters)
    await trio.sleep(1.5)
    seen.append(commit.has_waiters)
    assert seen == [False, True, False]
    assert answered == [1.0]  # once for both
    nursery.cancel_scope.cancel()


async def test_waiters_are_notified_at_the_end(autojump_clock: trio.testing.MockClock) -> None:
    commit, disk = GroupCommit(), Disk()
    answers: list[bool] = []
    commit.wait_durable(5, answers.append)
    with trio.move_on_after(0.5):
        await commit.run(disk, slowly)
    assert answers == [False]


async def test_with_a_real_store_and_thread(tmp_path: Path, nursery: trio.Nursery) -> None:
    store = open_store(small(tmp_path, sync_flush=True))
    commit = GroupCommit()

    async def run_sync(action: Callable[[], None]) -> None:
        await trio.to_thread.run_sync(action)

    nursery.start_soon(commit.run, store, run_sync)
    for n in range(30):
        done = trio.Event()
        answers: list[bool] = []

        def answered(durable: bool, done: trio.Event = done, answers: list[bool] = answers) -> None:
            answers.append(durable)
            done.set()

        appended = store.append([draft(n)])[0]
        end = appended.physical_offset + appended.size
        commit.wait_durable(end, answered)
        with trio.fail_after(120):
            await done.wait()
        assert answers == [True]
        assert store.flushed_offset >= end
    nursery.cancel_scope.cancel()
    store.close()


def test_flushes_are_due_by_the_clock(tmp_path: Path) -> None:
    clock = Clock()
    store = open_store(small(tmp_path, commit_log_file_size=1 << 20, consume_queue_file_size=40_000), clock)
    store.append([draft(0)])
    store.flush_by_interval(400)
    store.flush_by_interval(600)
    assert store.flushed_offset == 0
    store.append([draft(n) for n in range(1, 200)])
    assert store.max_physical_offset > 4 * 4096
    store.flush_by_interval(700)
    assert store.flushed_offset == 0
    store.flush_by_interval(1200)
    assert store.flushed_offset == store.max_physical_offset
    assert store._queues.dirty
    store.append([draft(n) for n in range(200, 700)])
    store.flush_by_interval(2300)
    assert not store._queues.dirty
    store.append([draft(1)])
    assert store.flushed_offset < store.max_physical_offset
    store.flush_by_interval(12_400)
    assert store.flushed_offset == store.max_physical_offset
    assert store._queues.dirty
    store.flush_by_interval(61_000)
    assert not store._queues.dirty
    assert store._checkpoint.commit_log == store._checkpoint.consume_queue == START
    assert (tmp_path / "checkpoint").read_bytes()[:16] == START.to_bytes(8) * 2


@pytest.mark.parametrize(
    ("changes", "due"),
    [
        ({"flush_interval_commit_log": 100}, [100, 200, 300]),
        ({"flush_interval_commit_log": 1000}, []),
        ({"flush_interval_commit_log": 250}, [300]),
        ({"flush_commit_log_least_pages": 50, "flush_interval_commit_log": 100}, []),
        ({"flush_commit_log_least_pages": 0, "flush_interval_commit_log": 100}, [100, 200, 300]),
        (
            {
                "flush_commit_log_least_pages": 50,
                "flush_interval_commit_log": 100,
                "flush_commit_log_thorough_interval": 200,
            },
            [200],
        ),
    ],
)
def test_intervals_and_pages_are_the_settings(tmp_path: Path, changes: dict[str, int], due: list[int]) -> None:
    store = open_store(small(tmp_path, commit_log_file_size=1 << 20, **changes))
    flushed: list[int] = []
    for passed in (100, 200, 300):
        store.append([draft(n, body=bytes(1000)) for n in range(20)])  # five pages and more
        store.flush_by_interval(passed)
        if store.flushed_offset == store.max_physical_offset:
            flushed.append(passed)
    assert flushed == due


def test_the_checkpoint_claims_only_what_was_flushed(tmp_path: Path) -> None:
    clock = Clock()
    store = open_store(small(tmp_path), clock)
    first = store.append([draft(0)])[0]
    store.flush_to(first.size)
    assert store._checkpoint.commit_log == START
    clock.now += 1000
    store.append([draft(1)])
    store.flush_to(first.size)
    assert store._checkpoint.commit_log == START


class ClockGoesBack(FileSystem):
    """A message of an earlier time comes while a file under a path is flushed."""

    def __init__(self, part: str) -> None:
        self.part = part
        self.meanwhile: Callable[[], None] | None = None

    def sync(self, fd: int) -> None:
        super().sync(fd)
        path = str(Path(f"/proc/self/fd/{fd}").readlink())
        if self.meanwhile is not None and f"/{self.part}/" in path:
            meanwhile, self.meanwhile = self.meanwhile, None
            meanwhile()


@pytest.mark.parametrize("part", ["commitlog", "consumequeue"])
@pytest.mark.parametrize("back", [1000, 10_000, 3_600_000])
def test_a_flush_proves_nothing_when_the_clock_goes_back_meanwhile(tmp_path: Path, part: str, back: int) -> None:
    files, clock = ClockGoesBack(part), Clock()
    store = open_store(small(tmp_path), clock, files)
    store.append([draft(0)])

    def meanwhile() -> None:
        clock.now -= back
        assert store.append([draft(1)])

    files.meanwhile = meanwhile
    store.flush_to(store.max_physical_offset)
    store.checkpoint()
    assert clock.now == START - back
    assert Checkpoint(store.settings.checkpoint, FileSystem()).recover_from <= START - back
    # What comes later is proven again.
    clock.now = START + 5000
    store.append([draft(2)])
    store.flush_to(store.max_physical_offset)
    store.checkpoint()
    assert Checkpoint(store.settings.checkpoint, FileSystem()).recover_from == START + 2000


async def test_it_knows_when_those_who_wait_keep_too_much(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    commit, disk = GroupCommit(most=100), Disk()
    nursery.start_soon(commit.run, disk, slowly)
    full = []
    for offset, keeps in ((10, 60), (20, 40), (30, 1)):
        commit.wait_durable(offset, lambda _: None, keeps=keeps)
        full.append(commit.is_full)
    assert full == [False, False, True]
    await trio.sleep(3)
    assert not commit.is_full
    assert commit._kept == 0
