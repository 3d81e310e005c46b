"""The flushing thread, and group commit on a disk that is slow."""

from __future__ import annotations

import contextlib
import os
import resource
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import trio

from rocketwire.server.maintenance.flush_thread import FlushThread
from rocketwire.store.append.group_commit import GroupCommit
from rocketwire.store.errors import FlushFailed
from tests.server.harness import settle

SECONDS = 120.0


@pytest.fixture
def thread() -> Iterator[FlushThread]:
    with contextlib.closing(FlushThread()) as made:
        yield made


def threads() -> int:
    return sum(each.name == "flush" for each in threading.enumerate())


async def test_calls_run_in_one_thread(thread: FlushThread) -> None:
    before = threads() - 1
    ran: list[int] = []
    for _ in range(100):
        await thread(lambda: ran.append(threading.get_ident()))
    assert len(ran) == 100
    assert set(ran) != {threading.get_ident()}
    assert len(set(ran)) == 1
    assert threads() == before + 1
    thread.close()
    assert threads() == before
    thread.close()


def open_files() -> list[int]:
    return [int(each.name) for each in Path("/dev/fd").iterdir()]


def test_it_releases_its_descriptors_when_no_thread_can_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fail)
    before = len(open_files())
    with pytest.raises(RuntimeError, match="start new thread"):
        FlushThread()
    assert len(open_files()) == before


@pytest.fixture
def no_descriptors() -> Iterator[Callable[[], None]]:
    """Use up all descriptors until the test's end."""
    taken: list[int] = []
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    def take_all() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(open_files()) + 1, hard))
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))

    yield take_all
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    for fd in taken:
        os.close(fd)


async def test_after_its_start_it_needs_no_descriptor(
    thread: FlushThread, no_descriptors: Callable[[], None], nursery: trio.Nursery
) -> None:
    commit, answers = GroupCommit(), list[bool]()
    disk = SlowDisk()
    disk.gate.release()
    await thread.warm_up()
    no_descriptors()
    nursery.start_soon(commit.run, disk, thread)
    commit.wait_durable(10, answers.append)
    while not answers:
        await settle()
    assert answers == [True]
    nursery.cancel_scope.cancel()


async def test_without_descriptors_it_does_not_start(no_descriptors: Callable[[], None]) -> None:
    no_descriptors()
    with pytest.raises(OSError, match="Too many open files"):
        FlushThread()


async def test_an_error_of_a_call_is_raised_and_the_next_call_runs(thread: FlushThread) -> None:
    def fail() -> None:
        raise FlushFailed("disk", "broken")

    for _ in range(2):
        with pytest.raises(FlushFailed, match="broken"):
            await thread(fail)
        ran: list[int] = []
        await thread(lambda ran=ran: ran.append(1))  # type: ignore[misc]  # mypy cannot infer defaults of a lambda
        assert ran == [1]


async def test_a_stop_reports_success_to_sends_that_wait_for_the_running_flush(thread: FlushThread) -> None:
    commit, disk = GroupCommit(), SlowDisk()
    answers: list[bool] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(commit.run, disk, thread)
        commit.wait_durable(10, answers.append)
        while not disk.begun:
            await settle()
        nursery.cancel_scope.cancel()
        disk.gate.release()
    assert answers == [True]


async def test_a_cancelled_call_runs_to_its_end(thread: FlushThread, nursery: trio.Nursery) -> None:
    gate, ended = threading.Event(), threading.Event()
    scope = trio.CancelScope()
    over = trio.Event()

    def slow() -> None:
        gate.wait(SECONDS)
        ended.set()

    async def call() -> None:
        with scope:
            await thread(slow)
        over.set()

    nursery.start_soon(call)
    await settle()
    scope.cancel()
    await settle()
    assert not over.is_set()
    gate.set()
    await over.wait()
    assert ended.is_set()
    assert not scope.cancelled_caught  # it has the result: what it waits for next is cancelled
    ran: list[int] = []
    await thread(lambda: ran.append(1))
    assert ran == [1]


class SlowDisk:
    """A store whose flush waits until the gate is opened once more."""

    def __init__(self) -> None:
        self.flushed_offset = 0
        self.begun: list[int] = []
        self.gate = threading.Semaphore(0)

    def flush_to(self, offset: int) -> None:
        self.begun.append(offset)
        assert self.gate.acquire(timeout=SECONDS)
        self.flushed_offset = offset


async def test_the_next_group_fills_while_one_is_being_flushed(thread: FlushThread, nursery: trio.Nursery) -> None:
    commit, disk = GroupCommit(), SlowDisk()
    answers: list[int] = []
    groups: list[list[int]] = []
    moved = trio.Event()

    def answered() -> None:
        nonlocal moved
        groups.append(answers.copy())
        answers.clear()
        moved.set()
        moved = trio.Event()

    def wait(offset: int) -> None:
        commit.wait_durable(offset, lambda durable: answers.append(offset if durable else -1))

    commit.on_answered.subscribe(answered)
    nursery.start_soon(commit.run, disk, thread)
    wait(10)
    while not disk.begun:
        await settle()
    for offset in (20, 30, 40):  # the loop runs meanwhile, and handles them
        wait(offset)
        await settle()
    assert (disk.begun, groups, answers) == ([10], [], [])
    disk.gate.release()
    await moved.wait()
    assert groups == [[10]]
    disk.gate.release()
    await moved.wait()
    assert groups == [[10], [20, 30, 40]]
    assert disk.begun == [10, 40]
    nursery.cancel_scope.cancel()


async def test_sends_that_wait_for_a_hanging_disk_are_answered_in_time_and_a_stop_waits_for_the_disk(
    thread: FlushThread,
) -> None:
    commit, disk = GroupCommit(timeout=5), SlowDisk()
    answers: list[bool] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(commit.run, disk, thread)
        commit.wait_durable(10, answers.append)
        while not disk.begun:
            await settle()
        clock = trio.lowlevel.current_clock()
        clock.jump(5.1)  # type: ignore[attr-defined]  # trio declares the clock by its interface
        await settle()
        assert answers == [False]
        commit.wait_durable(20, answers.append)
        nursery.cancel_scope.cancel()
        disk.gate.release()
    assert answers == [False, False]
    assert disk.flushed_offset == 10
