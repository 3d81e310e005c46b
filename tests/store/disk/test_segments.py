"""When it is made durable which files a row has."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.errors import FlushDelayed
from tests.store.crash_disk import refusal
from tests.store.support import draft, open_store, small


class Counted(FileSystem):
    def __init__(self) -> None:
        self.synced: list[str] = []
        self.failing = ""

    def sync_directory(self, path: str) -> None:
        if path == self.failing:
            raise refusal(errno.EMFILE)
        self.synced.append(path)
        super().sync_directory(path)


def test_an_append_to_a_new_queue_waits_for_no_disk(tmp_path: Path) -> None:
    files = Counted()
    store = open_store(small(tmp_path), files=files)
    store.append([draft()])
    files.synced.clear()
    store.append([draft(1, queue_id=1), draft(2, topic="Other")])
    assert files.synced == []


def test_a_checkpoint_makes_the_directories_of_new_queues_durable(tmp_path: Path) -> None:
    files = Counted()
    store = open_store(small(tmp_path), files=files)
    store.append([draft(queue_id=n) for n in range(2)])
    # The directories of a queue that is removed before it was flushed are those of the other too.
    store._queues.remove(store._queues.by_key["T", 0])
    wanted = {f"{tmp_path}/consumequeue{directory}" for directory in ("", "/T", "/T/1")}
    files.synced.clear()
    files.failing = f"{tmp_path}/consumequeue/T"
    with pytest.raises(FlushDelayed):
        store.checkpoint()
    files.failing = ""
    files.synced.clear()
    store.checkpoint()
    assert wanted <= set(files.synced)
    store.append([draft(queue_id=n) for n in range(2, 9)])
    files.synced.clear()
    store.checkpoint()
    assert files.synced.count(f"{tmp_path}/consumequeue") == files.synced.count(f"{tmp_path}/consumequeue/T") == 1
