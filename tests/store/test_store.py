"""The façade: append, read, reopen, refuse."""

from __future__ import annotations

import errno
import os
import struct
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.errors import (
    RecordTooLarge,
    StoreClosed,
    StoreForeign,
    StoreLocked,
    StoreNotWritable,
    TopicUnusable,
)
from rocketwire.store.read.fetch import FetchStatus
from rocketwire.store.store import MessageStore
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.hosts import encode_host
from rocketwire.wire.message import decode_record
from tests.store.offline.support import damages
from tests.store.support import HOST, START, Clock, bodies, draft, kill, open_store, small


def names(path: Path) -> list[str]:
    return sorted(each.name for each in path.iterdir())


def why(store: MessageStore) -> Exception | None:
    """Read again each time: a type checker takes an attribute for unchanged by a call."""
    return store.append_error


def test_a_new_store_has_apaches_directories(tmp_path: Path) -> None:
    store = open_store(small(tmp_path / "a" / "b"))
    assert names(tmp_path / "a" / "b") == ["abort", "checkpoint", "commitlog", "config", "consumequeue", "lock"]
    assert (tmp_path / "a" / "b" / "lock").read_bytes() == b"lock"
    assert store.max_physical_offset == 0
    store.close()
    assert names(tmp_path / "a" / "b") == ["checkpoint", "commitlog", "config", "consumequeue", "lock"]
    assert (tmp_path / "a" / "b" / "checkpoint").stat().st_size == 4096


def test_an_appended_message_is_read_back_whole(tmp_path: Path) -> None:
    clock = Clock()
    store = open_store(small(tmp_path), clock)
    (appended,) = store.append(
        [draft(7, body=memoryview(b"hello"), flag=-3, sys_flag=1, reconsume_times=2, prepared_offset=99)]
    )
    assert store.append_error is None
    assert store.last_append_timestamp == START
    assert appended == (0, store.max_physical_offset, 0)
    record = store.record_at(0)
    assert record is not None
    message = decode_record(record)
    assert message.body == b"hello"
    assert message.topic == "T"
    assert message.flag == -3
    assert message.sys_flag == 1
    assert message.reconsume_times == 2
    assert message.prepared_transaction_offset == 99
    assert message.born_host == ("10.0.0.1", 1234)
    assert message.store_host == ("127.0.0.1", 10911)
    assert message.born_timestamp == START - 5
    assert message.store_timestamp == START
    assert message.properties == draft(7).properties
    assert store.record_at(0, appended.size) == record


@pytest.mark.parametrize("born", ["10.0.0.1", "2001:db8::1"])
@pytest.mark.parametrize("stored", ["10.0.0.2", "2001:db8::2"])
def test_hosts_of_both_kinds(tmp_path: Path, born: str, stored: str) -> None:
    settings = small(tmp_path)
    store = MessageStore.open(settings, clock=Clock(), store_host=encode_host(stored, 1))
    store.append([draft(n, born_host=encode_host(born, 2)) for n in range(3)])
    kill(store)
    store = open_store(settings)
    record = store.record_at(store.append([draft(9)])[0].physical_offset)
    assert record is not None
    first = store.record_at(0)
    assert first is not None
    message = decode_record(first)
    assert message.born_host == (born, 2)
    assert message.store_host == (stored, 1)
    assert bool(message.sys_flag & SysFlag.BORN_HOST_V6) == (":" in born)
    assert bool(message.sys_flag & SysFlag.STORE_HOST_V6) == (":" in stored)
    assert bodies(store) == [b"body-0", b"body-1", b"body-2", b"body-9"]
    assert store.store_time("T", 0, 1) == START


def test_queues_count_for_themselves(store: MessageStore) -> None:
    group = [draft(n, topic=f"T{n % 2}", queue_id=n % 3) for n in range(12)]
    offsets = [each.queue_offset for each in store.append(group)]
    assert offsets == [0] * 6 + [1] * 6
    assert store.topics() == {"T0", "T1"}
    assert (store.min_offset("T0", 0), store.max_offset("T0", 0)) == (0, 2)
    assert (store.min_offset("none", 0), store.max_offset("none", 0)) == (0, 0)


def test_prepared_and_rolled_back_messages_get_no_place_in_a_queue(tmp_path: Path) -> None:
    settings = small(tmp_path)
    store = open_store(settings)
    kinds = [0, SysFlag.TRANSACTION_PREPARED, SysFlag.TRANSACTION_ROLLBACK, SysFlag.TRANSACTION_COMMIT]
    results = store.append([draft(n, sys_flag=kind) for n, kind in enumerate(kinds)])
    assert [each.queue_offset for each in results] == [0, 0, 0, 1]
    assert bodies(store) == [b"body-0", b"body-3"]
    assert len(store.query("T", "k1", 32, 0, START + 1000).records) == 1
    assert not store.query("T", "k2", 32, 0, START + 1000).records
    kill(store)
    store = open_store(settings)
    assert bodies(store) == [b"body-0", b"body-3"]
    assert len(store.query("T", "k1", 32, 0, START + 1000).records) == 1
    assert not store.query("T", "k2", 32, 0, START + 1000).records


def test_arrivals_name_the_queues_once_a_group(store: MessageStore) -> None:
    seen: list[list[tuple[str, int]]] = []
    store.arrivals.subscribe(lambda keys: seen.append(sorted(keys)))
    store.append([draft(n, queue_id=n % 2) for n in range(6)])
    store.append([draft(sys_flag=SysFlag.TRANSACTION_PREPARED)])
    assert seen == [[("T", 0), ("T", 1)]]


def test_files_roll_over_with_a_blank_and_the_next_is_made_ahead(tmp_path: Path) -> None:
    settings = small(tmp_path)
    store = open_store(settings)
    size = store.append([draft(100)])[0].size
    assert names(tmp_path / "commitlog") == [f"{0:020d}", f"{4096:020d}"]
    per_file = (4096 - 8) // size
    results = store.append([draft(n) for n in range(101, per_file + 102)])
    assert results[-2].physical_offset == 4096
    blank = (tmp_path / "commitlog" / f"{0:020d}").read_bytes()[per_file * size :][:8]
    assert blank == (4096 - per_file * size).to_bytes(4) + (0xCBD43194).to_bytes(4)
    assert names(tmp_path / "commitlog")[-1] == f"{8192:020d}"
    assert len(bodies(store)) == per_file + 2
    store.close()
    assert names(tmp_path / "commitlog") == [f"{0:020d}", f"{4096:020d}"]
    store = open_store(settings)
    assert len(bodies(store)) == per_file + 2
    assert store.append([draft(1)])[0].queue_offset == per_file + 2


def test_a_record_may_leave_exactly_the_blanks_room(tmp_path: Path) -> None:
    settings = small(tmp_path)
    store = open_store(settings)
    empty = store.append([draft(0, body=b"")])[0].size
    fits = 4096 - empty - 8 - empty
    results = store.append([draft(1, body=bytes([1]) * fits), draft(2)])
    assert results[0].physical_offset + results[0].size == 4096 - 8
    assert results[1].physical_offset == 4096
    kill(store)
    store = open_store(settings)
    assert store.max_offset("T", 0) == 3


def test_a_record_larger_than_a_file_is_refused_and_harms_nothing(store: MessageStore) -> None:
    results = store.append([draft(0), draft(1, body=bytes(5000)), draft(2)])
    assert len(results) == 1
    refused = store.append_error
    assert isinstance(refused, RecordTooLarge)
    assert "does not fit" in str(refused)
    assert len(store.append([draft(3)])) == 1
    assert why(store) is None
    assert bodies(store) == [b"body-0", b"body-3"]


@pytest.mark.parametrize("topic", ["", "a/b", "..", ".", "x" * 128, "ä" * 64, "x" * 256, "%RETRY%" + "x" * 249])
def test_a_topic_that_is_no_name_of_a_directory_is_refused(store: MessageStore, topic: str) -> None:
    assert len(store.append([draft(0), draft(1, topic=topic)])) == 1
    assert isinstance(store.append_error, TopicUnusable)


@pytest.mark.parametrize("topic", ["x" * 127, "x" + "ä" * 63, "%RETRY%" + "x" * 248, "%DLQ%" + "x" * 250])
def test_the_longest_topic_of_a_record_is_kept(tmp_path: Path, topic: str) -> None:
    store = open_store(small(tmp_path))
    assert len(store.append([draft(0, topic=topic)])) == 1
    kill(store)
    store = open_store(small(tmp_path))
    assert bodies(store, topic) == [b"body-0"]


def test_a_malformed_draft_leaves_the_store_whole(tmp_path: Path) -> None:
    settings = small(tmp_path)
    store = open_store(settings)
    with pytest.raises(struct.error, match="format requires"):
        store.append([draft(0), draft(1, flag=1 << 40)])
    assert bodies(store) == [b"body-0"]
    store.append([draft(2)])
    kill(store)
    store = open_store(settings)
    assert bodies(store) == [b"body-0", b"body-2"]


def test_a_closed_store_takes_nothing(store: MessageStore) -> None:
    store.close()
    store.close()
    assert store.append([draft()]) == []
    assert isinstance(store.append_error, StoreClosed)
    assert not store.dispatch_index()


def test_records_are_found_only_where_they_begin(store: MessageStore) -> None:
    size = store.append([draft(0)])[0].size
    assert store.record_at(1) is None
    assert store.record_at(size) is None
    assert store.record_at(-1) is None
    assert store.record_at(1 << 60) is None


def test_a_second_process_is_refused_by_name(tmp_path: Path, store: MessageStore) -> None:
    with pytest.raises(StoreLocked) as refused:
        open_store(small(tmp_path))
    assert str(tmp_path) in str(refused.value)
    script = (
        "import sys; from pathlib import Path\n"
        "from rocketwire.store.store import MessageStore; from rocketwire.store.settings import StoreSettings\n"
        "MessageStore.open(StoreSettings(root=Path(sys.argv[1])), clock=int, store_host=bytes(8))\n"
    )
    other = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False)
    assert "StoreLocked" in other.stderr
    assert str(tmp_path) in other.stderr
    store.close()
    open_store(small(tmp_path)).close()


def test_a_directory_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "holiday.jpg").touch()
    with pytest.raises(StoreForeign, match=r"holiday\.jpg"):
        open_store(small(tmp_path))
    assert names(tmp_path) == ["holiday.jpg"]


def test_a_file_in_the_directorys_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "store").touch()
    with pytest.raises(StoreForeign, match="not a directory"):
        open_store(small(tmp_path / "store"))


@pytest.mark.parametrize("part", ["commitlog", "consumequeue/T/0"])
def test_files_of_another_size_are_refused(tmp_path: Path, store: MessageStore, part: str) -> None:
    store.append([draft()])
    store.close()
    setting = {"commitlog": "commit_log_file_size", "consumequeue/T/0": "consume_queue_file_size"}[part]
    with pytest.raises(StoreForeign, match="mappedFileSize") as refused:
        open_store(small(tmp_path, **{setting: 8000}))
    assert "\n" not in str(refused.value)
    open_store(small(tmp_path)).close()


def test_index_files_of_another_size_are_refused(tmp_path: Path, store: MessageStore) -> None:
    store.append([draft()])
    store.close()
    with pytest.raises(StoreForeign, match="maxIndexNum"):
        open_store(small(tmp_path, index_entries=51))


@pytest.mark.parametrize(
    "place", [".", "commitlog", "consumequeue", "consumequeue/T", "consumequeue/T/0", "index"], ids=lambda at: at
)
def test_foreign_files_are_ignored_with_one_line(place: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A fresh ext file system has `lost+found`, a Mac leaves `.DS_Store`, people leave notes."""
    with closing(open_store(small(tmp_path))) as store:
        store.append([draft(topic="T")])
    folder = tmp_path / place
    (folder / "lost+found").mkdir()
    for name in (".DS_Store", "notes.txt"):
        (folder / name).write_bytes(b"not a file of a store")
    with closing(open_store(small(tmp_path))) as store:
        assert store.max_offset("T", 0) == 1
    lines = [record.getMessage() for record in caplog.records if "ignored" in record.getMessage()]
    expected = f"{tmp_path}/{place}: ignored .DS_Store, lost+found, notes.txt: not files of a store"
    assert lines == ([] if place in {".", "consumequeue/T"} else [expected])
    assert {".DS_Store", "lost+found", "notes.txt"} <= {path.name for path in folder.iterdir()}
    assert damages(tmp_path) == []


def test_a_new_store_may_begin_beside_hidden_files(tmp_path: Path) -> None:
    (tmp_path / ".DS_Store").touch()
    (tmp_path / "lost+found").mkdir()
    open_store(small(tmp_path)).close()


def test_an_error_names_the_file_that_it_is_about(tmp_path: Path) -> None:
    log = tmp_path / "another disk"
    log.touch()
    with pytest.raises(StoreForeign, match=r"another disk.* is not a directory"):
        open_store(small(tmp_path / "store", commit_log_path=log))


@pytest.mark.parametrize("name", [f"{100:020d}", f"{8192:020d}"])
def test_files_that_are_no_part_of_the_row_are_refused(tmp_path: Path, store: MessageStore, name: str) -> None:
    store.append([draft()])
    store.close()
    (tmp_path / "commitlog" / name).write_bytes(bytes(4096))
    with pytest.raises(StoreForeign, match=name):
        open_store(small(tmp_path))


def test_a_log_that_does_not_begin_as_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "commitlog").mkdir()
    (tmp_path / "commitlog" / f"{0:020d}").write_bytes(b"PK\3\4DATA" + bytes(4088))
    with pytest.raises(StoreForeign, match="unknown magic"):
        open_store(small(tmp_path))


class ReadOnly(FileSystem):
    """What root cannot be refused by permissions."""

    def make_directory(self, path: str, *, durable: bool = True, within: str = "") -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))


class Full(FileSystem):
    def write(self, path: str, data: bytes, *, like: str | None = None, durable: bool = True) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_directory_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreNotWritable, match="Read-only file system"):
        open_store(small(tmp_path), files=ReadOnly())
    with pytest.raises(Exception, match="No space left on device"):
        open_store(small(tmp_path), files=Full())
    open_store(small(tmp_path)).close()


def test_a_store_opens_beside_lost_and_found_and_config(tmp_path: Path) -> None:
    (tmp_path / "lost+found").mkdir()
    (tmp_path / "config").mkdir()
    open_store(small(tmp_path)).close()


def test_the_commit_log_may_be_elsewhere(tmp_path: Path) -> None:
    settings = small(tmp_path / "store", commit_log_path=tmp_path / "fast" / "log")
    store = open_store(settings)
    store.append([draft()])
    store.close()
    assert names(tmp_path / "fast" / "log") == [f"{0:020d}"]
    store = open_store(settings)
    assert bodies(store) == [b"body-0"]


def test_schedule_queues_hold_the_time_of_delivery(tmp_path: Path) -> None:
    topic = "SCHEDULE_TOPIC_XXXX"
    settings = small(tmp_path)
    store = open_store(settings)
    properties = b"DELAY\x013\x02TAGS\x01x"
    store.append([draft(1, topic=topic, queue_id=2, properties=properties)])
    assert store._queues.by_key[topic, 2].entry(0)[2] == START + 10_000
    kill(store)
    store = open_store(settings)
    assert store._queues.by_key[topic, 2].entry(0)[2] == START + 10_000


def test_views_outlive_the_store(store: MessageStore) -> None:
    store.append([draft(0)])
    fetched = store.get("T", 0, 0, 32)
    assert fetched.status is FetchStatus.FOUND
    store.close()
    assert decode_record(fetched.chunks[0]).body == b"body-0"


def test_the_store_host_is_the_brokers(tmp_path: Path) -> None:
    store = MessageStore.open(small(tmp_path), clock=Clock(), store_host=HOST)
    store.append([draft(0)])
    record = store.record_at(0)
    assert record is not None
    assert decode_record(record).store_host == ("127.0.0.1", 10911)
    store.close()
