"""Files and folders that vanish from an open store: the errors, and that it continues when they are back."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import pytest

from rocketwire.store.disk.files import FileSystem, missing_path_error, store_error_for
from rocketwire.store.errors import (
    FlushDelayed,
    StoreError,
    StoreGone,
    StoreLocked,
    StoreNotWritable,
    StoreUnreadable,
)
from rocketwire.store.store import MessageStore
from rocketwire.store.tables.offsets import OffsetTable
from rocketwire.store.tables.topics import TopicTable
from rocketwire.wire.bodies.topic import TopicConfig
from tests.store.crash_disk import refusal
from tests.store.support import START, Clock, bodies, draft, kill, open_store, small

FILES = FileSystem()
ONE_FILE = {"consume_queue_file_size": 20_000}
"""So that all of a queue is mapped."""


def opened(root: Path, count: int = 30, **changes: int) -> MessageStore:
    store = open_store(small(root, **changes))
    assert len(store.append([draft(number) for number in range(count)])) == count
    while store.dispatch_index():
        pass
    return store


def refused(store: MessageStore, number: int = 99, topic: str = "T") -> str:
    """Which path is named to who may not append; the store knows it, too."""
    assert store.append([draft(number, topic=topic)]) == []
    error = store.append_error
    assert isinstance(error, StoreGone)
    return error.path


def look(store: MessageStore) -> StoreError | None:
    refusal = store.check_files()
    store.apply_files_check(refusal)
    return refusal


def test_the_error_names_the_missing_folder(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    assert missing_path_error(str(tmp_path / "a" / "b" / "c" / "file"), FILES).path == str(tmp_path / "a" / "b")
    assert missing_path_error(str(tmp_path / "a" / "file"), FILES).path == str(tmp_path / "a" / "file")
    missing = FileNotFoundError(errno.ENOENT, "No such file or directory", tmp_path / "a" / "b" / "c")
    assert str(store_error_for(missing, "", FILES)).startswith(f"{tmp_path}/a/b is gone: it was removed or moved away")
    other = store_error_for(refusal(errno.EMFILE), "where", FILES)
    assert isinstance(other, StoreNotWritable)
    assert str(other) == "store where cannot be written: Too many open files"


@pytest.mark.parametrize("what", ["", "commitlog", "consumequeue"])
def test_nothing_is_appended_while_a_folder_is_missing(tmp_path: Path, what: str) -> None:
    store = opened(tmp_path / "store", **ONE_FILE)
    path, away = tmp_path / "store" / what, tmp_path / "away"
    path.rename(away)
    error = look(store)
    assert isinstance(error, StoreGone)
    assert error.path == str(path)
    assert store.append_refusal is error
    assert not store.kernel_may_append_at(START + 1)
    assert refused(store) == str(path)
    assert bodies(store)[-1] == b"body-29"  # what is mapped can be read
    away.rename(path)
    assert look(store) is None
    assert len(store.append([draft(30)])) == 1
    store.close()
    store = open_store(small(tmp_path / "store", **ONE_FILE))
    assert bodies(store) == [b"body-%d" % number for number in range(31)]


def test_an_append_that_finds_it_makes_all_others_fail(tmp_path: Path) -> None:
    store = opened(tmp_path / "store")
    shutil.rmtree(tmp_path / "store" / "commitlog")
    number = 30
    while store.append([draft(number)]):
        number += 1
    assert number < 100
    assert store.files_refusal is not None
    assert store.missing_files.keys() == {str(tmp_path / "store" / "commitlog")}
    assert not (tmp_path / "store" / "commitlog").exists()
    (tmp_path / "store" / "commitlog").mkdir()  # empty: what is written is not there
    error = look(store)
    assert isinstance(error, StoreGone)
    assert error.path.startswith(str(tmp_path / "store" / "commitlog" / "0"))
    with pytest.raises(StoreGone):
        store.close()
    assert (tmp_path / "store" / "abort").exists()


def test_a_replaced_file_is_distinguished_from_the_open_one(tmp_path: Path) -> None:
    store = opened(tmp_path / "store")
    current = sorted((tmp_path / "store" / "commitlog").iterdir())[-2]
    shutil.copy(current, tmp_path / "copy")
    (tmp_path / "copy").rename(current)
    error = look(store)
    assert isinstance(error, StoreGone)
    assert error.replaced
    assert error.path == str(current)
    assert "is not the file that the server has open: it was replaced meanwhile; restart the server" in str(error)
    kill(store)


def test_a_queue_without_its_file_takes_nothing_and_the_others_do(tmp_path: Path) -> None:
    store = opened(tmp_path / "store", **ONE_FILE)
    queue, away = tmp_path / "store" / "consumequeue" / "T" / "0", tmp_path / "away"
    queue.rename(away)
    assert look(store) is None
    assert store.missing_files[str(queue)].path == str(queue)
    assert refused(store) == str(queue)
    assert store.append_refusal is None
    assert len(store.append([draft(7, queue_id=1)])) == 1
    assert bodies(store)[-1] == b"body-29"
    away.rename(queue)
    assert len(store.append([draft(30)])) == 1
    assert bodies(store) == [b"body-%d" % number for number in range(31)]


def test_no_further_file_is_made_in_a_row_that_lost_one(tmp_path: Path) -> None:
    store = opened(tmp_path / "store", 16)  # a whole file of the queue
    queue = tmp_path / "store" / "consumequeue" / "T" / "0"
    shutil.rmtree(queue)
    queue.mkdir()
    assert refused(store, 16) == str(queue / f"{0:020}")
    assert list(queue.iterdir()) == []
    kill(store)


def test_a_queue_makes_no_folder_again(tmp_path: Path) -> None:
    store = opened(tmp_path / "store")
    (tmp_path / "store" / "consumequeue").rename(tmp_path / "away")
    assert refused(store, topic="New") == str(tmp_path / "store" / "consumequeue")
    assert not (tmp_path / "store" / "consumequeue").exists()
    kill(store)


def test_the_file_made_ahead_is_made_again(tmp_path: Path) -> None:
    store = opened(tmp_path / "store")
    max((tmp_path / "store" / "commitlog").iterdir()).unlink()
    assert len(store.append([draft(number) for number in range(30, 60)])) == 30
    assert bodies(store) == [b"body-%d" % number for number in range(60)]


def test_reading_a_missing_file_names_it(tmp_path: Path) -> None:
    store = opened(tmp_path / "store", 300)  # more files than are mapped
    first = tmp_path / "store" / "commitlog" / f"{0:020}"
    first.rename(tmp_path / "away")
    with pytest.raises(StoreGone, match=r"is gone: it was removed or moved away") as error:
        store.get("T", 0, 0, 1)
    assert error.value.path == str(first)
    assert store.on_store_error(error.value)
    assert not store.on_store_error(FlushDelayed("x", "y"))
    assert not store.path_exists(str(first))
    (tmp_path / "away").rename(first)
    assert store.get("T", 0, 0, 1).count == 1


class NoDescriptors(FileSystem):
    none_left = False

    def open(self, path: str) -> int:
        if self.none_left:
            raise refusal(errno.EMFILE)
        return super().open(path)


def test_a_file_that_cannot_be_opened_has_another_error(tmp_path: Path) -> None:
    files = NoDescriptors()
    store = open_store(small(tmp_path), files=files)
    store.append([draft(number) for number in range(300)])
    files.none_left = True
    with pytest.raises(StoreUnreadable, match=r"/0+ cannot be read: Too many open files"):
        store.get("T", 0, 0, 1)
    files.none_left = False


@pytest.mark.parametrize("what", ["", "commitlog", "consumequeue/T/0"])
def test_a_flush_names_missing_files_and_succeeds_when_they_are_back(tmp_path: Path, what: str) -> None:
    store = opened(tmp_path / "store")
    path, away = tmp_path / "store" / what, tmp_path / "away"
    path.rename(away)
    with pytest.raises(StoreGone) as error:  # noqa: PT012 - one of them fails
        store.flush_to(store.max_physical_offset)
        store.checkpoint()
    assert error.value.path == str(path)
    away.rename(path)
    store.flush_to(store.max_physical_offset)
    store.checkpoint()
    assert store.flushed_offset == store.max_physical_offset


def test_each_flush_checks_the_file(tmp_path: Path) -> None:
    store = opened(tmp_path / "store")
    store.flush_to(store.max_physical_offset)  # keeps a descriptor for the next
    store.append([draft(30)])
    current = sorted((tmp_path / "store" / "commitlog").iterdir())[-2]
    current.unlink()
    with pytest.raises(StoreGone) as error:
        store.flush_to(store.max_physical_offset)
    assert error.value.path == str(current)
    kill(store)


def test_the_index_waits_for_its_folder(tmp_path: Path) -> None:
    store = opened(tmp_path / "store")
    index, away = tmp_path / "store" / "index", tmp_path / "away"
    assert look(store) is None
    index.rename(away)
    assert look(store) is None
    assert store.missing_files.keys() == {str(index)}
    assert len(store.append([draft(number) for number in range(30, 60)])) == 30
    with pytest.raises(StoreGone):
        list(iter(store.dispatch_index, False))
    assert not index.exists()
    with pytest.raises(StoreGone):
        store.query("T", "k59", 1, 0, START + 1000)
    away.rename(index)
    while store.dispatch_index():
        pass
    assert len(store.query("T", "k59", 1, 0, START + 1000).records) == 1


def test_what_guards_the_store_is_made_again(tmp_path: Path) -> None:
    store = opened(tmp_path)
    for name in ("abort", "lock", "checkpoint"):
        (tmp_path / name).unlink()
    assert look(store) is None
    assert (tmp_path / "abort").exists()
    with pytest.raises(StoreLocked):
        open_store(small(tmp_path))
    store.checkpoint()
    assert (tmp_path / "checkpoint").stat().st_size == 4096


def test_a_store_that_another_process_took_is_lost(tmp_path: Path) -> None:
    store = opened(tmp_path)
    (tmp_path / "lock").unlink()
    other = open_store(small(tmp_path))
    error = look(store)
    assert isinstance(error, StoreLocked)
    assert store.append([draft(30)]) == []
    assert len(other.append([draft(30)])) == 1
    other.close()
    assert look(store) is error  # it is not known what the other wrote
    with pytest.raises(StoreLocked):
        store.close()
    assert bodies(open_store(small(tmp_path))) == [b"body-%d" % number for number in range(31)]


class NoLock(FileSystem):
    def lock(self, path: str) -> int:
        if Path(path).parent.joinpath("checkpoint").exists():
            raise refusal(errno.EIO)
        return super().lock(path)


def test_a_lock_that_cannot_be_taken_again_is_tried_again(tmp_path: Path) -> None:
    store = open_store(small(tmp_path), files=NoLock())
    (tmp_path / "lock").unlink()
    assert look(store) is None
    kill(store)


def test_a_table_makes_no_folder_again_and_is_written_when_it_is_back(tmp_path: Path) -> None:
    store = opened(tmp_path)
    config, away = tmp_path / "config", tmp_path / "away"
    topics = TopicTable.open(config / "topics.json", clock=Clock())
    offsets = OffsetTable.open(config / "consumerOffset.json")
    topics.put(TopicConfig(topic_name="T"))
    topics.persist()
    assert look(store) is None
    config.rename(away)
    assert look(store) is None
    assert store.missing_files.keys() == {str(config)}
    offsets.commit("G", "T", 0, 5)
    topics.put(TopicConfig(topic_name="U"))
    for table in (topics, offsets):
        with pytest.raises(StoreGone) as error:
            table.persist()
        assert error.value.path == str(config)
    assert not config.exists()
    config.mkdir()
    for table in (topics, offsets):
        table.rewrite()
    assert TopicTable.open(config / "topics.json", clock=Clock()).names() == ["T", "U"]
    assert OffsetTable.open(config / "consumerOffset.json").query("G", "T", 0) == 5
