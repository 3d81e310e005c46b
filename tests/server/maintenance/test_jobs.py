from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import pytest
import trio

from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.background import BackgroundBudget
from rocketwire.server.maintenance import jobs as maintenance
from rocketwire.server.maintenance.keys import FlushKeys
from rocketwire.store.errors import DiskFull, StoreError, StoreGone
from tests.server.harness import pass_time, run_inline


class FakeStore:
    """Records the calls, and fails while `error` is set."""

    def __init__(self) -> None:
        self.flushed: list[int] = []
        self.indexed = 0
        self.more = 0
        self.much: list[bool] = []
        self.error: Exception | None = None
        self.met: list[Exception] = []

    @property
    def index_suits_thread(self) -> bool:
        return bool(self.much) and self.much.pop(0)

    def flush_by_interval(self, now: int) -> None:
        if self.error:
            raise self.error
        self.flushed.append(now)

    def on_store_error(self, error: Exception) -> bool:
        self.met.append(error)
        return isinstance(error, StoreGone)

    def dispatch_index(self, _most: int = 1) -> bool:
        if self.error:
            raise self.error
        self.indexed += 1
        self.more -= 1
        return self.more > 0


class FakeTable:
    def __init__(self) -> None:
        self.text: bytes | None = None
        self.written: list[bytes] = []
        self.error: Exception | None = None

    def encode_in_steps(self) -> Generator[None, None, bytes | None]:
        yield
        return self.text

    def write(self, text: bytes) -> None:
        if self.error:
            raise self.error
        self.written.append(text)


def live() -> LiveGroup[FlushKeys]:
    return LiveGroup(FlushKeys())


async def test_missing_files_are_logged_by_their_watch(nursery: trio.Nursery, caplog: pytest.LogCaptureFixture) -> None:
    store: Any = FakeStore()
    store.error = StoreGone("/s/index")
    nursery.start_soon(maintenance.flush, store, live(), run_inline)
    nursery.start_soon(maintenance.index, store, run_inline, BackgroundBudget())
    await pass_time(0.6)
    assert store.met == [store.error, store.error]
    assert caplog.messages == []
    store.error = None
    await pass_time(6)
    await pass_time(6)
    assert store.indexed
    nursery.cancel_scope.cancel()


FAULTS = [DiskFull("p", "no space left"), OSError(24, "Too many open files"), StoreError("odd")]


@pytest.mark.parametrize("fault", FAULTS, ids=repr)
async def test_pages_are_flushed_every_half_second_and_after_a_fault(
    nursery: trio.Nursery, caplog: pytest.LogCaptureFixture, fault: Exception
) -> None:
    store: Any = FakeStore()
    nursery.start_soon(maintenance.flush, store, live(), run_inline)
    await pass_time(0.49)
    assert store.flushed == []
    await pass_time(0.02)
    assert store.flushed == [510]  # ms since the start, by a monotonic clock
    store.error = fault
    await pass_time(0.5)
    assert f"flush: {fault}" in caplog.text
    store.error = None
    await pass_time(5.1)
    await pass_time(0.5)
    assert len(store.flushed) == 2


async def test_pages_are_flushed_as_often_as_the_configuration_says(nursery: trio.Nursery) -> None:
    store: Any = FakeStore()
    keys = LiveGroup(FlushKeys(flush_interval_commit_log=200))
    nursery.start_soon(maintenance.flush, store, keys, run_inline)
    for _ in range(5):
        await pass_time(0.21)
    assert len(store.flushed) == 5


@pytest.mark.parametrize("fault", FAULTS, ids=repr)
async def test_the_index_is_built_at_once_and_after_a_fault(
    nursery: trio.Nursery, caplog: pytest.LogCaptureFixture, fault: Exception
) -> None:
    store: Any = FakeStore()
    nursery.start_soon(maintenance.index, store, run_inline, BackgroundBudget())
    await pass_time(0.06)
    await pass_time(0.06)
    assert store.indexed >= 1
    store.error = fault
    before = store.indexed
    for _ in range(10):
        await pass_time(0.06)
    assert caplog.text.count(f"index: {fault}") == 1  # one line in all
    store.error = None
    await pass_time(5.1)
    await pass_time(0.06)
    assert store.indexed > before


async def test_a_short_rest_of_the_index_is_built_in_steps_without_a_pause(nursery: trio.Nursery) -> None:
    store: Any = FakeStore()
    store.more = 7
    nursery.start_soon(maintenance.index, store, run_inline, BackgroundBudget())
    await pass_time(0.06)
    await pass_time(0.06)
    assert store.indexed >= 7


async def test_a_thread_builds_a_long_rest_of_the_index(nursery: trio.Nursery) -> None:
    store: Any = FakeStore()
    store.much, store.more = [True, True, False, True], 4
    in_thread: list[Any] = []

    async def run_noted(sync_fn: Callable[..., Any], *args: Any) -> Any:
        in_thread.append(sync_fn)
        return await run_inline(sync_fn, *args)

    nursery.start_soon(maintenance.index, store, run_noted, BackgroundBudget())
    await pass_time(0.06)
    assert store.indexed == 4
    assert in_thread == [store.dispatch_index] * 3


@pytest.mark.parametrize("fault", FAULTS, ids=repr)
async def test_a_changed_table_is_saved_at_intervals_and_after_a_fault(
    nursery: trio.Nursery, caplog: pytest.LogCaptureFixture, fault: Exception
) -> None:
    table: Any = FakeTable()
    nursery.start_soon(maintenance.persist, table, "some offsets", 5000, run_inline, BackgroundBudget())
    await pass_time(5.1)
    assert table.written == []
    table.text = b"1"
    await pass_time(5.1)
    assert table.written == [b"1"]
    table.error = fault
    await pass_time(5.1)
    assert f"some offsets: {fault}" in caplog.text
    table.error = None
    await pass_time(5.1)
    await pass_time(5.1)
    assert table.written == [b"1", b"1"]


class Saved:
    """A table that takes so many seconds to be saved."""

    def __init__(self) -> None:
        self.version = 0
        self.took = 0.0
        self.saves: list[tuple[int, float]] = []
        self.error: Exception | None = None

    def saving(self) -> int | None:
        return self.version or None

    async def run(self, save: Callable[[int], None], version: int) -> None:
        await trio.sleep(self.took)
        save(version)

    def save(self, version: int) -> None:
        if self.error:
            raise self.error
        self.saves.append((version, trio.current_time()))
        self.version = 0


@pytest.mark.parametrize("fault", FAULTS, ids=repr)
async def test_additions_to_a_table_are_saved_soon_and_after_a_fault(
    nursery: trio.Nursery, caplog: pytest.LogCaptureFixture, fault: Exception
) -> None:
    table: Any = Saved()
    nursery.start_soon(maintenance.save, table, "topics", table.run)
    await pass_time(5)
    assert table.saves == []
    table.version = 1
    await pass_time(0.51)
    assert [version for version, _ in table.saves] == [1]
    table.version, table.error = 2, fault
    await pass_time(0.51)
    assert f"topics: {fault}" in caplog.text
    table.error = None
    await pass_time(5.1)
    await pass_time(0.51)
    assert [version for version, _ in table.saves] == [1, 2]


async def test_a_table_that_is_slow_to_save_is_saved_less_often(nursery: trio.Nursery) -> None:
    table: Any = Saved()
    table.took = 0.1
    nursery.start_soon(maintenance.save, table, "topics", table.run)
    for took, pause in ((0.1, 2.0), (4.0, 10.0)):
        table.took = took
        times = []
        for _ in range(400):
            table.version = 1
            await pass_time(0.1)
        times = [time for _, time in table.saves]
        assert times[-1] - times[-2] == pytest.approx(took + pause, abs=0.25)
