"""fsspec's file systems: a web server of this machine, and one in memory."""

from __future__ import annotations

from pathlib import Path

import fsspec
import pytest

from rocketwire.spark.files import generic as module
from rocketwire.spark.files.far import RemoteFiles
from rocketwire.spark.files.generic import GenericRemote, generic
from rocketwire.spark.files.remote import FoundFile
from rocketwire.store.errors import StoreUnreadable
from rocketwire.store.offline.plan.plan import find
from rocketwire.store.offline.plan.select import MessageConditions
from rocketwire.store.offline.read.directory import discover
from tests.spark.files.web import serving
from tests.store.support import Golden


def unexpected(trouble: object) -> None:
    raise AssertionError(str(trouble))


def test_a_store_on_a_web_server_is_read_in_ranges(golden: Golden) -> None:
    here = discover(str(golden.untouched))
    with serving(golden.untouched.parent) as web:
        there = discover(f"{web.url}/store", files=RemoteFiles(web.url))
        assert set(there.topics) >= {queue.topic for queue in here.queues if queue.files}
        assert any(topic.startswith("%RETRY%") for topic in there.topics)
        web.requests.clear()
        web.sent = 0
        for wanted in (MessageConditions(topics=frozenset(["GoldenFill"])), MessageConditions(system_topics=True)):
            found = list(find(there, wanted, unexpected))
            assert found
            assert found == list(find(here, wanted, unexpected))
        assert all(bounds for method, _, bounds in web.requests if method == "GET")
        size = sum(file.size for file in here.commit_log)
        assert web.sent < 4 * size
        assert len(web.requests) < 150


def test_names_are_quoted_and_sizes_queried(tmp_path: Path) -> None:
    (tmp_path / "%RETRY%a b").mkdir()
    (tmp_path / "%RETRY%a b" / "ü#?").write_bytes(b"0123456789")
    with serving(tmp_path) as web:
        remote = generic(web.url, {})
        directory = FoundFile(f"{web.url}/%RETRY%a b", directory=True, size=0, modified=0)
        inner = FoundFile(f"{web.url}/%RETRY%a b/ü#?", directory=False, size=10, modified=0)
        assert remote.children(web.url) == [directory]
        assert remote.children(directory.url) == [inner]
        assert sorted(remote.below(web.url)) == [directory, inner]
        file = remote.open(inner.url)
        assert (file.size, file.fetch(3, 4), file.fetch(8, 2)) == (10, b"3456", b"89")
        file.close()
        with pytest.raises(FileNotFoundError):
            remote.open(f"{web.url}/none")
        with pytest.raises(FileNotFoundError):
            remote.children(f"{web.url}/none")
        with pytest.raises(OSError, match="403"):
            remote.children(f"{web.url}/secret")


def test_a_server_that_sends_whole_files_only_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "commitlog" / f"{0:020d}"
    log.parent.mkdir()
    log.write_bytes(bytes(4 << 20))
    with serving(tmp_path, ranges=False) as web:
        directory = discover(web.url, files=RemoteFiles(web.url))
        with pytest.raises(StoreUnreadable, match="its server sends no parts of files"):
            list(find(directory, MessageConditions(), unexpected))


def test_errors_of_other_types_become_oserror(monkeypatch: pytest.MonkeyPatch) -> None:
    class Own(Exception):
        pass

    def fail(*_: object, **__: object) -> None:
        raise Own("it broke")

    monkeypatch.setattr(module, "url_to_fs", fail)
    with pytest.raises(OSError, match="Own: it broke"):
        generic("memory://x", {})
    memory = fsspec.filesystem("memory")
    memory.pipe_file("/broken/f", b"abc")
    remote = GenericRemote("memory://broken", "/broken", memory)
    file = remote.open("memory://broken/f")
    with monkeypatch.context() as patch:
        patch.setattr(type(memory), "cat_file", fail)
        patch.setattr(type(memory), "ls", fail)
        patch.setattr(type(memory), "find", fail)
        for call in (
            lambda: file.fetch(0, 1),
            lambda: remote.children("memory://broken"),
            lambda: remote.below("memory://broken"),
        ):
            with pytest.raises(OSError, match="Own: it broke"):
                call()
    memory.rm("/broken", recursive=True)
    memory.mkdir("/broken")
    with pytest.raises(OSError, match="it is not a regular file"):
        remote.open("memory://broken")
    memory.rm("/broken", recursive=True)
