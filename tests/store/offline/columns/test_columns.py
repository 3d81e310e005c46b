"""Columns beside a store, compared with what is found in the log itself."""

from __future__ import annotations

import fcntl
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rocketwire.cli import main
from rocketwire.store.offline.columns import extend as extending
from rocketwire.store.offline.columns.extend import extend
from rocketwire.store.offline.columns.manifest import ColumnSegment, ColumnsUnusable, Manifest
from rocketwire.store.offline.columns.queries import StoreColumns
from rocketwire.store.offline.plan.plan import find
from rocketwire.store.offline.plan.select import MessageConditions
from rocketwire.store.offline.read.directory import discover
from rocketwire.store.offline.read.scan import ReadProblem
from tests.store.support import draft, open_store, small


@pytest.fixture(autouse=True)
def no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A segment is dozens of files: no test stops the machine."""
    monkeypatch.setattr("os.fsync", lambda _: None)


def made(root: Path, cache: Path, **options: Any) -> Manifest:
    return extend(discover(str(root)), cache, lambda trouble: pytest.fail(str(trouble)), **options)


def same(root: Path, cache: Path) -> None:
    directory = discover(str(root))
    columns = StoreColumns(directory, cache)
    every = list(find(directory, MessageConditions(system_topics=True), lambda _: None))
    minutes = Counter((one.message.topic, one.tags, one.message.store_timestamp // 60_000 * 60_000) for one in every)
    assert columns.count(["topic", "tag", "minute"]) == minutes
    assert columns.count(["queue"]) == Counter((one.message.queue_id,) for one in every)
    conditions: list[dict[str, Any]] = [{}, {"key": "k7"}, {"key": "U0000009"}, {"key": "none"}]
    conditions += [{"tags": frozenset({"Tag1"})}, {"topics": frozenset({"A"})}]
    conditions += [{"since": every[len(every) // 2].message.store_timestamp}] if every else []
    conditions += [{"until": every[len(every) // 2].message.store_timestamp}] if every else []
    for condition in conditions:
        wanted = MessageConditions(**condition)
        assert list(columns.find(wanted, lambda _: None)) == [one for one in every if wanted.matches(one)]


def test_the_log_grows_and_a_kill_leaves_the_older_state(tmp_path: Path) -> None:
    root, cache = tmp_path / "store", tmp_path / "cache"
    store = open_store(small(root))
    for turn in range(4):
        store.append([draft(turn * 20 + number, topic="AB"[number % 2], queue_id=number % 3) for number in range(20)])
        older = (cache / "manifest").read_bytes() if turn else b""
        assert made(root, cache, rows=15).rows == 20 * (turn + 1)
        same(root, cache)
        if turn == 2:  # killed before the manifest was replaced
            (cache / "manifest").write_bytes(older)
            assert StoreColumns(discover(str(root)), cache).manifest.rows == 40
            assert made(root, cache).rows == 60
            assert len(list(cache.glob("segment-*"))) == len(made(root, cache).segments)
            same(root, cache)


def filled(root: Path, count: int = 30, **changes: Any) -> None:
    store = open_store(small(root))
    store.append([draft(number, **changes) for number in range(count)])
    store.close()


def by_turns(root: Path, cache: Path, turns: int) -> list[ColumnSegment]:
    """A segment of 12 messages a turn."""
    store = open_store(small(root))
    for turn in range(turns):
        store.append([draft(turn * 12 + number) for number in range(12)])
        segments = made(root, cache, rows=12).segments
    store.close()
    return segments


def test_another_store_and_a_cut_log(tmp_path: Path) -> None:
    root, cache = tmp_path / "store", tmp_path / "cache"
    filled(root)
    made(root, cache)
    filled(tmp_path / "other", topic="Other")
    filled(tmp_path / "cut", 10)
    for other in ("other", "cut"):
        with pytest.raises(ColumnsUnusable, match="another store"):
            made(tmp_path / other, cache)
    same(root, cache)
    assert main(["store", "columns", str(tmp_path / "other"), "--to", str(cache)]) == 0
    same(tmp_path / "other", cache)


FILES = ("tag", "topic", "queue_id", "group", "key", "physical_offset", "size", "store_timestamp")


def damage(file: Path) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole[:-3] + bytes([whole[-3] ^ 1]) + whole[-2:])


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_segment_is_made_again_where_it_is_noticed(name: str, tmp_path: Path) -> None:
    root, cache = tmp_path / "store", tmp_path / "cache"
    older = by_turns(root, cache, 2)
    damage(cache / older[1].name / name / "data.ninja")
    same(root, cache)
    newer = StoreColumns(discover(str(root)), cache).manifest.segments
    assert newer[0] == older[0]
    assert newer[1] == replace(older[1], name=newer[1].name) != older[1]
    assert {path.name for path in cache.glob("segment-*")} == {segment.name for segment in newer}


def test_columns_that_cannot_be_made_again_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, cache = tmp_path / "store", tmp_path / "cache"
    filled(root)
    [segment] = made(root, cache).segments
    damage(cache / segment.name / "group" / "data.ninja")
    with (cache / "lock").open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(ColumnsUnusable, match="another process"):
            StoreColumns(discover(str(root)), cache).count(["topic"])
    with monkeypatch.context() as patch:
        patch.setattr(extending, "write", fails)
        with pytest.raises(ColumnsUnusable, match=r"cannot be made again: .*full"):
            StoreColumns(discover(str(root)), cache).count(["topic"])
    columns = StoreColumns(discover(str(root)), cache)
    assert columns.count(["topic"]) == {("T",): 30}
    damage(cache / columns.manifest.segments[0].name / "queue_id" / "data.ninja")
    with pytest.raises(ColumnsUnusable, match="queue_id is damaged"):  # twice: the disk does not keep what is written
        columns.count(["queue"])


def fails(*_: object) -> None:
    raise OSError("the disk is full")


def test_a_damaged_manifest_is_made_again_by_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root, cache = tmp_path / "store", tmp_path / "cache"
    filled(root)
    made(root, cache)
    damage(cache / "manifest")
    assert main(["store", "cat", str(root), "--columns", str(cache), "--key", "k7"]) != 0
    assert main(["store", "columns", str(root), "--to", str(cache)]) == 0
    assert "made again" in capsys.readouterr().err
    assert main(["store", "cat", str(root), "--columns", str(cache), "--key", "k7", "--json"]) == 0
    assert '"keys":["k7"]' in capsys.readouterr().out
    assert main(["store", "count", str(root), "--columns", str(cache), "--by", "tag", "--json"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == '{"tag":"Tag0","count":10}'


def test_many_short_extensions_leave_few_segments(tmp_path: Path) -> None:
    root, cache = tmp_path / "store", tmp_path / "cache"
    store = open_store(small(root))
    for number in range(12):
        store.append([draft(number)])
        assert len(made(root, cache, rows=8).segments) <= 4
    same(root, cache)
    assert max(segment.rows for segment in made(root, cache).segments) <= 8


def test_segments_know_where_the_log_is_damaged(tmp_path: Path) -> None:
    root, cache = tmp_path / "store", tmp_path / "cache"
    store = open_store(small(root))
    troubles: list[ReadProblem] = []
    for turn in range(4):
        appended = store.append([draft(turn * 12 + number) for number in range(12)])
        if turn == 2:
            place = appended[0].physical_offset
            [file] = [each for each in discover(str(root)).commit_log if each.start <= place < each.end]
            with Path(file.path).open("r+b") as log:
                log.seek(place - file.start + 4)
                log.write(b"????")  # where the magic number was
        found = extend(discover(str(root)), cache, troubles.append, rows=12)
    store.close()
    assert len(troubles) == 1
    # What comes before the first message of a segment is in the part of the one before.
    assert [(each.rows, each.damaged) for each in found.segments] == [(12, False), (12, True), (11, True), (12, False)]
    older = replace(found.segments[1], damaged=False)  # as one read the manifest before
    again = extending.remake(discover(str(root)), cache, older)
    assert [(each.rows, each.damaged) for each in again.segments] == [(12, True), (12, True), (11, True), (12, False)]
    merged = extend(discover(str(root)), cache, troubles.append, rebuild=True)
    assert [(each.rows, each.damaged) for each in merged.segments] == [(47, True)]


def test_what_retention_removed_is_in_no_columns(tmp_path: Path) -> None:
    root, cache = tmp_path / "store", tmp_path / "cache"
    older = by_turns(root, cache, 5)
    (root / "commitlog" / f"{0:020d}").unlink()
    same(root, cache)
    damage(cache / older[2].name / "topic" / "data.ninja")
    same(root, cache)
    newer = StoreColumns(discover(str(root)), cache).manifest.segments
    assert (newer[:2], newer[3:]) == (older[:2], older[3:])
    assert newer[2].rows < 12, "the first of its messages are removed"
    assert made(root, cache).segments == newer[2:]
    same(root, cache)
