"""Planning over a store far away: requests of several queues are on their way at once, and answers stay the same."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import fsspec
import pytest

from rocketwire.spark.files import far, together
from rocketwire.spark.files.far import RemoteFiles
from rocketwire.spark.files.generic import GenericRemote, generic
from rocketwire.spark.files.remote import FoundFile, RemoteFile
from rocketwire.spark.files.together import AT_ONCE, in_slices
from rocketwire.spark.plan.partitions import LogSpan
from rocketwire.store.offline.read.file_system import LOCAL
from tests.spark.made import Made, make
from tests.spark.reads import Read
from tests.spark.stores.test_queues_table import table
from tests.store.support import START

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
    monkeypatch.setattr(far, "connect", lambda base, options: SlowRemote(generic(base, options), found))
    far._connected.cache_clear()
    yield found
    far._connected.cache_clear()


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
def test_planning_asks_many_queues_at_once(
    made: Made, traffic: Traffic, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], more: float
) -> None:
    options = {"columns": "topic,queue_id,queue_offset,body", "topicPattern": "T.*"} | options
    here, there = Read(made.root, **options), Read("memory://slow/store", **options)
    assert AT_ONCE // 2 <= traffic.most <= AT_ONCE
    requests = traffic.all
    assert spans(there) == spans(here)
    assert there.rows() == here.rows()
    monkeypatch.setattr(together, "AT_ONCE", 1)
    traffic.all = traffic.most = 0
    Read("memory://slow/store", **options)
    assert traffic.most == 1
    assert requests <= more * traffic.all


def test_the_table_of_queues_asks_many_at_once(made: Made, traffic: Traffic) -> None:
    there = table(Path("memory://slow/store"), columns="*")
    assert AT_ONCE // 2 <= traffic.most <= AT_ONCE
    assert [{**row, "broker": ""} for row in there] == [{**row, "broker": ""} for row in table(made.root, columns="*")]


def test_on_this_machine_no_thread_is_begun() -> None:
    def ask(some: Sequence[int]) -> Iterator[tuple[int, int]]:
        return ((one, threading.get_ident()) for one in some)

    own = threading.get_ident()
    assert in_slices(LOCAL, ask, range(1000)) == [(one, own) for one in range(1000)]
    assert in_slices(RemoteFiles("memory://slow"), ask, [7]) == [(7, own)]
    assert in_slices(RemoteFiles("memory://slow"), ask, []) == []
    found = in_slices(RemoteFiles("memory://slow"), ask, range(1000))
    assert [one for one, _ in found] == [*range(1000)]
    assert own not in {thread for _, thread in found}


def test_the_first_error_is_raised() -> None:
    def ask(some: Sequence[int]) -> list[int]:
        if some[0] >= 300:
            raise OSError(f"no {some[0]}")
        return [*some]

    with pytest.raises(OSError, match=r"^no 300$"):
        in_slices(RemoteFiles("memory://slow"), ask, range(6400))
