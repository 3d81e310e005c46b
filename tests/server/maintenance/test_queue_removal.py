"""Removing queues one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from rocketwire.server.core.background import BUSY_SLICE_SECONDS, BackgroundBudget
from rocketwire.server.maintenance.queue_removal import QueueRemoval
from rocketwire.store.disk.files import FileSystem
from rocketwire.store.queues.consume_queue import ConsumeQueue
from rocketwire.store.store import MessageStore
from tests.server.busy_loop import BusyLoop
from tests.server.harness import settle
from tests.store.support import draft, open_store, small

TOPICS = ("A", "B", "C", "D")


class Disk(FileSystem):
    """Removes no file below a directory of the name `kept`."""

    kept = "none"

    def remove(self, path: str) -> None:
        if self.kept in path.split("/"):
            raise PermissionError(1, "Operation not permitted", path)
        super().remove(path)


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def store(tmp_path: Path, disk: Disk) -> Iterator[MessageStore]:
    made = open_store(small(tmp_path), files=disk)
    made.append([draft(0, topic=topic) for topic in TOPICS])
    yield made
    disk.kept = "none"
    made.close()


async def test_requests_are_served_between_two_queues_and_one_line_sums_up(
    store: MessageStore, nursery: trio.Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "rocketwire.server.maintenance")
    loop = BusyLoop(tick=BUSY_SLICE_SECONDS)
    loop.keep_busy()
    removal = QueueRemoval(store.retention, loop.budget)
    nursery.start_soon(removal.run)
    await settle()
    done: list[int] = []
    removal.remove_unused({"D"}, lambda: done.append(len(store.topics())))
    await settle()
    assert len(loop.rests) >= 3
    assert done == [1]
    assert store.topics() == {"D"}
    assert [record.getMessage() for record in caplog.records] == ["3 queues removed, of topic A (1), B (1), C (1)"]


async def test_a_queue_that_cannot_be_removed_is_logged_and_skipped(
    store: MessageStore, disk: Disk, nursery: trio.Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    removal = QueueRemoval(store.retention, BackgroundBudget())
    nursery.start_soon(removal.run)
    disk.kept = "B"
    done: list[str] = []
    removal.remove_unused({"D"}, lambda: done.append("first"))
    await settle()
    assert store.topics() == {"B", "D"}
    assert "topic B: queue 0: [Errno 1] Operation not permitted" in caplog.text
    assert "Traceback" not in caplog.text
    disk.kept = "none"
    removal.remove_unused({"D"}, lambda: done.append("second"))
    await settle()
    assert done == ["first", "second"]
    assert store.topics() == {"D"}


async def test_queues_that_cannot_be_listed_end_only_that_job(
    store: MessageStore, nursery: trio.Nursery, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    unused = store.retention.unused_queues({"B", "C", "D"})

    def broken() -> Iterator[ConsumeQueue | None]:
        yield from unused
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(store.retention, "expired_queues", broken)

    removal = QueueRemoval(store.retention, BackgroundBudget())
    nursery.start_soon(removal.run)
    done: list[str] = []
    removal.remove_expired(lambda: done.append("first"))
    removal.remove_unused({"D"}, lambda: done.append("second"))
    await settle()
    assert done == ["first", "second"]
    assert store.topics() == {"D"}
    assert "queues to remove: [Errno 24] Too many open files" in caplog.text
