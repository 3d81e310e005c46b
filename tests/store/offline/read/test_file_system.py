"""A store is read wherever its files are: here out of a dictionary."""

from __future__ import annotations

import errno
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rocketwire.store.disk.input_files import DirectoryEntry
from rocketwire.store.errors import StoreForeign, StoreUnreadable
from rocketwire.store.offline.plan.plan import find
from rocketwire.store.offline.plan.select import MessageConditions
from rocketwire.store.offline.plan.summary import queue_summaries
from rocketwire.store.offline.read.config import checkpoint, committed_offsets, topic_names
from rocketwire.store.offline.read.directory import StoreState, discover
from rocketwire.store.offline.read.file_system import LOCAL, Listing, ReadableFile
from rocketwire.store.offline.read.log import LogFileReader
from rocketwire.store.offline.read.opening import FileGone, OpenFile
from rocketwire.store.offline.repair.settings_of import settings_of
from rocketwire.store.offline.verify.findings import Finding
from rocketwire.store.offline.verify.verify import verify
from tests.store.support import Golden


class Content:
    """A file of the dictionary."""

    def __init__(self, owner: Dictionary, path: str) -> None:
        self._owner, self._path = owner, path

    def close(self) -> None:
        self._owner.open_files -= 1

    def size(self) -> int:
        return len(self._owner.content(self._path))

    def read(self, offset: int, length: int) -> bytes:
        return self._owner.content(self._path)[offset : offset + length]


@dataclass(eq=False)
class Dictionary:
    """Files of a machine that knows nothing of locks."""

    files: Mapping[str, bytes]
    opened: list[str] = field(default_factory=list)
    open_files: int = 0

    def content(self, path: str) -> bytes:
        if path not in self.files:
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        return self.files[path]

    def listing(self, root: str) -> Listing:
        if root == "refused":
            raise PermissionError(errno.EACCES, "Permission denied", root)
        return self.entries

    def entries(self, path: str) -> list[DirectoryEntry]:
        found: dict[str, DirectoryEntry] = {}
        for name, content in self.files.items():
            inner, slash, _ = name.removeprefix(path + "/").partition("/")
            if name.startswith(path + "/"):
                size = 0 if slash else len(content)
                found[inner] = DirectoryEntry(inner, bool(slash), not slash, size, size, 0)
        if not found:
            raise FileNotFoundError(errno.ENOENT, "no such directory", path)
        return sorted(found.values())

    def open(self, path: str, until: int | None = None) -> ReadableFile:
        self.content(path)
        self.opened.append(path)
        self.open_files += 1
        return Content(self, path)

    def locked(self, path: str) -> bool:
        raise OSError(errno.ENOTSUP, "there are no locks", path)


def of_tree(root: Path) -> Dictionary:
    """The regular files below a directory, as if they were far away in `there`."""
    files = (path for path in root.rglob("*") if path.is_file())
    return Dictionary({f"there/{path.relative_to(root)}": path.read_bytes() for path in files})


def unexpected(trouble: object) -> None:
    raise AssertionError(str(trouble))


@pytest.fixture(params=["golden_497", "golden_550"])
def golden(request: pytest.FixtureRequest) -> Golden:
    found: Golden = request.getfixturevalue(request.param)
    return found


def test_a_store_is_the_same_wherever_it_is(golden: Golden) -> None:
    files = of_tree(golden.untouched)
    here, there = discover(str(golden.untouched)), discover("there", files=files)
    assert there.files is files
    assert (there.state, there.start, there.others) == (here.state, here.start, here.others)
    assert [file[1:3] for file in there.commit_log] == [file[1:3] for file in here.commit_log]
    assert all(file.files is files for file in there.commit_log)
    assert all(file.files is files for file in (*there.index, *there.config))
    for wanted in (
        MessageConditions(system_topics=True),
        MessageConditions(topics=frozenset(here.topics)),
        MessageConditions(key=next(one.keys[0] for one in find(here, MessageConditions(), unexpected) if one.keys)),
    ):
        found = list(find(there, wanted, unexpected))
        assert found
        assert found == list(find(here, wanted, unexpected))
    assert list(queue_summaries(there)) == list(queue_summaries(here))
    # Where empty directories are not kept, a deleted topic leaves nothing.
    assert set(there.topics) == {queue.topic for queue in here.queues if queue.files}
    assert topic_names(here) - topic_names(there) == set(here.topics) - set(there.topics)
    assert committed_offsets(there) == committed_offsets(here)
    assert checkpoint(there) == checkpoint(here)
    assert settings_of(there, golden.untouched) == settings_of(here, golden.untouched)
    assert {path.split("/")[1] for path in files.opened} >= {"commitlog", "consumequeue", "index", "config"}
    assert not files.open_files


def test_a_store_is_verified_wherever_it_is(golden: Golden) -> None:
    found: list[Finding] = []
    here = verify(discover(str(golden.untouched)), found.append)
    found_there: list[Finding] = []
    assert verify(discover("there", files=of_tree(golden.untouched)), found_there.append) == here
    assert found_there == found


def test_without_locks_the_state_follows_from_abort() -> None:
    assert discover("there", files=Dictionary({"there/checkpoint": b""})).state is StoreState.AT_REST
    assert discover("there", files=Dictionary({"there/abort": b""})).state is StoreState.UNKNOWN


def test_a_separate_commit_log_is_in_the_stores_file_system() -> None:
    name = f"{4096:020d}"
    found = discover(
        "there", commit_log="log/", files=Dictionary({"there/abort": b"", f"log/{name}": b"12", "log/x": b""})
    )
    assert [(file.path, file.start, file.size) for file in found.commit_log] == [(f"log/{name}", 4096, 2)]
    assert (found.ignored, found.unexpected) == (("log/x",), ())
    with pytest.raises(StoreUnreadable, match="nowhere cannot be read: there is no such directory"):
        discover("there", commit_log="nowhere", files=Dictionary({"there/abort": b""}))


def test_what_cannot_be_listed_is_no_store() -> None:
    with pytest.raises(StoreUnreadable, match="there cannot be read: there is no such directory"):
        discover("there", files=Dictionary({}))
    with pytest.raises(StoreUnreadable, match="refused cannot be read: Permission denied"):
        discover("refused", files=Dictionary({}))
    with pytest.raises(StoreForeign):
        discover("there", files=Dictionary({"there/other": b""}))


def test_a_file_may_go_while_it_is_read() -> None:
    files = Dictionary({"there/abort": b"", f"there/commitlog/{0:020d}": bytes(8192)})
    (row_file,) = discover("there", files=files).commit_log
    with LogFileReader(row_file) as log_file:
        assert log_file.read(8190, 10) == bytes(2)
        files.files = {}
        with pytest.raises(FileGone):
            log_file.read(0, 10)
    with pytest.raises(FileGone):
        OpenFile(row_file.path, files)


def test_local_files_can_be_sent_elsewhere(tmp_path: Path) -> None:
    again = pickle.loads(pickle.dumps(LOCAL))
    assert again == LOCAL
    (tmp_path / "abort").touch()
    directory = discover(str(tmp_path), files=again)
    assert directory == discover(str(tmp_path))
    assert pickle.loads(pickle.dumps(directory)) == directory
