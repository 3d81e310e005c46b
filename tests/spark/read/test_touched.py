"""How much is read: filters and options reach the files, consume queues and index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql.datasource import EqualTo, Filter, GreaterThanOrEqual, LessThan

from rocketwire.store.disk import input_files
from tests.spark.made import Made, places
from tests.spark.reads import Read
from tests.store.support import START

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.fixture
def touched(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Bytes read so far, by the directory of the store that they are in."""
    found: Counter[str] = Counter()
    read = input_files.InputFile.read

    def counted(file: input_files.InputFile, offset: int, length: int) -> bytes:
        data = read(file, offset, length)
        found[_kind(file.path)] += len(data)
        return data

    monkeypatch.setattr(input_files.InputFile, "read", counted)
    return found


def _kind(path: str) -> str:
    return next(kind for kind in ("commitlog", "consumequeue", "index", "config") if f"/{kind}/" in path)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Bodies are of some 60 KiB, and topics come one after the other, as one that is seldom read would."""
    from tests.store.support import Clock, draft, open_store, small

    made, clock = Made(tmp_path_factory.mktemp("made") / "store"), Clock()
    settings = small(made.root, commit_log_file_size=1 << 20, index_entries=1000, consume_queue_file_size=20 * 100)
    store = open_store(settings, clock)
    for number in range(400):
        clock.now = START + number * 10_000
        topic = f"T{number // 50 % 4}"
        drafted = draft(number, topic=topic, queue_id=number // 25 % 2, body=b"%d" % number * 20_000)
        [appended] = store.append([drafted])
        made.messages.append({"topic": topic, "tags": f"Tag{number % 3}", "time": clock.now} | appended._asdict())
    store.dispatch_index()
    store.close()
    return made


def log_bytes(
    made: Made, touched: Counter[str], filters: Iterable[Filter] = (), **options: Any
) -> tuple[int, int, int]:
    """Bytes of the log that planning and reading touched; and how many rows there were."""
    touched.clear()
    read = Read(made.root, filters=filters, **({"columns": "physical_offset,topic,body"} | options))
    planning = touched["commitlog"]
    rows = read.rows()
    places(rows)
    return planning, touched["commitlog"] - planning, len(rows)


def at(ms: int) -> datetime:
    return EPOCH + timedelta(milliseconds=ms)


@pytest.mark.parametrize(
    ("filters", "options", "part", "rows"),
    [
        ([EqualTo(("topic",), "T2")], {}, 0.28, 100),
        ([], {"topic": "T2"}, 0.28, 100),
        ([EqualTo(("topic",), "T2"), EqualTo(("queue_id",), 1)], {}, 0.14, 50),
        ([], {"topic": "T2", "queues": 1}, 0.14, 50),
        ([GreaterThanOrEqual(("queue_offset",), 3), LessThan(("queue_offset",), 5)], {}, 0.05, 16),
        ([], {"topic": "T1", "startingOffsets": '{"T1": {"0": 45}}', "queues": 0}, 0.02, 5),
        ([GreaterThanOrEqual(("store_timestamp",), at(START + 300 * 10_000))], {}, 0.32, 100),
        ([LessThan(("store_timestamp",), at(START + 100 * 10_000))], {}, 0.32, 101),
        ([], {"startingTimestamp": START + 300 * 10_000}, 0.32, 100),
        ([], {"startingTimestamp": START + 300 * 10_000, "topic": "T3"}, 0.16, 50),
        ([EqualTo(("topic",), "T2"), EqualTo(("tags",), "Tag1")], {}, 0.10, 34),
        ([EqualTo(("tags",), "Tag1")], {}, 0.36, 133),
        ([EqualTo(("message_id",), "U0000222")], {}, 0.04, 1),
    ],
)
def test_filters_and_options_save_bytes(
    made: Made, touched: Counter[str], filters: list[Filter], options: dict[str, Any], part: float, rows: int
) -> None:
    whole = sum(one["size"] for one in made.messages)
    planning, reading, found = log_bytes(made, touched, filters, **options)
    assert planning < 0.03 * whole
    assert reading < part * whole
    # Of filters Spark has the last word.
    assert rows <= found <= rows * 1.1


def test_columns_of_queues_need_no_log(made: Made, touched: Counter[str]) -> None:
    columns = "topic,queue_id,queue_offset,physical_offset,store_size,broker,file"
    every: list[dict[str, Any]] = [{}, {"topic": "T1"}]
    for options in every:
        planning, reading, rows = log_bytes(made, touched, columns=columns, **options)
        assert (reading, rows) == (0, 100 if options else 400)
        assert planning < 0.03 * sum(one["size"] for one in made.messages)
    assert touched["consumequeue"] < 40_000
