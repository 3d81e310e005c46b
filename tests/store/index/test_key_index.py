"""The life of the index over stops and full disks."""

from __future__ import annotations

from pathlib import Path
from time import tzset

import pytest

from rocketwire import native
from rocketwire.store.errors import DiskFull
from rocketwire.store.settings import StoreSettings
from rocketwire.store.store import MessageStore
from tests.store.crash_disk import CrashDisk
from tests.store.support import START, Clock, draft, kill, open_store, small


def found(store: MessageStore, key: str, begin: int = 0, end: int = 1 << 60) -> int:
    return len(store.query("T", key, 32, begin, end).records)


def test_an_empty_store_finds_nothing(tmp_path: Path, store: MessageStore) -> None:
    assert found(store, "k") == 0
    store.close()
    assert not (tmp_path / "index").exists()


def test_a_message_without_keys_makes_the_file_after_a_full_one(tmp_path: Path, store: MessageStore) -> None:
    for n in range(49):
        store.append([draft(n, keys=None)])
    store.dispatch_index()
    assert len(list((tmp_path / "index").iterdir())) == 1
    store.append([draft(50, keys=None, unique_key=None)])
    store.dispatch_index()
    assert len(list((tmp_path / "index").iterdir())) == 2


def indexed_from(settings: StoreSettings) -> int:
    """Where a start after a clean stop begins to index."""
    store = open_store(settings)
    assert store._index is not None
    begin = store._index._backlog.next_offset
    store.close()
    return begin


@pytest.mark.parametrize("keyed", [0, 3, 49])
def test_messages_without_keys_are_read_once(tmp_path: Path, keyed: int) -> None:
    settings = small(tmp_path, commit_log_file_size=1 << 18)
    store = open_store(settings)
    store.append([draft(n, keys=None) for n in range(keyed)])
    last = store.append([draft(n, keys=None, unique_key=None, properties=b"TAGS\x01x") for n in range(500)])[-1]
    store.close()
    assert indexed_from(settings) == last.physical_offset
    assert indexed_from(settings) == last.physical_offset
    # Those with keys that come later are found, and so are those before when the index is made again.
    store = open_store(settings)
    store.append([draft(n) for n in range(100, 110)])
    numbers = [*range(keyed), *range(100, 110)]
    assert [found(store, f"U{n:07d}") for n in numbers] == [1] * len(numbers)
    store.close()
    for path in (tmp_path / "index").iterdir():
        path.unlink()
    store = open_store(settings)
    while store.dispatch_index():
        pass
    assert [found(store, f"U{n:07d}") for n in numbers] == [1] * len(numbers)


def test_what_a_full_disk_kept_out_of_the_index_is_no_message_without_keys(tmp_path: Path) -> None:
    disk = CrashDisk(tmp_path)
    settings = small(tmp_path, commit_log_file_size=1 << 16)
    store = open_store(settings, files=disk)
    store.append([draft(n) for n in range(20)])
    while store.dispatch_index():
        pass
    store.append([draft(n) for n in range(20, 40)])
    disk.files_left = 0
    store.close()
    store = open_store(settings)
    assert [found(store, f"k{n}") for n in range(40)] == [1] * 40


def test_every_key_of_a_message_finds_it(store: MessageStore) -> None:
    store.append([draft(1, unique_key="U", keys="a  b ä"), draft(2, unique_key=None, keys=None)])
    assert [found(store, key) for key in ("U", "a", "b", "ä", "", "c")] == [1, 1, 1, 1, 0, 0]
    result = store.query("T", "U", 32, 0, 1 << 60)
    assert (result.index_last_update_timestamp, result.index_last_update_offset) == (START, 0)
    nothing = store.query("T", "none", 32, 0, 1 << 60)
    assert (nothing.records, nothing.index_last_update_timestamp) == ([], 0)


def test_queries_are_bounded_by_time_and_count(tmp_path: Path) -> None:
    clock = Clock()
    store = open_store(small(tmp_path, index_entries=1000, commit_log_file_size=1 << 16), clock)
    for n in range(100):
        clock.now = START + n * 1000
        store.append([draft(n, unique_key="U", keys="same")])
    assert found(store, "same", START + 10_000, START + 19_999) == 10
    assert len(store.query("T", "same", 5, 0, 1 << 60).records) == 5
    assert len(store.query("T", "same", 500, 0, 1 << 60).records) == 64
    assert found(store, "same", START + 200_000, START + 300_000) == 0


def test_queries_go_over_many_files(tmp_path: Path) -> None:
    clock = Clock()
    store = open_store(small(tmp_path), clock)
    for n in range(200):
        clock.now = START + n * 1000
        store.append([draft(n)])
    assert [found(store, f"k{n}") for n in range(200)] == [1] * 200
    assert found(store, "k7", START + 100_000) == 0
    names = sorted(path.name for path in (tmp_path / "index").iterdir())
    assert len(names) == 400 // 49 + 1
    assert all(len(name) == 17 for name in names)


def test_files_are_named_by_the_local_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        with monkeypatch.context() as patch:
            patch.setenv("TZ", "Asia/Kolkata")
            tzset()
            store = open_store(small(tmp_path), Clock(START + 7))
            store.append([draft(1)])
            store.close()
    finally:
        tzset()
    assert [path.name for path in (tmp_path / "index").iterdir()] == ["20231115034320007"]


def test_full_files_are_flushed_and_kept_after_a_kill(tmp_path: Path) -> None:
    clock = Clock()
    settings = small(tmp_path)
    store = open_store(settings, clock)
    for n in range(60):
        clock.now = START + n * 1000
        store.append([draft(n)])
        store.dispatch_index()
    store.checkpoint()
    assert store._checkpoint.index > 0
    kept = sorted((tmp_path / "index").iterdir())[:-1]
    before = [path.read_bytes() for path in kept]
    kill(store)
    store = open_store(settings, clock)
    assert [path.read_bytes() for path in kept] == before
    assert [found(store, f"k{n}") for n in range(60)] == [1] * 60


def test_too_many_pending_messages_are_read_from_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocketwire.store.index.index_backlog._MOST_PENDING", 10)
    store = open_store(small(tmp_path))
    for n in range(0, 48, 4):
        store.append([draft(n + i) for i in range(4)])
    assert [found(store, f"k{n}") for n in range(48)] == [1] * 48


def test_only_what_the_kernel_does_suits_a_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocketwire.store.index.key_index._MUCH", 10)
    store = open_store(small(tmp_path))
    suits = [store.index_suits_thread]
    store.append([draft(0)])
    suits.append(store.index_suits_thread)
    assert suits == [False, True]  # the first file is to be made
    store.dispatch_index()
    store.append([draft(n) for n in range(1, 4)])
    assert not store.index_suits_thread
    store.append([draft(n) for n in range(4, 8)])
    store.append([draft(n) for n in range(8)])
    assert store.index_suits_thread == (native.kernel is not None)
    assert store._index is not None
    store._index.keys.take(1 << 62, 1)  # empties the column, as too many pending keys do
    for _ in range(5):
        store.append([draft(n) for n in range(8, 16)])
    assert not store.index_suits_thread  # first comes what has to be read from the log
    store.dispatch_index()
    assert store.index_suits_thread == (native.kernel is not None)
    while store.dispatch_index():
        pass
    assert not store.index_suits_thread
    assert [found(store, f"k{n}") for n in range(16)] == [2] * 8 + [5] * 8
    store.close()
    store = open_store(small(tmp_path, message_index_enable=False))
    assert not store.index_suits_thread


def test_without_an_index_nothing_is_found(tmp_path: Path) -> None:
    settings = small(tmp_path, message_index_enable=False)
    store = open_store(settings)
    store.append([draft(1)])
    assert not store.dispatch_index()
    assert found(store, "k1") == 0
    store.checkpoint()
    store.close()
    assert not (tmp_path / "index").exists()
    store = open_store(small(tmp_path))
    assert found(store, "k1") == 1


def test_a_full_disk_stops_the_index_not_the_messages(tmp_path: Path) -> None:
    disk = CrashDisk(tmp_path)
    store = open_store(small(tmp_path, commit_log_file_size=1 << 16), files=disk)
    store.append([draft(n) for n in range(20)])
    while store.dispatch_index():
        pass
    store.append([draft(n) for n in range(20, 40)])
    disk.files_left = 0
    with pytest.raises(DiskFull, match="No space left"):
        store.dispatch_index()
    assert len(store.append([draft(40)])) == 1
    disk.files_left = None
    assert [found(store, f"k{n}") for n in range(41)] == [1] * 41


def test_a_clock_that_goes_back_does_not_disorder_the_files(tmp_path: Path) -> None:
    clock = Clock()
    store = open_store(small(tmp_path), clock)
    for n in range(100):
        clock.now -= 5000
        store.append([draft(n)])
        store.dispatch_index()
    assert [found(store, f"k{n}") for n in range(100)] == [1] * 100
    store.close()
    store = open_store(small(tmp_path))
    assert [found(store, f"k{n}") for n in range(100)] == [1] * 100


def test_index_files_of_another_size_are_made_again_after_a_kill(tmp_path: Path) -> None:
    store = open_store(small(tmp_path))
    store.append([draft(n) for n in range(10)])
    store.dispatch_index()
    kill(store)
    store = open_store(small(tmp_path, index_entries=77))
    assert [found(store, f"k{n}") for n in range(10)] == [1] * 10


def test_a_query_does_not_wait_for_a_large_backlog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocketwire.store.index.key_index.READ", 3)
    store = open_store(small(tmp_path, commit_log_file_size=1 << 16))
    store.append([draft(n) for n in range(120)])
    kill(store)
    store = open_store(small(tmp_path, commit_log_file_size=1 << 16))
    assert [found(store, "k0"), store._index is not None and store._index._backlog.behind] == [1, True]
    assert found(store, "k96") == 0
    while store.dispatch_index():
        pass
    assert [found(store, f"k{n}") for n in range(120)] == [1] * 120


def test_a_step_reads_as_many_messages_from_the_log_as_it_may(tmp_path: Path) -> None:
    store = open_store(small(tmp_path))
    store.append([draft(n) for n in range(20)])
    kill(store)
    store = open_store(small(tmp_path))
    assert len(list(iter(lambda: store.dispatch_index(8), False))) == 2
