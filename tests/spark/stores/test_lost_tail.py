"""The newest file of the log is missing: reads of its messages fail, and no others."""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.datasource import EqualTo

from rocketwire.spark.errors import DataLost
from rocketwire.spark.stores import lost_tail
from rocketwire.store.layout.checkpoint import CHECKPOINT_STRUCT, FILE_SIZE
from rocketwire.store.layout.consume_queue import ENTRY_SIZE, ENTRY_STRUCT
from rocketwire.store.offline.read.directory import StoreState, discover
from rocketwire.store.offline.repair.repair import repair
from tests.spark.made import Made, fill, make, places
from tests.spark.reads import Read, read
from tests.store.support import Clock, draft, kill, open_store, remove_log_file, small

COLUMNS = "topic,queue_id,queue_offset,physical_offset,body,_corrupt_record"
FILE = 4096


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Its log has four files."""
    return make(tmp_path_factory.mktemp("made") / "store", 100)


@pytest.fixture
def root(made: Made, tmp_path: Path) -> Path:
    shutil.copytree(made.root, tmp_path / "store")
    return tmp_path / "store"


def files(root: Path) -> list[Path]:
    return sorted((root / "commitlog").iterdir())


def left(made: Made, end: int) -> list[int]:
    return [one["physical_offset"] for one in made.messages if one["physical_offset"] < end]


def remove_newest(root: Path, count: int = 1) -> int:
    """Remove files of the log; where it ends now."""
    for file in files(root)[-count:]:
        file.unlink()
    return int(files(root)[-1].name) + FILE


@pytest.mark.parametrize("count", [1, 2])
def test_a_missing_newest_file_is_lost(made: Made, root: Path, count: int, caplog: pytest.LogCaptureFixture) -> None:
    end = remove_newest(root, count)
    expected = left(made, end)
    gone = len(made.messages) - len(expected)
    first = made.messages[len(expected)]
    where = f"first: {first['topic']}, queue {first['queue_id']}, offset {first['queue_offset']}"
    missing = f"ends at physical offset {end}: {root}/commitlog/{end:020d} is missing, to which consume queues lead"
    with pytest.raises(DataLost, match=f"{missing}, up to [0-9]+; {gone} messages .*{where}.*Put the file back"):
        Read(root, columns=COLUMNS)
    with caplog.at_level(logging.WARNING, "rocketwire.spark"):
        rows = read(root, columns=COLUMNS, failOnDataLoss="false")
    assert f"{root}/commitlog/{end:020d} is missing" in caplog.text
    assert places(rows) == expected
    assert all(row["_corrupt_record"] is None for row in rows)
    # By topic it is an error too, of the tasks.
    with pytest.raises(DataLost):
        read(root, columns=COLUMNS, topics="T0,T1")


def test_a_file_made_ahead_is_none_that_has_messages(made: Made, root: Path) -> None:
    end = remove_newest(root)
    (root / "commitlog" / f"{end + FILE:020d}").write_bytes(bytes(FILE))
    with pytest.raises(DataLost, match=f"commitlog/{end:020d} is missing"):
        Read(root)
    assert places(read(root, failOnDataLoss="false", columns=COLUMNS)) == left(made, end)


@pytest.mark.parametrize("zeros", [True, False])
def test_a_log_that_is_cut_between_two_records(made: Made, root: Path, zeros: bool) -> None:
    end = made.messages[-3]["physical_offset"]
    assert end % FILE
    os.truncate(files(root)[-1], end % FILE)
    if zeros:
        os.truncate(files(root)[-1], FILE)
    what = "has nothing behind it" if zeros else f"was cut to {end % FILE} bytes"
    with pytest.raises(DataLost, match=f"at physical offset {end}: .*{end // FILE * FILE:020d} {what}.*; 3 messages"):
        Read(root)
    assert places(read(root, failOnDataLoss="false", columns=COLUMNS)) == left(made, end)


def test_only_reads_of_lost_messages_fail(made: Made, root: Path) -> None:
    end = remove_newest(root)
    last = left(made, end)[-1]
    newest = next(one for one in made.messages if one["physical_offset"] == last)
    # The clock may have been set back by a minute.
    until = newest["time"] - 60_000
    expected = [one["physical_offset"] for one in made.messages if one["time"] < until]
    assert places(read(root, columns=COLUMNS, endingTimestamp=until)) == expected
    for options in ({"endingTimestamp": until + 1}, {"startingTimestamp": made.messages[0]["time"]}):
        with pytest.raises(DataLost):
            Read(root, columns=COLUMNS, **options)


def test_hidden_topics_are_not_wanted(tmp_path: Path) -> None:
    made, clock = Made(tmp_path / "store"), Clock()
    store = open_store(small(made.root), clock)
    fill(made, store, clock, 20)
    store.append([draft(number, topic="%RETRY%g") for number in range(40)])
    store.close()
    end = remove_newest(made.root)
    assert end > made.messages[-1]["physical_offset"]
    assert places(read(made.root, columns=COLUMNS)) == left(made, end)
    with pytest.raises(DataLost):
        read(made.root, columns=COLUMNS, includeSystemTopics="true")


def test_ids_of_lost_messages(made: Made, root: Path) -> None:
    one, lost = made.messages[0], made.messages[-1]
    offset_id = Read(root, filters=[EqualTo(("message_id",), lost["message_id"])], columns="offset_message_id").rows()
    remove_newest(root)
    for name, value in (("message_id", lost["message_id"]), ("offset_message_id", offset_id[0]["offset_message_id"])):
        with pytest.raises(DataLost):
            Read(root, filters=[EqualTo((name,), value)], columns=COLUMNS)
        assert not read_by(root, name, value, failOnDataLoss="false")
    assert places(read_by(root, "message_id", one["message_id"])) == [one["physical_offset"]]
    # An id with a place that was never written is no loss.
    assert not read_by(root, "offset_message_id", "7F00000100002A9F00000000FFFFFFFF")


def read_by(root: Path, name: str, value: str, **options: Any) -> list[dict[str, Any]]:
    return Read(root, filters=[EqualTo((name,), value)], columns=COLUMNS, **options).rows()


# --- without consume queues ---


def test_without_queues_the_checkpoint_shows_it(made: Made, root: Path) -> None:
    shutil.rmtree(root / "consumequeue")
    assert places(read(root, columns=COLUMNS)) == left(made, 1 << 60)
    end = remove_newest(root)
    time = made.messages[-1]["time"]
    with pytest.raises(
        DataLost, match=f"{end:020d} is missing, but the checkpoint says .* stored up to {time} ms. Put"
    ):
        Read(root)
    assert places(read(root, failOnDataLoss="false", columns=COLUMNS)) == left(made, end)
    for content in (b"", bytes(4096)):
        (root / "checkpoint").write_bytes(content)
        assert places(read(root, columns=COLUMNS)) == left(made, end)
    (root / "checkpoint").unlink()
    assert places(read(root, columns=COLUMNS)) == left(made, end)


def test_the_first_lost_record_has_no_entry(made: Made, root: Path) -> None:
    """Its queue is removed. The others lead behind the end: that counts when the checkpoint knows of later messages."""
    end = remove_newest(root)
    first = made.messages[len(left(made, end))]
    shutil.rmtree(root / "consumequeue" / first["topic"] / str(first["queue_id"]))
    with pytest.raises(DataLost, match="is missing, to which consume queues lead"):
        Read(root)
    (root / "checkpoint").unlink()
    assert places(read(root, columns=COLUMNS)) == left(made, end)


# --- what is no loss ---


def forget(root: Path, end: int, time: int) -> None:
    """Have queues and checkpoint know nothing of what is behind a place in the log: the broker made no next file."""
    for queue in (root / "consumequeue").rglob("0*0"):
        if queue.is_file():
            entries = list(ENTRY_STRUCT.iter_unpack(queue.read_bytes()))
            kept = [ENTRY_STRUCT.pack(*entry) for entry in entries if entry[0] < end]
            queue.write_bytes(b"".join(kept).ljust(len(entries) * ENTRY_SIZE, b"\0"))
    (root / "checkpoint").write_bytes(CHECKPOINT_STRUCT.pack(time, time, 0).ljust(FILE_SIZE, b"\0"))


@pytest.mark.parametrize("full", [True, False])
def test_an_entry_with_a_flipped_bit_is_no_lost_message(made: Made, root: Path, full: bool) -> None:
    expected = left(made, 1 << 60)
    if full:
        end = remove_newest(root)
        expected = left(made, end)
        forget(root, end, made.messages[len(expected) - 1]["time"])
    assert places(read(root, columns=COLUMNS)) == expected
    queue = max(path for path in (root / "consumequeue/T0/0").iterdir() if any(path.read_bytes()))
    content = bytearray(queue.read_bytes())
    count = sum(size > 0 for _, size, _ in ENTRY_STRUCT.iter_unpack(content))
    content[(count - 1) * ENTRY_SIZE + 4] ^= 0x40
    queue.write_bytes(content)
    assert places(read(root, columns=COLUMNS)) == expected


def test_expired_files_are_no_loss(tmp_path: Path) -> None:
    made, clock = Made(tmp_path / "store"), Clock()
    store = open_store(small(made.root), clock)
    fill(made, store, clock, 60)
    for _ in range(2):
        remove_log_file(store)
    store.close()
    assert places(read(made.root, columns=COLUMNS)) == [place for place in left(made, 1 << 60) if place >= 2 * FILE]


@pytest.mark.parametrize("crashed", [True, False])
def test_queues_that_are_ahead_of_a_log_in_use_or_crashed(tmp_path: Path, crashed: bool) -> None:
    made, clock = Made(tmp_path / "store"), Clock()
    store = open_store(small(made.root), clock)
    fill(made, store, clock, 60)
    if crashed:
        kill(store)
    assert discover(str(made.root)).state is (StoreState.CRASHED if crashed else StoreState.LIVE)
    end = remove_newest(made.root)
    assert places(read(made.root, columns=COLUMNS)) == left(made, end)
    if not crashed:
        store.close()


def test_a_repaired_store_lacks_nothing(made: Made, root: Path, tmp_path: Path) -> None:
    end = remove_newest(root)
    repair(str(root), str(tmp_path / "repaired"), lambda _: None, clock=Clock())
    assert places(read(tmp_path / "repaired", columns=COLUMNS)) == left(made, end)


def test_queues_are_read_only_if_the_log_ends_where_a_file_does(
    made: Made, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> list[Any]:
        raise AssertionError

    monkeypatch.setattr(lost_tail, "entries_ahead", never)
    assert len(read(root, columns=COLUMNS)) == 100
    remove_newest(root)
    with pytest.raises(AssertionError):
        Read(root)
