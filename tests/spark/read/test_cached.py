"""Reads from columns beside a store: they have the rows of the log, and leave it alone."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql.datasource import EqualTo, GreaterThanOrEqual, In

from rocketwire.spark.errors import OptionInvalid
from rocketwire.spark.plan.partitions import LogSpan
from rocketwire.store.disk.input_files import InputFile
from rocketwire.store.offline.columns import extend as extending
from rocketwire.store.offline.columns import segment as segments
from rocketwire.store.offline.read.directory import discover
from tests.spark.made import Made, fill, make
from tests.spark.reads import Read, Row
from tests.spark.records import records, stored
from tests.store.support import START, Clock, Golden, open_store, small

CACHED = "topic,queue_id,queue_offset,physical_offset,store_size,tags,born_timestamp,store_timestamp,file,broker"


def columns_of(root: Path, folder: Path, rows: int = 7) -> Path:
    """Columns of what a store has now, in small segments."""
    extending.extend(discover(str(root)), folder, lambda _: None, rows=rows)
    return folder


def rows_of(root: Path, **options: Any) -> list[Row]:
    given: dict[str, Any] = {"columns": f"{CACHED},_corrupt_record", "failOnDataLoss": False} | options
    read = Read(root, **given)
    batches = [_with_numbers(batch) for part in range(len(read.partitions)) for batch in read.batches(part)]
    found = [row for batch in batches for row in batch.to_pylist()]
    return sorted(found, key=lambda row: (row["physical_offset"], str(row)))


def _with_numbers(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Times as numbers: those of odd records may be beyond Python's years."""
    columns = [column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column for column in batch.columns]
    return pa.record_batch(columns, batch.schema.names)


def same(root: Path, folder: Path, **options: Any) -> int:
    """Compare reads with and without columns; the number of rows."""
    found = rows_of(root, columnCache=folder, **options)
    assert found == rows_of(root, **options)
    return len(found)


def spans(root: Path, **options: Any) -> list[LogSpan]:
    return [part for part in Read(root, **options).partitions if isinstance(part, LogSpan)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return make(tmp_path_factory.mktemp("made") / "store", 100)


@pytest.fixture(scope="module")
def cache(made: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return columns_of(made.root, tmp_path_factory.mktemp("cache"))


@pytest.fixture
def log_bytes(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Bytes of the log that were read."""
    found: Counter[str] = Counter()
    read, read_into = InputFile.read, InputFile.read_into

    def counted(file: InputFile, offset: int, length: int) -> bytes:
        data = read(file, offset, length)
        found["log"] += len(data) if "/commitlog/" in file.path else 0
        return data

    def counted_into(file: InputFile, offset: int, buffer: bytearray | memoryview) -> int:
        count = read_into(file, offset, buffer)
        found["log"] += count if "/commitlog/" in file.path else 0
        return count

    monkeypatch.setattr(InputFile, "read", counted)
    monkeypatch.setattr(InputFile, "read_into", counted_into)
    return found


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ({}, 100),
        ({"maxBytesPerPartition": "1k"}, 100),
        ({"minPartitions": 3, "mode": "FAILFAST"}, 100),
        ({"columns": "tags,physical_offset"}, 100),
        ({"columns": "physical_offset,broker,store_timestamp,file"}, 100),
        ({"topic": "T1"}, 50),
        ({"topicPattern": ".*0", "queues": "1"}, 25),
        ({"startingOffsets": '{"T0": {"0": 20, "1": -1}}', "endingOffsets": '{"T1": {"1": 3}}'}, 33),
        ({"startingTimestamp": START + 10_000, "endingTimestamp": START + 90_000}, 80),
        ({"filters": [EqualTo(("topic",), "T0"), GreaterThanOrEqual(("queue_offset",), 5)]}, 40),
        ({"filters": [In(("tags",), ("Tag1", "other"))]}, 33),
    ],
)
def test_rows_are_those_of_the_log(made: Made, cache: Path, options: dict[str, Any], count: int) -> None:
    assert same(made.root, cache, **options) == count
    assert all(span.cache for span in spans(made.root, columnCache=cache, **({"columns": CACHED} | options)))


@pytest.mark.parametrize(
    ("options", "patched", "tasks"),
    [
        ({}, {}, 1),
        ({}, {"_MOST_ROWS": 20}, 4),  # a segment has 25, which are those of a file
        ({"minPartitions": 4}, {}, 4),
        ({"maxBytesPerPartition": "1k"}, {"_LIGHTER": 4}, 4),
    ],
)
def test_tasks_begin_with_blocks(
    made: Made,
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, Any],
    patched: dict[str, int],
    tasks: int,
) -> None:
    for name, value in patched.items():
        monkeypatch.setattr(f"rocketwire.spark.plan.cache_plan.{name}", value)
    given = {"columns": CACHED} | options
    found = spans(made.root, columnCache=cache, **given)
    assert len(found) == tasks
    starts = {one["physical_offset"] for one in made.messages}
    assert {span.start for span in found} <= starts
    assert [span.start for span in found[1:]] == [span.end for span in found[:-1]]
    assert same(made.root, cache, **options) == 100


def test_a_damaged_block_cuts_no_task(made: Made, tmp_path: Path) -> None:
    folder = columns_of(made.root, tmp_path / "cache")
    for file in sorted(folder.glob("segment-*/physical_offset/data.ninja")):
        file.write_bytes(bytes(file.stat().st_size))
    assert len(spans(made.root, columnCache=folder, columns=CACHED, minPartitions=4)) == 1
    assert same(made.root, folder, minPartitions=4) == 100


def test_what_columns_do_not_have_is_read_from_the_log(made: Made, cache: Path) -> None:
    options: list[dict[str, Any]] = [
        {"columns": "tags,body"},
        {"columns": "tags", "filters": [EqualTo(("message_id",), "U0000007")]},
        {"columns": "topic,file"},  # consume queues do
    ]
    for each in options:
        assert not any(span.cache for span in spans(made.root, columnCache=cache, **each))


def test_golden_stores(golden: Golden, tmp_path: Path) -> None:
    folder = columns_of(golden.untouched, tmp_path / "cache", rows=1 << 20)
    assert same(golden.untouched, folder, includeSystemTopics=True) > 100
    assert same(golden.untouched, folder) > 100


def test_of_the_log_only_ends_of_files_are_read(made: Made, cache: Path, log_bytes: Counter[str]) -> None:
    whole = sum(one["size"] for one in made.messages)
    read = Read(made.root, columns=CACHED, columnCache=cache)
    log_bytes.clear()
    assert len(read.rows()) == 100
    # Blanks of some 100 bytes end files of 4 KiB.
    assert log_bytes["log"] < 0.1 * whole


def test_later_messages_are_read_from_the_log(tmp_path: Path, log_bytes: Counter[str]) -> None:
    made, clock = Made(tmp_path / "store"), Clock()
    store = open_store(small(made.root), clock)
    fill(made, store, clock, 60)
    folder = columns_of(made.root, tmp_path / "cache")
    fill(made, store, clock, 30)
    assert same(made.root, folder) == 90
    assert same(made.root, folder, topic="T1") == 45
    read = Read(made.root, columns=CACHED, columnCache=folder)
    log_bytes.clear()
    assert len(read.rows()) == 90
    later = sum(one["size"] for one in made.messages[60:])
    assert later <= log_bytes["log"] < 1.5 * later
    store.close()


@settings(max_examples=30, suppress_health_check=[*HealthCheck], deadline=None)
@given(fields=st.lists(records(), min_size=1, max_size=8), place=st.integers(0, 2000), content=st.binary(max_size=60))
def test_odd_and_damaged_records(
    tmp_path_factory: pytest.TempPathFactory, fields: list[dict[str, Any]], place: int, content: bytes
) -> None:
    root = tmp_path_factory.mktemp("odd")
    (root / "commitlog").mkdir()
    data = bytearray(stored(fields).ljust(64 << 10, b"\0"))
    data[place : place + len(content)] = content
    (root / "commitlog" / f"{0:020d}").write_bytes(data)
    folder = columns_of(root, root / "cache")
    for mode in ("PERMISSIVE", "DROPMALFORMED"):
        same(root, folder, includeSystemTopics=True, mode=mode)


def test_columns_that_do_not_fit_are_passed_over(
    made: Made, cache: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = make(tmp_path / "other", 20, topics=3)
    elsewhere = columns_of(other.root, tmp_path / "elsewhere")
    assert same(made.root, elsewhere) == 100
    assert "it is another store, or was cut" in caplog.text
    assert same(made.root, tmp_path / "nothing") == 100
    assert "there are none" in caplog.text
    caplog.clear()
    # Of several, each is for the store that it is of.
    for root in (made.root, other.root):
        found = spans(root, columns="tags", columnCache=f"{elsewhere},{cache}")
        assert found
        assert all(span.cache for span in found)
    assert not caplog.text
    with pytest.raises(OptionInvalid, match="columnCache"):
        spans(made.root, columnCache=",")


@pytest.mark.parametrize("name", ["tag", "topic", "physical_offset"])
def test_damaged_columns_are_passed_over(
    made: Made, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(segments, "BLOCK", 5)
    folder = columns_of(made.root, tmp_path / "cache", rows=1 << 20)
    [file] = folder.glob(f"segment-*/{name}/data.ninja")
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    assert same(made.root, folder) == 100
    assert f"{name} is damaged" in caplog.text


def test_columns_that_change_after_the_plan(made: Made, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = columns_of(made.root, tmp_path / "cache")
    read = Read(made.root, columns="tags", columnCache=folder)
    shutil.rmtree(folder)
    assert len(read.rows()) == 100
    assert "the log is read in place of the columns" in caplog.text


def test_a_log_whose_head_was_removed(made: Made, tmp_path: Path) -> None:
    root, folder = tmp_path / "store", tmp_path / "cache"
    shutil.copytree(made.root, root)
    columns_of(root, folder)
    min((root / "commitlog").iterdir()).unlink()
    assert 0 < same(root, folder) < 100
    sorted((root / "commitlog").iterdir())[1].unlink()
    assert same(root, folder) > 0
