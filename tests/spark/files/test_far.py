"""Stores far away, read through fsspec's file system in memory."""

from __future__ import annotations

import pickle

import fsspec
import pytest

from rocketwire.spark.files.far import ListingSnapshot, RemoteFiles
from rocketwire.spark.files.remote import FoundFile
from rocketwire.store.disk.input_files import DirectoryEntry
from rocketwire.store.errors import StoreForeign, StoreUnreadable
from rocketwire.store.offline.plan.plan import find
from rocketwire.store.offline.plan.select import MessageConditions
from rocketwire.store.offline.read.directory import StoreState, discover
from rocketwire.store.offline.read.log import LogFileReader
from rocketwire.store.offline.read.opening import FileGone
from rocketwire.store.offline.read.queues import QueueReader
from tests.store.support import Golden

BASE = "memory://golden"


def unexpected(trouble: object) -> None:
    raise AssertionError(str(trouble))


@pytest.fixture
def far(memory: fsspec.AbstractFileSystem, golden: Golden) -> RemoteFiles:
    for path in golden.untouched.rglob("*"):
        if path.is_file():
            memory.pipe_file(f"/golden/a/store/{path.relative_to(golden.untouched)}", path.read_bytes())
    return RemoteFiles(BASE)


def test_a_store_in_memory_is_the_one_on_the_disk(far: RemoteFiles, golden: Golden) -> None:
    here = discover(str(golden.untouched))
    there = discover(f"{BASE}/a/store/", files=far)
    assert there.root == f"{BASE}/a/store"
    assert (there.state, there.others, there.start) == (here.state, here.others, here.start)
    assert [file[1:3] for file in there.commit_log] == [file[1:3] for file in here.commit_log]
    assert {path.path for path in there.config} == {
        path.path.replace(str(golden.untouched), f"{BASE}/a/store") for path in here.config
    }
    for wanted in (MessageConditions(system_topics=True), MessageConditions(topics=frozenset(["GoldenFill"]))):
        found = list(find(there, wanted, unexpected))
        assert found
        assert found == list(find(here, wanted, unexpected))
    sent = pickle.loads(pickle.dumps(there))
    assert sent == there
    for files, same in zip(sent.queues, (queue for queue in here.queues if queue.files), strict=True):
        with QueueReader(files, log_start=sent.start) as queue, QueueReader(same, log_start=here.start) as other:
            assert (queue.topic, queue.queue_id) == (other.topic, other.queue_id)
            assert (queue.first, queue.min, queue.end) == (other.first, other.min, other.end)


def test_files_that_go_or_shrink_meanwhile(far: RemoteFiles, memory: fsspec.AbstractFileSystem) -> None:
    file = discover(f"{BASE}/a/store", files=far).commit_log[0]
    with LogFileReader(file) as log_file:
        assert len(log_file.read(0, 100)) == 100
        path = file.path.removeprefix("memory:/")
        memory.pipe_file(path, bytes(200_000))
        buffer = bytearray(1000)
        assert log_file.read_into(199_900, buffer) == 100
        assert log_file.read(200_000, 10) == b""
    file = discover(f"{BASE}/a/store", files=far).commit_log[0]
    with LogFileReader(file) as log_file:
        memory.rm_file(path)
        with pytest.raises(FileGone):
            log_file.read(0, 100)
    with pytest.raises(FileGone):
        LogFileReader(file)


def test_a_file_opened_again_is_as_it_was_until_the_store_is_looked_at_anew(
    far: RemoteFiles, memory: fsspec.AbstractFileSystem
) -> None:
    file = discover(f"{BASE}/a/store", files=far).commit_log[0]
    with LogFileReader(file) as log_file:
        before = log_file.read(0, 1000)
    memory.pipe_file(file.path.removeprefix("memory:/"), bytes(file.size))
    with LogFileReader(file) as log_file:
        assert log_file.read(0, 1000) == before
    (sent,) = pickle.loads(pickle.dumps([file]))
    with LogFileReader(sent) as log_file:
        assert log_file.read(0, 1000) == bytes(1000)
    discover(f"{BASE}/a/store", files=far)
    with LogFileReader(file) as log_file:
        assert log_file.read(0, 1000) == bytes(1000)


def test_nobody_knows_who_uses_a_store_far_away(memory: fsspec.AbstractFileSystem) -> None:
    memory.pipe_file("/golden/b/checkpoint", b"")
    assert discover(f"{BASE}/b", files=RemoteFiles(BASE)).state is StoreState.AT_REST
    memory.pipe_file("/golden/b/abort", b"")
    memory.pipe_file("/golden/b/lock", b"lock")
    assert discover(f"{BASE}/b", files=RemoteFiles(BASE)).state is StoreState.UNKNOWN


def test_what_is_no_store_is_told(memory: fsspec.AbstractFileSystem) -> None:
    memory.pipe_file("/golden/c/some", b"")
    with pytest.raises(StoreForeign, match="memory://golden/c cannot be used as a RocketMQ store"):
        discover(f"{BASE}/c", files=RemoteFiles(BASE))
    with pytest.raises(StoreUnreadable, match="memory://golden/none cannot be read: there is no such directory"):
        discover(f"{BASE}/none", files=RemoteFiles(BASE))


def test_a_listing_is_that_of_now(memory: fsspec.AbstractFileSystem) -> None:
    far = RemoteFiles(BASE)
    for number in range(3):
        memory.pipe_file(f"/golden/d/commitlog/{number:020d}", bytes(number))
        assert len(discover(f"{BASE}/d", files=far).commit_log) == number + 1


def test_files_far_away_can_be_sent_and_show_no_secrets() -> None:
    far = RemoteFiles("s3://bucket", (("access_key", "name"), ("secret_key", "hidden")), 1 << 20)
    again = pickle.loads(pickle.dumps(far))
    assert again == far
    assert hash(again) == hash(far)
    assert again.options == far.options
    assert "hidden" not in repr(far)
    assert far != RemoteFiles("s3://bucket")
    assert far.remote() is again.remote()


def test_a_picture_has_the_directories_that_its_files_stand_in() -> None:
    found = [
        FoundFile("x://h/r/b/c/f", directory=False, size=5, modified=7),
        FoundFile("x://h/r/a", directory=True, size=0, modified=0),
        FoundFile("x://h/r/b/c", directory=True, size=0, modified=0),
        FoundFile("x://h/r/b/g", directory=False, size=6, modified=0),
        FoundFile("x://h/rest", directory=False, size=1, modified=0),
        FoundFile("x://h/r/", directory=True, size=0, modified=0),
    ]
    picture = ListingSnapshot("x://h/r", found)
    assert picture.entries("x://h/r") == [
        DirectoryEntry("a", True, False, 0, 0, 0),
        DirectoryEntry("b", True, False, 0, 0, 0),
    ]
    assert [entry.name for entry in picture.entries("x://h/r/b")] == ["c", "g"]
    assert picture.entries("x://h/r/b/c") == [DirectoryEntry("f", False, True, 5, 5, 7)]
    for none in ("x://h/r/a", "x://h/r/z", "x://h"):
        with pytest.raises(FileNotFoundError):
            picture.entries(none)
