"""The index of waiting timer messages."""

from __future__ import annotations

from pathlib import Path

from rocketwire.store.files import RealFileSystem
from rocketwire.store.timer.index import TimerIndex
from rocketwire.store.timer.waiting import Waiting
from tests.store.support import START, open_store, small

NOW = START - START % 1000


def test_what_is_put_waits_in_its_slot_until_it_is_settled(tmp_path: Path) -> None:
    store = open_store(small(tmp_path))
    index = TimerIndex.open(store.settings, store, RealFileSystem(), now=NOW + 5)
    assert list(index.recovery()) == []
    assert not (tmp_path / "timerlog").exists()
    entered = index.put([Waiting(NOW + 2345, 100 * n, 90, 7, deletes=n == 2) for n in range(3)], NOW + 5)
    assert entered == [(52 * n, NOW + 2000) for n in range(3)]
    assert index.pending == index.pending_by_hash[7] == 2
    assert index.next_slot(NOW, NOW + 2000) is None
    assert index.next_slot(NOW, NOW + 2001) == NOW + 2000
    units = index.waiting_in(NOW + 2000)
    assert [unit.position for unit in units] == [104, 52, 0]
    assert [unit.deletes for unit in units] == [True, False, False]
    index.settle(52, 1234)
    assert [unit.position for unit in index.waiting_in(NOW + 2000)] == [104, 0]
    assert index.pending == 1
    snapshot = index.snapshot()
    assert snapshot is not None
    index.save(snapshot)
    assert index.snapshot() is None
    index.close(NOW)
    store.close()
