"""Known queues are followed whether their files stay open or not; the twin is tested by tests/kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketwire.spark.stores.tails import Tails
from rocketwire.store.archive.read.directory import discover
from rocketwire.store.archive.read.queues import Queue
from rocketwire.store.disk.input_files import KeptFiles
from tests.store.support import draft, open_store, small


def known(root: Path, kept: int) -> Tails:
    """The queues of a store, so many of them with a file that stays open."""
    tails = Tails(KeptFiles(kept))
    for files in discover(str(root)).queues:
        with Queue(files) as queue:
            [file] = files.files
            tails.add((files.topic, files.queue_id), queue, file.path, (queue.end - 1) * 20, file.size)
    return tails


@pytest.mark.parametrize("kept", [0, 1, 5])
def test_new_entries_are_found(tmp_path: Path, kept: int) -> None:
    store = open_store(small(tmp_path, consume_queue_file_size=20 * 500))
    store.append([draft(queue_id=number % 3) for number in range(9)])
    tails = known(tmp_path, kept)
    before = tails.now()
    store.append([draft(queue_id=1) for _ in range(100)])
    assert tails.follow()
    now = tails.now()
    store.close()
    assert now.bounds(1 << 40) == {("T", 0): (0, 3), ("T", 1): (0, 103), ("T", 2): (0, 3)}
    assert before.bounds(1 << 40)["T", 1] == (0, 3), "what was known before stays"
    assert now.newest_queue() == (("T", 1), 103, now.ends["T", 1][1])
    assert now.newest(2) == sorted((place for _, place in now.ends.values()), reverse=True)[:2]
    assert now.bounds(now.ends["T", 1][1]) == {("T", 0): (0, 3), ("T", 2): (0, 3)}
    assert ("T", 2) in now
    assert ("T", 3) not in now
    tails.forget()
    assert len(tails.now()) == 0
    assert tails.now().newest_queue() is None


@pytest.mark.parametrize("kept", [0, 5])
def test_a_removed_file_is_noticed(tmp_path: Path, kept: int) -> None:
    store = open_store(small(tmp_path))
    store.append([draft()])
    store.close()
    tails = known(tmp_path, kept)
    assert tails.follow()
    (tmp_path / "consumequeue" / "T" / "0" / f"{0:020d}").unlink()
    assert not tails.follow()
