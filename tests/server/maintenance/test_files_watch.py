"""The watch over the store's files: its log lines, their frequency, and the tables that it has written again."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
import trio

from rocketwire.server.maintenance.files_watch import MissingFilesWatch
from rocketwire.store.errors import StoreError, StoreGone, StoreNotWritable
from tests.server.harness import mock_clock, settle


async def inline(sync_fn: Callable[..., Any], *args: Any) -> Any:
    return sync_fn(*args)


class FakeStore:
    """A store whose missing files the test chooses."""

    def __init__(self) -> None:
        self.files_refusal: StoreError | None = None
        self.refusal: StoreError | None = None
        self.missing_files: dict[str, StoreGone] = {}
        self.missing: set[str] = set()
        self.broken: OSError | None = None

    def check_files(self) -> StoreError | None:
        if self.broken is not None:
            raise self.broken
        return self.refusal

    def apply_files_check(self, refusal: StoreError | None) -> None:
        self.files_refusal = refusal

    def on_store_error(self, error: Exception) -> bool:
        if isinstance(error, StoreGone):
            self.missing_files[error.path] = error
        return isinstance(error, StoreGone)

    def path_exists(self, path: str) -> bool:
        return path not in self.missing


class Table:
    """A table whose file the test may hide."""

    def __init__(self, store: FakeStore, path: str) -> None:
        self.path = path
        self.has_file = path not in store.missing
        self.lost_change = False
        self.rewritten = 0
        self.error: StoreError | None = None
        self._store = store

    def rewrite(self) -> None:
        if self.error is not None:
            raise self.error
        self.rewritten += 1
        self.lost_change = False
        self._store.missing.discard(self.path)


@pytest.fixture
def store() -> FakeStore:
    return FakeStore()


async def watched(nursery: trio.Nursery, store: Any, *tables: Table) -> None:
    nursery.start_soon(MissingFilesWatch(store, tables, inline).run)
    await settle()


async def seconds(count: int) -> None:
    for _ in range(count):
        mock_clock().jump(1.0)
        await settle()


def logged(caplog: pytest.LogCaptureFixture) -> list[str]:
    lines = [f"{record.levelname} {record.getMessage()}" for record in caplog.records]
    caplog.clear()
    return lines


GONE = "is gone: it was removed or moved away while the server has it open"


async def test_a_refusal_and_its_end_are_logged_once(
    nursery: trio.Nursery, store: FakeStore, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    await watched(nursery, store)
    await seconds(3)
    assert logged(caplog) == []
    store.refusal = StoreGone("/s")
    store.missing_files["/s/commitlog/0"] = StoreGone("/s/commitlog/0")  # an unchanged state is not logged
    store.missing = {"/s", "/s/commitlog/0"}
    await seconds(5)
    assert store.files_refusal is store.refusal
    assert logged(caplog) == [f"ERROR /s {GONE}; messages are refused"]
    store.refusal, store.missing = None, set()
    await seconds(5)
    assert logged(caplog) == ["INFO the store's files exist again, messages are taken"]
    assert store.missing_files == {}
    nursery.cancel_scope.cancel()


async def test_a_refusal_that_ended_before_the_check_is_logged(
    nursery: trio.Nursery, store: FakeStore, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    await watched(nursery, store)
    store.files_refusal = StoreGone("/s/commitlog")
    store.missing_files["/s/consumequeue/T/0"] = StoreGone("/s/consumequeue/T/0")
    await seconds(2)
    assert logged(caplog) == [
        f"ERROR /s/commitlog {GONE}; messages are refused",
        "INFO the store's files exist again, messages are taken",
        f"ERROR /s/consumequeue/T/0 {GONE}",
        "INFO /s/consumequeue/T/0 exists again",
    ]
    nursery.cancel_scope.cancel()


async def test_errors_of_requests_are_logged_once(
    nursery: trio.Nursery, store: FakeStore, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    await watched(nursery, store)
    store.missing = {"/s/index"}
    for _ in range(5):
        store.on_store_error(StoreGone("/s/index"))
        await seconds(1)
    assert logged(caplog) == [f"ERROR /s/index {GONE}"]
    store.missing = set()
    await seconds(2)
    assert logged(caplog) == ["INFO /s/index exists again"]
    replaced = StoreGone("/s/consumequeue/T/0/0", replaced=True)
    for _ in range(5):
        store.on_store_error(replaced)
        await seconds(1)
    assert logged(caplog) == [f"ERROR {replaced}"]
    nursery.cancel_scope.cancel()


async def test_tables_are_written_when_their_files_are_missing(
    nursery: trio.Nursery, store: FakeStore, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    store.missing = {"/s/config/never"}
    one, two, never = (Table(store, f"/s/config/{name}") for name in ("one", "two", "never"))
    await watched(nursery, store, one, two, never)
    await seconds(2)
    store.missing |= {one.path}
    await seconds(2)
    assert (one.rewritten, two.rewritten, never.rewritten) == (1, 0, 0)
    assert logged(caplog) == ["INFO written again, as they were gone: /s/config/one"]
    store.missing |= {one.path, two.path, "/s/config"}
    await seconds(3)
    assert (one.rewritten, two.rewritten) == (1, 0)
    store.missing -= {two.path, "/s/config"}  # back with a file that may be old
    one.error = StoreNotWritable(one.path, "a full disk")
    await seconds(3)
    assert (one.rewritten, two.rewritten) == (1, 1)
    one.error = None
    await seconds(3)
    assert (one.rewritten, two.rewritten) == (2, 1)
    two.lost_change = True  # the folder was away and came back between two checks
    await seconds(3)
    assert (one.rewritten, two.rewritten) == (2, 2)
    nursery.cancel_scope.cancel()


async def test_a_disk_without_an_answer_is_checked_again(
    nursery: trio.Nursery, store: FakeStore, caplog: pytest.LogCaptureFixture
) -> None:
    await watched(nursery, store)
    store.broken = OSError(5, "Input/output error", "/s")
    await seconds(3)
    assert logged(caplog) == ["ERROR store: [Errno 5] Input/output error: '/s'"]
    store.broken, store.refusal = None, StoreGone("/s")
    await seconds(1)
    assert logged(caplog) == [f"ERROR /s {GONE}; messages are refused"]
    nursery.cancel_scope.cancel()
