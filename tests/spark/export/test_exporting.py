"""Exports of small stores: every message once, whatever is between two runs, and wherever one of them is killed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rocketwire.spark.errors import ExportImpossible, OptionInvalid, PathUnreadable, SparkSourceError
from rocketwire.spark.export import exporting, ledger, writing
from rocketwire.spark.read.reading import read
from tests.spark.export.runs import Bar, Context, exported, rows
from tests.store.support import START, Clock, draft, kill, open_store, small

DAY = 86_400_000


def fill(root: Path, numbers: range, *, clock: Clock | None = None, close: bool = True) -> None:
    store = open_store(small(root), clock)
    for number in numbers:
        store.append([draft(number, topic=("Orders", "%RETRY%g", "T_2")[number % 3], queue_id=number % 2)])
        if clock is not None:
            clock.now += DAY // 10
    store.close() if close else kill(store)


def ids(found: list[dict[str, Any]]) -> list[str]:
    return sorted(row["message_id"] for row in found)


def expected(numbers: range, *, hidden: bool = False) -> list[str]:
    return [f"U{number:07d}" for number in numbers if hidden or number % 3 != 1]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    fill(tmp_path / "store", range(90))
    return tmp_path / "store"


def test_every_message_is_written_once_and_a_second_run_has_nothing_to_do(store: Path, tmp_path: Path) -> None:
    bars: list[Bar] = []
    done = exported(store, tmp_path / "to", bars=bars)
    found = rows(tmp_path / "to")
    assert ids(found) == expected(range(90))
    assert (done.messages, done.damaged, done.problems) == (60, 0, [])
    assert done.files == len(list((tmp_path / "to").glob("topic=*/day=*/*.parquet"))) > 5
    assert bars[0].done == bars[0].total == done.log_bytes > 0
    first = found[0]
    assert (first["topic"], first["body"], first["broker"]) == ("Orders", b"body-0", str(store))
    assert first["store_timestamp"].timestamp() * 1000 == START
    assert exported(store, tmp_path / "to", bars=bars).messages == 0
    assert bars[1].total == 0


@pytest.mark.parametrize("columns", ["topic", "_corrupt_record"])
def test_files_without_a_column_would_have_no_rows(store: Path, tmp_path: Path, columns: str) -> None:
    with pytest.raises(OptionInvalid, match="no column is left to be written"):
        exported(store, tmp_path / "to", columns=columns)
    assert not (tmp_path / "to").exists()
    exported(store, tmp_path / "to", columns=f"{columns},queue_id")
    assert len(rows(tmp_path / "to")) == 60


def test_a_folder_without_a_name_is_not_the_current_one(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OptionInvalid, match="has no name"):
        exported(store, "")
    assert exported(store, ".").messages == 60


def test_days_are_those_of_storing_in_utc(tmp_path: Path) -> None:
    fill(tmp_path / "store", range(60), clock=Clock())
    exported(tmp_path / "store", tmp_path / "to", includeSystemTopics="true")
    found = rows(tmp_path / "to")
    assert ids(found) == expected(range(60), hidden=True)
    assert {row["day"] for row in found} == {str(row["store_timestamp"].date()) for row in found}
    assert len({row["day"] for row in found}) == 7


def test_a_later_run_adds_what_is_new(store: Path, tmp_path: Path) -> None:
    exported(store, tmp_path / "to")
    before = {path: path.read_bytes() for path in (tmp_path / "to").glob("topic=*/day=*/*.parquet")}
    fill(store, range(90, 120))
    assert exported(store, tmp_path / "to").messages == 20
    assert ids(rows(tmp_path / "to")) == expected(range(120))
    assert all(path.read_bytes() == content for path, content in before.items())


def test_a_store_in_use_and_one_that_crashed_are_exported_too(store: Path, tmp_path: Path) -> None:
    held = open_store(small(store))
    exported(store, tmp_path / "to", topics="Orders")
    for number in range(90, 120):
        held.append([draft(number, topic="Orders")])
    exported(store, tmp_path / "to", topics="Orders")
    held.append([draft(120, topic="Orders")])
    kill(held)
    exported(store, tmp_path / "to", topics="Orders")
    orders = [number for number in range(90) if number % 3 == 0]
    assert ids(rows(tmp_path / "to")) == [f"U{number:07d}" for number in (*orders, *range(90, 121))]


def test_messages_without_entries_yet_are_exported_by_a_later_run(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = open_store(small(store))
    for number in range(90, 100):
        held.append([draft(number, topic="Orders")])
    # As with a broker that makes entries behind the log: the last messages have none yet.
    seen = exporting._dispatched
    with monkeypatch.context() as patch:
        patch.setattr(exporting, "_dispatched", lambda one: seen(one) - 500)
        first = exported(store, tmp_path / "to", topics="Orders").messages
    assert first + exported(store, tmp_path / "to", topics="Orders").messages == 40
    assert len(set(ids(rows(tmp_path / "to")))) == 40 > first
    kill(held)


def test_rows_that_are_many_are_written_in_parts(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def in_pieces(span: Any, request: Any) -> Any:
        for batch in read(span, request):
            yield from (batch.slice(at, 7) for at in range(0, len(batch), 7))

    monkeypatch.setattr(writing, "read", in_pieces)
    monkeypatch.setattr(writing, "_MOST_HELD", 1)
    exported(store, tmp_path / "to", maxBytesPerPartition="1g")
    assert ids(rows(tmp_path / "to")) == expected(range(90))
    names = {path.stem for path in (tmp_path / "to").glob("topic=Orders/day=*/*.parquet")}
    assert len({name.rpartition("-")[2] for name in names}) > 1
    assert len({name.rpartition("-")[0] for name in names}) < len(names)


def test_a_day_that_no_calendar_has_is_a_folder_too(tmp_path: Path) -> None:
    for number, time in ((0, 1 << 50), (3, (1 << 63) - 1 - DAY)):
        fill(tmp_path / "store", range(number, number + 1), clock=Clock(time))
        exported(tmp_path / "store", tmp_path / "to", columns="queue_id")
    assert [row["day"] for row in rows(tmp_path / "to")] == ["__HIVE_DEFAULT_PARTITION__"] * 2
    # Nor is the second time one that a column can hold: it is still known by the next run.
    assert exported(tmp_path / "store", tmp_path / "to", columns="queue_id").messages == 0


def test_times_and_columns_are_the_requested_ones(store: Path, tmp_path: Path) -> None:
    exported(store, tmp_path / "to", columns="queue_id,body", startingTimestamp=str(START))
    found = rows(tmp_path / "to")
    assert len(found) == 60
    assert set(found[0]) == {"topic", "day", "queue_id", "body"}
    assert exported(store, tmp_path / "none", endingTimestamp=str(START)).messages == 0


def test_another_store_in_the_place_of_the_first_is_refused(store: Path, tmp_path: Path) -> None:
    exported(store, tmp_path / "to")
    store.rename(tmp_path / "old")
    fill(store, range(10))
    with pytest.raises(ExportImpossible, match="another store now"):
        exported(store, tmp_path / "to")
    store.rename(tmp_path / "older")
    fill(store, range(100), clock=Clock(START + DAY))
    with pytest.raises(ExportImpossible, match="other messages"):
        exported(store, tmp_path / "to")


def test_what_was_removed_before_it_was_exported_is_reported(store: Path, tmp_path: Path) -> None:
    exported(store, tmp_path / "to")
    held = open_store(small(store))
    for number in range(90, 180):
        held.append([draft(number, topic="Orders")])
    held.close()
    for file in sorted((store / "commitlog").iterdir())[:-2]:
        file.unlink()
    done = exported(store, tmp_path / "to")
    assert 0 < done.messages < 90
    assert "were removed before they were exported" in done.problems[0]
    assert exported(store, tmp_path / "to").problems == []


def test_damage_is_reported_and_the_rest_is_exported(store: Path, tmp_path: Path) -> None:
    log = min((store / "commitlog").iterdir())
    content = bytearray(log.read_bytes())
    content[content.index(b"body-6")] ^= 1
    log.write_bytes(content)
    done = exported(store, tmp_path / "to")
    assert ids(rows(tmp_path / "to")) == [one for one in expected(range(90)) if one != "U0000006"]
    assert (done.messages, done.damaged, len(done.problems)) == (59, 1, 1)
    assert str(log) in done.problems[0]
    assert "CRC" in done.problems[0]


def test_an_error_of_a_task_ends_the_run_and_keeps_what_was_done(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 0

    def failing(span: Any, request: Any) -> Any:
        nonlocal count
        count += 1
        if count == 3:
            raise PathUnreadable("the disk is broken", "Mend it")
        return read(span, request)

    with monkeypatch.context() as patch:
        patch.setattr(writing, "read", failing)
        with pytest.raises(SparkSourceError, match="the disk is broken"):
            exported(store, tmp_path / "to")
    before = rows(tmp_path / "to")
    exported(store, tmp_path / "to")
    assert ids(rows(tmp_path / "to")) == expected(range(90))
    assert len(before) < 60


def test_a_task_that_spark_does_again_counts_once(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    committed = threading.Event()
    commit = ledger.ExportLedger.commit

    def reported(self: ledger.ExportLedger, finished: Any) -> None:
        commit(self, finished)
        committed.set()

    def twice(self: Context, task: Callable[[Any], None]) -> None:
        first, *others = self._numbered
        task(first)
        assert committed.wait(30)
        for one in (first, *others):
            task(one)

    monkeypatch.setattr(ledger.ExportLedger, "commit", reported)
    monkeypatch.setattr(Context, "foreach", twice)
    bars: list[Bar] = []
    done = exported(store, tmp_path / "to", bars=bars)
    assert (done.messages, bars[0].done) == (60, bars[0].total)
    assert ids(rows(tmp_path / "to")) == expected(range(90))
    assert {path.name for path in (tmp_path / "to" / "_rocketwire").iterdir()} == {"done.json", "lock"}


def test_what_workers_wrote_elsewhere_is_missed(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Context, "foreach", lambda *_: None)
    with pytest.raises(ExportImpossible, match="all machines share"):
        exported(store, tmp_path / "to")


class Killed(BaseException):
    """What happens to a process that is killed."""


@pytest.mark.slow
@pytest.mark.parametrize("killed", [True, False], ids=["killed", "stopped by Ctrl-C"])
def test_a_run_may_end_before_any_step(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, killed: bool
) -> None:
    to = tmp_path / "to"
    left = 0

    def counted(step: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> Any:
            nonlocal left
            if threading.current_thread() is threading.main_thread():
                if left == 0:
                    raise Killed
                left -= 1
            return step(*arguments, **more)

        return call

    kills = 0
    with monkeypatch.context() as patch:
        if killed:  # it leaves everything as it is
            patch.setattr(ledger.ExportLedger, "close", lambda self: os.close(self._lock))
        for owner, name in ((os, "fsync"), (Path, "replace"), (Path, "unlink"), (Path, "mkdir"), (Path, "open")):
            patch.setattr(owner, name, counted(getattr(owner, name)))
        while True:
            left = 7 + 5 * kills
            try:
                exported(store, to, maxBytesPerPartition="8k")
            except Killed:
                kills += 1
                found = ids(rows(to))
                assert len(set(found)) == len(found)
            else:
                break
    assert kills > 3
    exported(store, to)
    assert ids(rows(to)) == expected(range(90))
    assert {path.name for path in (to / "_rocketwire").iterdir()} == {"done.json", "lock"}
