"""What is no store, or has not what is requested: one clear error with its remedy, while the read is planned."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from rocketwire.spark.errors import DataLost, NotAStore, OptionInvalid, PathUnreadable, SparkSourceError, TopicUnknown
from rocketwire.store.disk.input_files import InputFile
from rocketwire.store.offline.read import file_system
from tests.spark.made import Made, make, places
from tests.spark.reads import Read, read
from tests.store.support import Golden


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return make(tmp_path_factory.mktemp("made") / "store", 60)


def reported(path: Path | str, **options: Any) -> SparkSourceError:
    """The error of a plan; no worker is called."""
    with pytest.raises(SparkSourceError) as caught:
        Read(path, **options)
    assert caught.value.remedy
    assert str(caught.value).startswith(f"[{caught.value.error_class}] ")
    return caught.value


def test_a_missing_path(tmp_path: Path) -> None:
    error = reported(tmp_path / "nothing")
    assert isinstance(error, PathUnreadable)
    assert f"{tmp_path}/nothing" in error.what
    assert f"{tmp_path}/n*" in reported(f"{tmp_path}/n*").what


def test_a_file_or_an_empty_directory_is_no_store(tmp_path: Path, made: Made) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    for name in ("file", "empty"):
        error = reported(tmp_path / name)
        assert isinstance(error, NotAStore)
        assert f"{tmp_path}/{name}" in error.what
        assert "storePathRootDir" in error.remedy
    # Of several one is enough.
    assert isinstance(reported(f"{made.root},{tmp_path}/empty"), NotAStore)


def test_the_commit_log_itself_is_no_store(made: Made) -> None:
    assert isinstance(reported(made.root / "commitlog"), NotAStore)


def test_what_may_not_be_read(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = InputFile.__init__

    def refused(file: InputFile, path: str) -> None:
        file._fd = -1
        if "commitlog" in path:
            raise PermissionError(13, "Permission denied", path)
        opened(file, path)

    monkeypatch.setattr(InputFile, "__init__", refused)
    error = reported(made.root)
    assert isinstance(error, PathUnreadable)
    assert "Permission denied" in error.what
    assert "may read" in error.remedy


def test_what_a_worker_may_not_read(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = Read(made.root)

    def refused(file: InputFile, path: str) -> None:
        file._fd = -1
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(InputFile, "__init__", refused)
    with pytest.raises(PathUnreadable, match="Permission denied"):
        planned.rows()


def test_a_directory_that_may_not_be_listed(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: str) -> Any:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(file_system, "entries", refused)
    assert isinstance(reported(made.root), PathUnreadable)


def test_records_of_an_unknown_version(made: Made, tmp_path: Path) -> None:
    root = tmp_path / "store"
    shutil.copytree(made.root, root)
    for file in (root / "commitlog").iterdir():
        file.write_bytes(file.read_bytes().replace(b"\xda\xa3\x20\xa7", b"\xda\xa3\x20\xaf"))
    error = reported(root)
    assert isinstance(error, NotAStore)
    assert "unknown version (magic number DAA320AF)" in error.what
    assert "a newer rocketwire" in error.remedy


def test_a_store_of_dledger(tmp_path: Path) -> None:
    for name in ("consumequeue", "dledger-n0"):
        (tmp_path / name).mkdir()
    assert "DLedger" in reported(tmp_path).what


def test_a_store_whose_log_is_elsewhere(made: Made, tmp_path: Path) -> None:
    root = tmp_path / "store"
    shutil.copytree(made.root, root)
    (root / "commitlog").rename(tmp_path / "elsewhere")
    error = reported(root)
    assert isinstance(error, NotAStore)
    assert error.remedy == f"Link the folder that storePathCommitLog names to {root}/commitlog"
    (root / "commitlog").symlink_to(tmp_path / "elsewhere")
    assert len(read(root)) == 60


def test_queues_in_rocksdb_or_of_batches_are_walked_around(made: Made, tmp_path: Path) -> None:
    """5.x can keep queues in RocksDB, and batch topics have queues of another kind: the log has their messages."""
    root = tmp_path / "store"
    shutil.copytree(made.root, root)
    (root / "consumequeue/T0").rename(root / "moved")
    (root / "batchconsumequeue").mkdir()
    (root / "moved").rename(root / "batchconsumequeue/T0")
    for options in ({}, {"columns": "topic,physical_offset"}, {"topic": "T0"}, {"topics": "T0,T1"}, {"queues": "1"}):
        columns = {"columns": "topic,queue_id,physical_offset"} | options
        expected = [
            one["physical_offset"]
            for one in made.messages
            if one["topic"] in options.get("topic", "T0,T1") and (one["queue_id"] == 1 or "queues" not in options)
        ]
        assert places(read(root, **columns)) == expected
    shutil.rmtree(root / "batchconsumequeue")
    (root / "consumequeue_r").mkdir()
    assert len(read(root, columns="queue_id")) == 60


def test_unknown_topics(made: Made, golden: Golden) -> None:
    error = reported(golden.untouched, topic="GoldenNornal")
    assert isinstance(error, TopicUnknown)
    assert str(error) == "[ROCKETMQ_TOPIC_UNKNOWN] there is no topic GoldenNornal. Did you mean GoldenNormal?"
    assert "rocketwire store list" in reported(made.root, topic="qqqqq").remedy
    assert reported(made.root, startingOffsets='{"T7": {"0": 1}}').what == "there is no topic T7"
    # One of RocketMQ's own that has no message yet is none that is missing.
    assert read(made.root, topic="SCHEDULE_TOPIC_XXXX") == []
    # Nor what a pattern or a filter names.
    assert read(made.root, topicPattern="X.*") == []


def test_unknown_queues(made: Made, golden: Golden) -> None:
    assert reported(made.root, topic="T0", queues="7").what == "no topic that is read has a queue 7"
    error = reported(made.root, endingOffsets='{"T0": {"5": 1}}')
    assert isinstance(error, TopicUnknown)
    assert (error.what, error.remedy) == ("T0 has no queue 5, of which offsets are given", "It has 0, 1")
    # GoldenOrder has queues by topics.json in which nothing may be.
    table = json.loads((golden.untouched / "config/topics.json").read_text())["topicConfigTable"]
    last = table["GoldenOrder"]["readQueueNums"] - 1
    assert isinstance(read(golden.untouched, topic="GoldenOrder", queues=last), list)


def test_missing_offsets(made: Made) -> None:
    error = reported(made.root, startingOffsets='{"T0": {"0": 99}}')
    assert isinstance(error, DataLost)
    assert "T0, queue 0 of" in error.what
    assert read(made.root, topic="T0", queues="0", startingOffsets='{"T0": {"0": 99}}', failOnDataLoss="false") == []


def test_brokers(made: Made, tmp_path: Path) -> None:
    error = reported(made.root, brokers='{"/nowhere": "a"}')
    assert isinstance(error, OptionInvalid)
    assert error.what == "option brokers names /nowhere, which is none of the stores"
    other = make(tmp_path / "other", 4)
    error = reported(f"{made.root},{other.root}", brokers=json.dumps({str(made.root): str(other.root)}))
    assert "two stores have the broker" in error.what
    error = reported(made.root, startingOffsets='{"a": {"T0": {"0": 1}}}')
    assert "offsets are given of a, which no store is" in error.what


def test_a_store_without_topics(made: Made, tmp_path: Path) -> None:
    """There is only the log: what is named may be in it."""
    root = tmp_path / "store"
    shutil.copytree(made.root / "commitlog", root / "commitlog")
    assert len(read(root, topic="T0")) == 30
    assert read(root, topic="T7") == []
    assert len(read(root, topic="T0", queues="1")) == 15
