"""Verifying a store whose broker removes its oldest files meanwhile: what went with them is no damage."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rocketwire.store.layout.index import HEADER_SIZE
from rocketwire.store.offline.read.directory import StoreState, discover
from rocketwire.store.offline.verify.findings import Finding, FindingKind
from rocketwire.store.offline.verify.verify import verify
from rocketwire.store.store import MessageStore
from tests.store.offline.support import Quick, fill, records
from tests.store.support import Clock, Golden, kill, open_store, small

#: Files of the log that may go: the last one with records is being written.
FILES = 7


def filled(root: Path, *, index_entries: int = 20) -> MessageStore:
    clock = Clock()
    store = open_store(small(root, index_slots=20, index_entries=index_entries), clock, Quick())
    fill(store, clock, 220)
    return store


def remove_oldest(store: MessageStore, count: int) -> None:
    for _ in range(count):
        segment = store.retention.detach_log_file(0, 0, forcibly=True)
        assert segment is not None
        segment.remove()
        store.retention.sync_log()


def remove_others(store: MessageStore) -> None:
    """Remove the files of queues and index that are for removed messages alone."""
    for queue in store.retention.queues():
        while store.retention.remove_queue_file(queue):
            store.retention.sync_queue(queue)
    for file in store.retention.detach_index_files():
        file.remove()


def verified_meanwhile(store: MessageStore, *, at: int, count: int, others: bool) -> list[str]:
    """What is found when `count` log files go after `at` were read (and with `others` what is for them alone)."""
    directory = discover(str(store.settings.root))
    assert directory.state is StoreState.LIVE
    findings: list[Finding] = []
    calls = 0

    def remove() -> None:
        remove_oldest(store, count)
        if others:
            remove_others(store)

    def progress(_: int) -> None:
        nonlocal calls
        calls += 1
        if calls == at:
            remove()

    if not at:
        remove()
    verify(directory, findings.append, progress=progress)
    return [str(each) for each in findings]


@pytest.mark.parametrize("others", [False, True])
@pytest.mark.parametrize("count", [1, 4, FILES])
@pytest.mark.parametrize("at", [0, 1, 2, 5])
def test_files_that_are_removed_meanwhile_are_no_damage(tmp_path: Path, at: int, count: int, others: bool) -> None:
    store = filled(tmp_path / "store")
    assert verified_meanwhile(store, at=at, count=count, others=others) == []
    kill(store)


@pytest.mark.parametrize("at", [0, 1, 5])
def test_real_damage_is_found_nevertheless(tmp_path: Path, at: int) -> None:
    store = filled(tmp_path / "store")
    queue = next(queue for queue in discover(str(tmp_path / "store")).queues if queue.topic == "T")
    with Path(queue.files[-1].path).open("r+b") as file:
        file.seek(7)
        file.write(b"\x01")
    found = verified_meanwhile(store, at=at, count=4, others=True)
    assert found
    assert all(f"T queue 0 offset {queue.files[-1].start // 20}:" in each for each in found)
    kill(store)


def test_the_first_index_file_may_follow_one_that_was_removed(tmp_path: Path) -> None:
    store = filled(tmp_path / "store", index_entries=10)
    for _ in range(FILES):
        assert verified_meanwhile(store, at=0, count=1, others=True) == []
    kill(store)


def test_a_record_whose_queue_entry_was_written_first_is_waited_for(tmp_path: Path) -> None:
    store = filled(tmp_path / "store")
    last = records(tmp_path / "store")[-1]
    path = tmp_path / "store" / last.path
    content = path.read_bytes()[last.start : last.stop]
    overwrite(path, last.start, bytes(len(content)))
    findings: list[Finding] = []
    verify(discover(str(tmp_path / "store")), findings.append, pause=lambda: overwrite(path, last.start, content))
    assert [str(each) for each in findings] == []
    kill(store)


def overwrite(path: Path, at: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(content)


def test_an_index_file_that_just_gets_its_first_entries_is_no_damage(tmp_path: Path) -> None:
    clock = Clock()
    store = open_store(small(tmp_path, index_slots=21, index_entries=30), clock, Quick())
    fill(store, clock, 2)
    (index,) = (tmp_path / "index").iterdir()
    # The header counts them already.
    overwrite(index, HEADER_SIZE, bytes(index.stat().st_size - HEADER_SIZE))
    findings: list[Finding] = []
    verify(discover(str(tmp_path)), findings.append)
    assert [(each.kind, each.path) for each in findings] == [(FindingKind.NOTE, f"index/{index.name}")]
    kill(store)


@pytest.mark.parametrize(
    ("state", "found"),
    [(StoreState.LIVE, []), (StoreState.CRASHED, [FindingKind.NOTE]), (StoreState.AT_REST, [FindingKind.DAMAGE])],
)
def test_the_newest_index_file_may_be_without_its_size_while_it_is_made(
    tmp_path: Path, state: StoreState, found: list[FindingKind]
) -> None:
    store = filled(tmp_path)
    newest = tmp_path / "index" / "99991231235959999"
    newest.touch()
    if state is not StoreState.LIVE:
        kill(store)
    if state is StoreState.AT_REST:
        (tmp_path / "abort").unlink()
    findings: list[Finding] = []
    summary = verify(discover(str(tmp_path)), findings.append)
    assert summary.state is state
    assert [each.kind for each in findings if each.path == f"index/{newest.name}"] == found
    if state is StoreState.LIVE:
        kill(store)


def test_a_kill_may_leave_a_new_index_file_without_a_header(tmp_path: Path) -> None:
    kill(filled(tmp_path))
    newest = max((tmp_path / "index").iterdir())
    (tmp_path / "index" / "99991231235959999").write_bytes(bytes(newest.stat().st_size))
    findings: list[Finding] = []
    assert verify(discover(str(tmp_path)), findings.append).state is StoreState.CRASHED
    assert [each for each in findings if each.kind is FindingKind.DAMAGE] == []


def test_a_start_makes_an_index_file_without_its_size_good(tmp_path: Path) -> None:
    kill(filled(tmp_path))
    (tmp_path / "index" / "99991231235959999").touch()
    store = open_store(small(tmp_path, index_slots=20, index_entries=20), Clock(), Quick())
    findings: list[Finding] = []
    verify(discover(str(tmp_path)), findings.append)
    assert findings == []
    kill(store)


def test_a_file_of_the_timer_log_may_be_removed_meanwhile(golden_550: Golden, tmp_path: Path) -> None:
    root = golden_550.copy(tmp_path)
    directory = discover(str(root))
    first = directory.timer_log[0]
    older = first._replace(path=f"{root}/timerlog/removed", start=first.start - first.size)
    findings: list[Finding] = []
    verify(replace(directory, state=StoreState.LIVE, timer_log=(older, *directory.timer_log)), findings.append)
    assert [str(each) for each in findings if each.kind is FindingKind.DAMAGE] == []
