"""Stores far away, read through fsspec's file system in memory."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import fsspec
import pytest

from rocketwire.spark.files import far as far_module
from rocketwire.spark.files.far import AT_ONCE, ListingSnapshot, RemoteFiles, in_slices
from rocketwire.spark.files.generic import GenericRemote, generic
from rocketwire.spark.files.remote import FoundFile, RemoteFile
from rocketwire.spark.plan.partitions import LogSpan
from rocketwire.store.disk.input_files import DirectoryEntry
from rocketwire.store.errors import StoreForeign, StoreUnreadable
from rocketwire.store.offline.plan.plan import find
from rocketwire.store.offline.plan.select import MessageConditions
from rocketwire.store.offline.read.directory import StoreState, discover
from rocketwire.store.offline.read.file_system import LOCAL
from rocketwire.store.offline.read.log import LogFileReader
from rocketwire.store.offline.read.opening import FileGone
from rocketwire.store.offline.read.queues import QueueReader
from tests.spark.made import Made, make
from tests.spark.reads import Read
from tests.spark.stores.test_queues_table import table
from tests.store.support import START, Golden

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
        assert log_file.read(199_900, 1000) == bytes(100)
        assert log_file.read(200_000, 10) == b""
    file = discover(f"{BASE}/a/store", files=far).commit_log[0]
    with LogFileReader(file) as log_file:
        memory.rm_file(path)
        with pytest.raises(FileGone):
            log_file.read(0, 100)
    with pytest.raises(FileGone):
        LogFileReader(file)


def test_the_user_of_a_remote_store_is_unknown(memory: fsspec.AbstractFileSystem) -> None:
    memory.pipe_file("/golden/b/checkpoint", b"")
    assert discover(f"{BASE}/b", files=RemoteFiles(BASE)).state is StoreState.AT_REST
    memory.pipe_file("/golden/b/abort", b"")
    memory.pipe_file("/golden/b/lock", b"lock")
    assert discover(f"{BASE}/b", files=RemoteFiles(BASE)).state is StoreState.UNKNOWN


def test_what_is_no_store_is_an_error(memory: fsspec.AbstractFileSystem) -> None:
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


DELAY: Final = 0.004
QUEUES: Final = 40


class Traffic:
    """How many requests are on their way, were at most, and were in all."""

    def __init__(self) -> None:
        self.now = self.most = self.all = 0
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            self.now += 1
            self.all += 1
            self.most = max(self.most, self.now)
        time.sleep(DELAY)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.now -= 1


class SlowFile:
    """A file each of whose requests takes a while."""

    def __init__(self, file: RemoteFile, traffic: Traffic) -> None:
        self._file = file
        self._traffic = traffic
        self.size = file.size

    def fetch(self, offset: int, length: int) -> bytes:
        with self._traffic:
            return self._file.fetch(offset, length)

    def size_now(self) -> int:
        with self._traffic:
            return self._file.size_now()

    def close(self) -> None:
        self._file.close()


class SlowRemote:
    """fsspec's file system in memory, as if it were far away."""

    def __init__(self, remote: GenericRemote, traffic: Traffic) -> None:
        self._remote = remote
        self._traffic = traffic

    def children(self, url: str) -> list[FoundFile]:
        with self._traffic:
            return self._remote.children(url)

    def below(self, url: str) -> list[FoundFile]:
        with self._traffic:
            return self._remote.below(url)

    def open(self, url: str) -> SlowFile:
        with self._traffic:
            return SlowFile(self._remote.open(url), self._traffic)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return make(tmp_path_factory.mktemp("made") / "store", 4 * QUEUES, topics=QUEUES // 4, queues=4)


@pytest.fixture
def traffic(made: Made, memory: fsspec.AbstractFileSystem, monkeypatch: pytest.MonkeyPatch) -> Iterator[Traffic]:
    for path in made.root.rglob("*"):
        if path.is_file():
            memory.pipe_file(f"/slow/store/{path.relative_to(made.root)}", path.read_bytes())
    found = Traffic()
    monkeypatch.setattr(far_module, "connect", lambda base, options: SlowRemote(generic(base, options), found))
    far_module._connected.cache_clear()
    yield found
    far_module._connected.cache_clear()


def spans(read: Read) -> list[tuple[int, int, int]]:
    found = [span for span in read.partitions if isinstance(span, LogSpan)]
    return [(span.start, span.end, len(span.queues or ())) for span in found]


@pytest.mark.parametrize(
    ("options", "more"),
    [
        ({}, 1.3),
        # Threads do not share what they find in the log.
        ({"startingTimestamp": START + 50_000, "maxBytesPerPartition": 4096}, 4),
    ],
)
def test_planning_reads_many_queues_at_once(
    made: Made, traffic: Traffic, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], more: float
) -> None:
    options = {"columns": "topic,queue_id,queue_offset,body", "topicPattern": "T.*"} | options
    here, there = Read(made.root, **options), Read("memory://slow/store", **options)
    assert AT_ONCE // 2 <= traffic.most <= AT_ONCE
    requests = traffic.all
    assert spans(there) == spans(here)
    assert there.rows() == here.rows()
    monkeypatch.setattr(far_module, "AT_ONCE", 1)
    traffic.all = traffic.most = 0
    Read("memory://slow/store", **options)
    assert traffic.most == 1
    assert requests <= more * traffic.all


def test_the_table_of_queues_reads_many_at_once(made: Made, traffic: Traffic) -> None:
    there = table(Path("memory://slow/store"), columns="*")
    assert AT_ONCE // 2 <= traffic.most <= AT_ONCE
    assert [{**row, "broker": ""} for row in there] == [{**row, "broker": ""} for row in table(made.root, columns="*")]


def test_on_this_machine_no_thread_is_begun() -> None:
    def query(some: Sequence[int]) -> Iterator[tuple[int, int]]:
        return ((one, threading.get_ident()) for one in some)

    own = threading.get_ident()
    assert in_slices(LOCAL, query, range(1000)) == [(one, own) for one in range(1000)]
    assert in_slices(RemoteFiles("memory://slow"), query, [7]) == [(7, own)]
    assert in_slices(RemoteFiles("memory://slow"), query, []) == []
    found = in_slices(RemoteFiles("memory://slow"), query, range(1000))
    assert [one for one, _ in found] == [*range(1000)]
    assert own not in {thread for _, thread in found}


def test_the_first_error_is_raised() -> None:
    def query(some: Sequence[int]) -> list[int]:
        if some[0] >= 300:
            raise OSError(f"no {some[0]}")
        return [*some]

    with pytest.raises(OSError, match=r"^no 300$"):
        in_slices(RemoteFiles("memory://slow"), query, range(6400))
