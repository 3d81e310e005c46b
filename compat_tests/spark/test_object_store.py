"""Stores on S3: the same rows as from a directory, by few requests, for ranges of what is needed."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from compat_tests.spark.object_store import KEYS, ObjectStore, running
from rocketwire.spark.errors import DataLost, OptionInvalid, PathUnreadable
from tests.spark.reads import Read, Row, read
from tests.store.support import Golden, draft, open_store, small

MIB = 1 << 20
LARGE, SMALL = 3000, 60
BODY = 8000


@pytest.fixture(scope="module")
def objects() -> Iterator[ObjectStore]:
    with running() as found:
        yield found


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Golden:
    return Golden("5.5.0", tmp_path_factory.mktemp("golden"))


@pytest.fixture(scope="module")
def near(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of three log files, 24 MB; every fiftieth message is of the topic Small."""
    root = tmp_path_factory.mktemp("near") / "store"
    store = open_store(small(root, commit_log_file_size=8 * MIB, consume_queue_file_size=6_000_000))
    for number in range(LARGE):
        drafts = [draft(number, topic="Large", queue_id=number % 4, body=os.urandom(8) * (BODY // 8))]
        if number % (LARGE // SMALL) == 0:
            drafts.append(draft(number, topic="Small"))
        store.append(drafts)
    store.close()
    return root


@pytest.fixture(scope="module")
def far(objects: ObjectStore, near: Path) -> str:
    return objects.put(near, "brokers/a/store")


def of_directory(rows: list[Row], url: str, root: Path) -> list[str]:
    """Rows as if they came from a directory, in one order."""
    for row in rows:
        for name in ("file", "broker"):
            if row.get(name) is not None:
                assert row[name].startswith(url)
                row[name] = row[name].replace(url, str(root))
    return sorted(map(str, rows))


def test_a_golden_store_has_the_rows_of_its_directory(objects: ObjectStore, golden: Golden) -> None:
    url = objects.put(golden.untouched, f"golden/{golden.directory.name}")
    chosen: list[dict[str, Any]] = [
        {"columns": "*", "includeSystemTopics": "true"},
        {"columns": "*", "topic": "GoldenFill", "queues": "0"},
        {"columns": "topic,queue_id,queue_offset,broker,file", "topic": "GoldenFill"},
    ]
    for options in chosen:
        objects.requests.clear()
        found = of_directory(read(url, **options, **objects.options), url, golden.untouched)
        assert found
        assert found == sorted(map(str, read(golden.untouched, **options)))
        assert all(request.range for request in objects.reads())


def test_of_a_small_topic_only_its_messages_are_fetched(objects: ObjectStore, far: str) -> None:
    objects.requests.clear()
    planned = Read(far, topic="Small", columns="*", **objects.options)
    planning = len(objects.requests)
    objects.requests.clear()
    assert len(planned.rows()) == SMALL
    assert all(request.range for request in objects.reads())
    log = [request.length for request in objects.reads() if "/commitlog/" in request.path]
    assert len(log) == SMALL
    assert sum(log) < SMALL * 500
    entries = [request.length for request in objects.reads() if "/consumequeue/" in request.path]
    assert sum(entries) <= 128 << 10
    # Planning bisects each queue, a block a step; it reads nothing of the log but heads and its end.
    assert planning <= 60
    assert not [request for request in objects.requests if request.is_listing]


def test_a_whole_log_is_fetched_once(objects: ObjectStore, far: str, near: Path) -> None:
    planned = Read(far, columns="topic,queue_id,queue_offset,body", minPartitions=8, **objects.options)
    assert len(planned.partitions) >= 8
    objects.requests.clear()
    rows = planned.rows()
    assert Counter(row["topic"] for row in rows) == {"Large": LARGE, "Small": SMALL}
    log = [request for request in objects.reads() if "/commitlog/" in request.path]
    written = sum(path.stat().st_size for path in (near / "commitlog").iterdir())
    assert sum(request.length for request in log) <= written + len(planned.partitions) * (128 << 10)
    assert len(log) <= 3 * len(planned.partitions)
    objects.requests.clear()
    assert (
        len(Read(far, columns="topic,queue_id,queue_offset,physical_offset", **objects.options).rows()) == LARGE + SMALL
    )
    assert sum(request.length for request in objects.reads() if "/commitlog/" in request.path) < 3 * MIB


def test_several_stores_by_a_glob(objects: ObjectStore, far: str) -> None:
    objects.put(Path(__file__).parent, "brokers/b/other")
    rows = read(f"s3://{objects.bucket}/brokers/*/store", topic="Small", columns="broker,file,topic", **objects.options)
    assert {row["broker"] for row in rows} == {far}
    assert all(row["file"].startswith(f"{far}/commitlog/") for row in rows)
    named = f'{{"{far}/": "broker-a"}}'
    rows = read(far, topic="Small", columns="broker", brokers=named, **objects.options)
    assert {row["broker"] for row in rows} == {"broker-a"}


def test_a_store_with_abort_is_read_by_its_log(objects: ObjectStore, golden: Golden, tmp_path: Path) -> None:
    root = golden.copy(tmp_path)
    url = objects.put(root, f"crashed/{golden.directory.name}")
    (tmp_path / "abort").write_bytes(b"")
    objects.files.open_output_stream(f"{objects.bucket}/crashed/{golden.directory.name}/abort").close()
    options: dict[str, Any] = {"columns": "*", "includeSystemTopics": "true"}
    found = of_directory(read(url, **options, **objects.options), url, root)
    assert found == sorted(map(str, read(root, **options)))


def test_objects_that_go_while_they_are_read_are_lost(objects: ObjectStore, golden: Golden) -> None:
    name = f"going/{golden.directory.name}"
    url = objects.put(golden.untouched, name)
    for fail in ("true", "false"):
        planned = Read(url, topic="GoldenFill", failOnDataLoss=fail, **objects.options)
        before = len(planned.rows())
        objects.files.delete_dir_contents(f"{objects.bucket}/{name}/commitlog")
        if fail == "true":
            with pytest.raises(DataLost):
                planned.rows()
        else:
            assert before > 0
            assert planned.rows() == []
        objects.put(golden.untouched / "commitlog", f"{name}/commitlog")


@pytest.mark.parametrize(
    ("path", "options", "kind", "text"),
    [
        ("s3://none/store", {}, PathUnreadable, "there is no such bucket"),
        ("s3://rocketmq/none", {}, PathUnreadable, "s3://rocketmq/none cannot be read: there is nothing"),
        ("s3://rocketmq/none*", {}, PathUnreadable, "fits no directory"),
        ("s3://rocketmq/store", {"fs.nonsense": "1"}, OptionInvalid, "fs.nonsense"),
        ("s3://rocketmq/store", {"fs.endpoint_override": "http://127.0.0.1:9"}, PathUnreadable, "Look at the network"),
    ],
)
def test_a_store_that_cannot_be_read_is_an_error_with_its_remedy(
    path: str, options: dict[str, str], kind: type[Exception], text: str, objects: ObjectStore
) -> None:
    with pytest.raises(kind, match=text) as caught:
        Read(path, **{**objects.options, **options})
    assert KEYS["secret_key"] not in str(caught.value)


def test_spark_reads_it_as_the_directory(spark: SparkSession, objects: ObjectStore, far: str, near: Path) -> None:
    def rows(path: str) -> list[str]:
        reader = spark.read.format("rocketmq").options(columns="*", minPartitions="4", **objects.options)
        frame = reader.load(path).drop("broker", "file").selectExpr("*", "sha1(body) AS digest").drop("body")
        return sorted(map(str, frame.collect()))

    found = rows(far)
    assert len(found) == LARGE + SMALL
    assert found == rows(str(near))
