from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rocketwire.store.disk.input_files import entries
from rocketwire.store.errors import StoreForeign, StoreUnreadable
from rocketwire.store.offline.read import file_system
from rocketwire.store.offline.read.directory import StoreState, discover
from rocketwire.store.store import MessageStore
from tests.store.support import Golden, draft, kill, open_store, small


@pytest.mark.parametrize("version", ["golden_497", "golden_550"])
def test_all_of_a_store_of_apache_is_found(version: str, request: pytest.FixtureRequest) -> None:
    golden: Golden = request.getfixturevalue(version)
    found = discover(str(golden.untouched))
    root = golden.untouched
    assert found.state is StoreState.AT_REST
    assert not found.abort
    assert [(file.start, file.size, file.end) for file in found.commit_log] == [
        (0, 524288, 524288),
        (524288, 524288, 1048576),
        (1048576, 524288, 1572864),
    ]
    assert [file.name for file in found.index] == sorted(path.name for path in (root / "index").iterdir())
    assert list(found.topics) == sorted(path.name for path in (root / "consumequeue").iterdir())
    queues = {(line["topic"], line["queueId"]) for line in golden.lines("expected-cq.jsonl") if line["type"] == "unit"}
    assert {(queue.topic, queue.queue_id) for queue in found.queues if queue.files} == queues
    assert {file.name for file in found.config} == {path.name for path in (root / "config").iterdir()}
    assert found.checkpoint is not None
    assert found.checkpoint.size == 4096
    assert found.unexpected == ()


def test_the_timer_of_a_5x_store_is_found(golden_550: Golden, golden_497: Golden) -> None:
    found = discover(str(golden_550.untouched))
    assert found.timer_wheel is not None
    assert found.timer_wheel.size == 38_707_200
    assert found.timer_wheel.allocated < 1 << 20
    assert [file.size for file in found.timer_log] == [2600, 2600]
    assert found.others == ("compaction", "rocksdbstore")
    old = discover(str(golden_497.untouched))
    assert (old.timer_wheel, old.timer_log, old.others) == (None, (), ())


def test_a_slash_behind_the_name_changes_nothing(golden_497: Golden) -> None:
    assert discover(f"{golden_497.untouched}//") == discover(str(golden_497.untouched))


def test_a_store_in_use_is_live_and_stays_untouched(tmp_path: Path, store: MessageStore) -> None:
    store.append([draft()])
    before = entries(str(tmp_path))
    assert discover(str(tmp_path)).state is StoreState.LIVE
    assert entries(str(tmp_path)) == before
    # The lock is still the store's: another store is refused, and it can continue.
    store.append([draft(1)])
    store.close()
    assert discover(str(tmp_path)).state is StoreState.AT_REST


def test_a_lock_of_a_java_process_is_seen(tmp_path: Path) -> None:
    """The JVM takes a lock that belongs to the process, not to the open file."""
    open_store(small(tmp_path)).close()
    program = (
        "import fcntl, sys; f = open(sys.argv[1], 'r+b'); fcntl.lockf(f, fcntl.LOCK_EX, 1, 0); "
        "print(flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        assert discover(str(tmp_path)).state is StoreState.LIVE
        other.communicate(b"\n")
    assert discover(str(tmp_path)).state is StoreState.AT_REST


def test_a_store_that_was_killed_is_crashed(tmp_path: Path) -> None:
    kill(open_store(small(tmp_path)))
    found = discover(str(tmp_path))
    assert found.state is StoreState.CRASHED
    assert found.abort


def test_an_empty_store_is_one(tmp_path: Path) -> None:
    open_store(small(tmp_path)).close()
    found = discover(str(tmp_path))
    assert (found.commit_log, found.queues, found.index, found.start) == ((), (), (), 0)


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreForeign, match="neither commitlog, consumequeue nor checkpoint"):
        discover(str(tmp_path))
    (tmp_path / "config").mkdir()
    with pytest.raises(StoreForeign):
        discover(str(tmp_path))
    with pytest.raises(StoreUnreadable, match="there is no such directory"):
        discover(str(tmp_path / "none"))
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnreadable, match="Not a directory"):
        discover(str(tmp_path / "file"))


def test_foreign_files_are_listed(golden_497: Golden, tmp_path: Path) -> None:
    root = golden_497.copy(tmp_path)
    (root / "commitlog" / "notes.txt").touch()
    os.mkfifo(root / "commitlog" / "00000000000001572864")
    (root / "commitlog" / "99999999999999999999").touch()
    (root / "consumequeue" / "stray").touch()
    (root / "consumequeue" / os.fsdecode(b"Topic\xff") / "0").mkdir(parents=True)
    (root / "consumequeue" / "GoldenFill" / "2147483648").mkdir()
    (root / "consumequeue" / "GoldenFill" / "x").mkdir()
    (root / "consumequeue" / "GoldenFill" / "00").mkdir()
    (root / "index" / "1").touch()
    (root / "index" / "20261121090308711").mkdir()
    os.mkfifo(root / "config" / "pipe.json")
    (root / "commitlog" / "dangling").symlink_to("nowhere")
    shutil.rmtree(root / "consumequeue" / "GoldenTx" / "1")
    (root / "consumequeue" / "GoldenTx" / "1").mkdir()
    found = discover(str(root))
    reported = {(strange.path.removeprefix(f"{root}/"), strange.reason) for strange in found.unexpected}
    assert reported == {
        ("commitlog/00000000000001572864", "it is not a regular file"),
        ("commitlog/99999999999999999999", "its name is not an offset of 63 bits"),
        ("consumequeue/Topic\udcff", "it is not a topic's directory"),
        ("consumequeue/GoldenFill/2147483648", "it is not a queue's directory"),
        ("consumequeue/GoldenFill/00", "it is not a queue's directory"),
        ("index/20261121090308711", "it is not a regular file"),
    }
    assert [path.removeprefix(f"{root}/") for path in found.ignored] == [
        *("commitlog/notes.txt", "consumequeue/GoldenFill/x", "consumequeue/stray", "index/1"),
    ]
    assert len(found.commit_log) == 3
    assert "pipe.json" not in {file.name for file in found.config}
    assert [queue.queue_id for queue in found.queues_of("GoldenTx")] == [0]
    assert [queue.queue_id for queue in found.queues if queue.topic == "GoldenTx"] == [0, 1]


def test_a_directory_that_may_not_be_read_is_an_error(golden_497: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    def scandir(path: str) -> Any:
        if path.endswith("/consumequeue"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return really(path)

    really = os.scandir
    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(StoreUnreadable, match="consumequeue cannot be read: Permission denied"):
        discover(str(golden_497.untouched))


@pytest.mark.parametrize(("abort", "state"), [(True, StoreState.UNKNOWN), (False, StoreState.AT_REST)])
def test_without_its_lock_the_state_follows_from_abort(
    abort: bool, state: StoreState, golden_497: Golden, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked_by_another(path: str) -> bool:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    monkeypatch.setattr(file_system, "locked_by_another", locked_by_another)
    root = golden_497.copy(tmp_path)
    if abort:
        (root / "abort").touch()
    assert discover(str(root)).state is state
