"""What a start finds after every kind of stop."""

from __future__ import annotations

import random
import shutil
import tempfile
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from rocketwire.store.append.drafts import AppendResult
from rocketwire.store.queues.consume_queue import ConsumeQueue
from rocketwire.store.settings import StoreSettings
from rocketwire.store.store import MessageStore
from rocketwire.store.tables.topics import TopicTable, topic_names
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.facts.record import (
    BLANK_MAGIC,
    BODY_CRC_AT,
    END_OF_FILE_BLANK,
    MAGIC_AT,
    MAGIC_V2,
    PHYSICAL_OFFSET_AT,
    QUEUE_OFFSET_AT,
)
from rocketwire.wire.java import string_hash
from rocketwire.wire.message import MessageRecord, encode_record
from tests.store.support import START, Clock, bodies, draft, kill, open_store, small


def filled(root: Path, count: int = 60) -> tuple[StoreSettings, list[AppendResult]]:
    """A store of several files, killed."""
    settings = small(root)
    store = open_store(settings)
    results = [store.append([draft(n, queue_id=n % 2)])[0] for n in range(count)]
    kill(store)
    return settings, results


def log_files(root: Path) -> list[Path]:
    return sorted((root / "commitlog").iterdir())


def damage(root: Path, offset: int, data: bytes) -> None:
    with (root / "commitlog" / f"{offset - offset % 4096:020d}").open("r+b") as file:
        file.seek(offset % 4096)
        file.write(data)


def expected(count: int, queue_id: int) -> list[bytes]:
    return [b"body-%d" % n for n in range(count) if n % 2 == queue_id]


def check(settings: StoreSettings, count: int) -> None:
    store = open_store(settings)
    for queue_id in (0, 1):
        assert bodies(store, queue_id=queue_id) == expected(count, queue_id)
    for n in range(0, count, 7):
        assert len(store.query("T", f"k{n}", 32, 0, START + 1000).records) == 1
    appended = store.append([draft(count, queue_id=count % 2)])[0]
    assert appended.queue_offset == count // 2
    assert bodies(store, queue_id=count % 2) == expected(count + 1, count % 2)
    assert not store.query("T", f"k{count + 1}", 32, 0, START + 1000).records
    store.close()


def test_a_longer_topic_of_5x_is_recovered(tmp_path: Path) -> None:
    topic = "%RETRY%" + "g" * 200
    log = tmp_path / "commitlog"
    log.mkdir()
    record = encode_record(
        MessageRecord(
            topic=topic,
            queue_id=0,
            queue_offset=0,
            body=b"kept",
            properties=b"",
            store_timestamp=START,
            magic=MAGIC_V2,
        )
    )
    (log / f"{0:020d}").write_bytes(record.ljust(4096, b"\0"))
    (tmp_path / "abort").touch()
    store = open_store(small(tmp_path))
    assert bodies(store, topic) == [b"kept"]


def test_after_a_kill_nothing_is_lost(tmp_path: Path) -> None:
    settings, _ = filled(tmp_path)
    assert (tmp_path / "abort").exists()
    check(settings, 60)
    assert not (tmp_path / "abort").exists()


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize(
    "missing", [["consumequeue"], ["index"], ["consumequeue", "index", "checkpoint"], ["consumequeue/T/1"]]
)
def test_what_was_deleted_is_made_again(tmp_path: Path, clean: bool, missing: list[str]) -> None:
    settings, _ = filled(tmp_path)
    if clean:
        open_store(settings).close()
    for part in missing:
        path = tmp_path / part
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    check(settings, 60)


def cut_queue(root: Path, queue_id: int, entries: int) -> None:
    """Zero the entries of a queue from one on."""
    for path in (root / "consumequeue" / "T" / str(queue_id)).iterdir():
        keep = max(0, entries * 20 - int(path.name))
        path.write_bytes(path.read_bytes()[:keep].ljust(320, b"\0"))


@pytest.mark.parametrize("left", [0, 10, 29])
def test_a_queue_that_lost_its_end_is_noticed_at_a_clean_start(tmp_path: Path, left: int) -> None:
    settings, _ = filled(tmp_path)
    open_store(settings).close()
    cut_queue(tmp_path, 0, left)
    check(settings, 60)


def test_queues_that_end_before_the_last_files_are_brought_up(tmp_path: Path) -> None:
    settings, results = filled(tmp_path, 150)
    open_store(settings).close()
    assert len(log_files(tmp_path)) > 4
    for queue_id in (0, 1):
        cut_queue(tmp_path, queue_id, 5)
    store = open_store(settings)
    assert store.recovered.start == results[10].physical_offset
    store.close()
    check(settings, 150)


def test_a_log_that_lost_its_last_files_ends_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocketwire.store.recovery.recovery._CLEAN_BYTES", 1000)
    settings, results = filled(tmp_path, 150)
    open_store(settings).close()
    *first, _, _ = log_files(tmp_path)
    for path in log_files(tmp_path)[len(first) :]:
        path.unlink()
    check(settings, sum(each.physical_offset < len(first) * 4096 for each in results))


def test_a_log_whose_end_is_zeros_ends_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocketwire.store.recovery.recovery._CLEAN_BYTES", 1000)
    settings, results = filled(tmp_path)
    open_store(settings).close()
    *_, newest = log_files(tmp_path)
    at = results[-12].physical_offset
    assert int(newest.name) < at
    newest.write_bytes(newest.read_bytes()[: at % 4096].ljust(4096, b"\0"))
    check(settings, 48)


@pytest.mark.parametrize("how", ["as 4.9", "as 5.x"])
def test_a_deleted_topic_does_not_come_back_at_a_clean_start(tmp_path: Path, how: str) -> None:
    settings, _ = filled(tmp_path)
    store = open_store(settings)
    store.append([draft(0, topic="Kept")])
    store.close()
    missing = tmp_path / "consumequeue" / "T"
    shutil.rmtree(missing)
    if how == "as 4.9":
        missing.mkdir()
    else:
        table = TopicTable.open(settings.topics, clock=Clock())
        table.put(TopicConfig(topic_name="Kept"))
        table.persist()
    store = open_store(settings)
    assert store.topics() == {"Kept"}


def test_a_topic_made_again_is_no_queue_that_lost_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocketwire.store.recovery.recovery._CLEAN_BYTES", 1500)
    settings = small(tmp_path, commit_log_file_size=1 << 16)
    store = open_store(settings)
    store.append([draft(n) for n in range(30)])
    store._queues.remove_all()
    store.append([draft(n) for n in range(30, 35)])
    store.append([draft(0, topic="Other", body=bytes(2000))])
    store.close()
    store = open_store(settings)
    assert store.recovered.start > 0
    assert bodies(store) == [b"body-%d" % n for n in range(30, 35)]


@pytest.mark.parametrize("queues", [True, False])
def test_a_clean_start_reads_no_more_than_three_files(tmp_path: Path, queues: bool) -> None:
    settings, _ = filled(tmp_path, 150)
    open_store(settings).close()
    files = log_files(tmp_path)
    if not queues:
        shutil.rmtree(tmp_path / "consumequeue")
    store = open_store(settings)
    assert store.recovered.start == (int(files[-3].name) if queues else 0)


def test_a_queue_that_lost_old_entries_is_made_again(tmp_path: Path) -> None:
    settings = small(tmp_path)
    clock = Clock()
    store = open_store(settings, clock)
    for n in range(40):
        store.append([draft(n)])
    clock.now += 60_000
    store.flush_to(store.max_physical_offset)
    store.checkpoint()
    for n in range(40, 60):
        clock.now += 10_000
        store.append([draft(n)])
    store.flush_to(store.max_physical_offset)
    store.checkpoint()
    kill(store)
    for path in (tmp_path / "consumequeue" / "T" / "0").iterdir():
        path.write_bytes(bytes(path.stat().st_size))
    store = open_store(settings)
    assert bodies(store) == [b"body-%d" % n for n in range(60)]
    assert store.recovered.start == 0


@pytest.mark.parametrize("loss", ["zeros", "removed"])
def test_one_of_two_queues_that_lost_old_entries_is_made_again(tmp_path: Path, loss: str) -> None:
    settings = small(tmp_path)
    clock = Clock()
    store = open_store(settings, clock)
    for n in range(80):
        clock.now += 10_000
        store.append([draft(n, queue_id=n % 2)])
    store.flush_to(store.max_physical_offset)
    store.checkpoint()
    kill(store)
    if loss == "removed":
        shutil.rmtree(tmp_path / "consumequeue" / "T" / "1")
    else:
        for path in (tmp_path / "consumequeue" / "T" / "1").iterdir():
            path.write_bytes(bytes(path.stat().st_size))
    store = open_store(settings)
    assert store.recovered.start == 0
    assert bodies(store, queue_id=0) == expected(80, 0)
    assert bodies(store, queue_id=1) == expected(80, 1)


def test_recovery_starts_at_the_checkpoint(tmp_path: Path) -> None:
    settings = small(tmp_path)
    clock = Clock()
    store = open_store(settings, clock)
    for n in range(60):
        clock.now += 1000
        store.append([draft(n)])
    store.flush_to(store.max_physical_offset)
    store.checkpoint()
    for n in range(60, 65):
        store.append([draft(n)])
    kill(store)
    store = open_store(settings)
    assert store.recovered.start == 4096
    assert store.recovered.records == 35
    assert bodies(store) == [b"body-%d" % n for n in range(65)]


@pytest.mark.parametrize("part", ["commitlog", "consumequeue/T/0", "index"])
def test_a_file_that_was_being_made_is_no_obstacle(tmp_path: Path, part: str) -> None:
    settings, _ = filled(tmp_path, 12)
    (tmp_path / part).mkdir(exist_ok=True)
    newest = sorted((tmp_path / part).iterdir())[-1:]
    if part == "index":
        (tmp_path / part / "20300101000000000").touch()
    else:
        (tmp_path / part / f"{int(newest[0].name) + newest[0].stat().st_size:020d}").touch()
    check(settings, 12)


def test_without_a_log_the_queues_go(tmp_path: Path) -> None:
    settings, _ = filled(tmp_path)
    shutil.rmtree(tmp_path / "commitlog")
    store = open_store(settings)
    assert store.topics() == set()
    assert list((tmp_path / "consumequeue").iterdir()) == []
    assert store.append([draft(0)])[0] == (0, store.max_physical_offset, 0)


def test_a_clean_start_cuts_queues_that_know_more_than_the_log(tmp_path: Path) -> None:
    settings, results = filled(tmp_path)
    open_store(settings).close()
    damage(tmp_path, results[50].physical_offset, bytes(8))
    check(settings, 50)


@pytest.mark.parametrize("cut", [0, 1, 8, 40, 100, -1])
def test_a_log_file_cut_short_by_zeros(tmp_path: Path, cut: int) -> None:
    settings, results = filled(tmp_path)
    victim = results[-1]
    at = cut % victim.size
    damage(tmp_path, victim.physical_offset + at, bytes(victim.size - at))
    check(settings, 59)


def test_leftovers_behind_a_cut_do_not_come_back(tmp_path: Path) -> None:
    settings = small(tmp_path)
    store = open_store(settings)
    results = [store.append([draft(100 + n)])[0] for n in range(10)]
    kill(store)
    # One record of the middle is damaged; those after it are whole, and of the same size as what comes in its place.
    damage(tmp_path, results[5].physical_offset + BODY_CRC_AT, b"\0\0\0\0")
    store = open_store(settings)
    assert store.max_offset("T", 0) == 5
    store.append([draft(200)])
    kill(store)
    store = open_store(settings)
    assert bodies(store) == [b"body-%d" % n for n in (100, 101, 102, 103, 104, 200)]


def test_a_page_that_never_reached_the_disk_is_noticed(tmp_path: Path) -> None:
    settings = small(tmp_path, commit_log_file_size=1 << 16)
    store = open_store(settings)
    store.append([draft(0)])
    long = b"UNIQ_KEY\x01U0000001\x02TEXT\x01" + b"x" * 9000
    victim = store.append([draft(1, properties=long)])[0]
    store.append([draft(2)])
    kill(store)
    assert victim.physical_offset < 4096
    assert victim.physical_offset + victim.size > 8192
    with (tmp_path / "commitlog" / f"{0:020d}").open("r+b") as file:
        file.seek(4096)
        file.write(bytes(4096))
    store = open_store(settings)
    assert bodies(store) == [b"body-0"]


def test_properties_may_hold_zeros_and_be_absent(tmp_path: Path) -> None:
    settings = small(tmp_path)
    store = open_store(settings)
    store.append([draft(0, properties=b"a\x01x\0y"), draft(1, properties=b""), draft(2, body=b"", properties=b"")])
    kill(store)
    store = open_store(settings)
    assert bodies(store) == [b"body-0", b"body-1", b""]


@pytest.mark.parametrize("properties", [b"p\x01" + bytes(9000) + b"\x02TAGS\x01x", b"p\x01v\0", bytes(3)])
@pytest.mark.parametrize("last", [False, True])
def test_properties_of_zeros_are_no_lost_pages_after_a_clean_stop(
    tmp_path: Path, properties: bytes, last: bool
) -> None:
    settings = small(tmp_path, commit_log_file_size=1 << 20)
    store = open_store(settings)
    store.append([draft(0), draft(1, properties=properties), *([] if last else [draft(2), draft(3)])])
    written = bodies(store)
    store.close()
    for _ in range(2):
        store = open_store(settings)
        assert bodies(store) == written
        store.close()
    # Those behind them are found by key, however the index is made.
    shutil.rmtree(tmp_path / "index")
    store = open_store(settings)
    assert last or len(store.query("T", "k3", 32, 0, START + 1000).records) == 1


def test_topics_of_batch_queues_get_no_queue(tmp_path: Path) -> None:
    settings = small(tmp_path, commit_log_file_size=1 << 16)
    store = open_store(settings)
    store.append([draft(n) for n in range(50)])
    store.append([draft(n, topic="Batches") for n in range(3)])
    store.append([draft(50)])
    store.close()
    (tmp_path / "batchconsumequeue" / "Nothing").mkdir(parents=True)
    shutil.move(tmp_path / "consumequeue" / "Batches", tmp_path / "batchconsumequeue" / "Batches")
    for clean in (True, True, False, True):
        store = open_store(settings)
        assert store.topics() == {"T"}
        assert len(bodies(store)) == 51
        if clean:
            store.close()
        else:
            kill(store)
    assert sorted(path.name for path in (tmp_path / "consumequeue").iterdir()) == ["T"]
    store = open_store(settings)
    assert store.append([draft(0, topic="Batches")]) == []
    assert str(store.append_error) == "'Batches' cannot be a topic: its queues are 5.x's of batches (CQType BatchCQ)"
    assert store.append([draft(0, topic="Nothing")])


def test_a_batch_topic_is_no_reason_to_make_everything_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocketwire.store.recovery.recovery._CLEAN_BYTES", 500)
    settings = small(tmp_path, commit_log_file_size=1 << 16)
    store = open_store(settings)
    store.append([draft(n) for n in range(50)])
    store.append([draft(0, topic="Batches"), draft(50)])
    store.close()
    shutil.move(tmp_path / "consumequeue" / "Batches", tmp_path / "batchconsumequeue" / "Batches")
    store = open_store(settings)
    assert store.recovered.start > 0


def put_queue_offsets_up(root: Path, results: list[AppendResult], first: int, by: int) -> None:
    """Raise the queue offsets in the records from one on, as if others came before."""
    for each in results[first:]:
        damage(root, each.physical_offset + QUEUE_OFFSET_AT, (each.queue_offset + by).to_bytes(8))


def test_a_gap_behind_what_was_read_is_no_reason_to_read_everything(tmp_path: Path) -> None:
    settings, clock = small(tmp_path), Clock()
    store = open_store(settings, clock)
    results: list[AppendResult] = []
    for n in range(200):
        clock.now += 10_000
        results += store.append([draft(n)])
    store.close()
    put_queue_offsets_up(tmp_path, results, 195, 3)
    shutil.rmtree(tmp_path / "consumequeue")
    for n in range(4):
        clock.now += 10_000
        store = open_store(settings, clock)
        assert (store.recovered.start > 0) == (n > 0)
        assert store.max_offset("T", 0) == 203 + n
        queue = store._queues.by_key["T", 0]
        assert queue.entry(194) != queue.entry(195) == queue.entry(197) == queue.entry(198) != queue.entry(199)
        store.append([draft(1)])
        store.flush_to(store.max_physical_offset)
        store.checkpoint()
        kill(store)


def save_topics(settings: StoreSettings, *names: str) -> None:
    table = TopicTable.open(settings.topics, clock=Clock())
    for name in names:
        table.put(TopicConfig(topic_name=name))
    table.persist()


def delete_topics_but(store: MessageStore, kept: str) -> None:
    for queue in list(store._queues):
        if queue.key[0] != kept:
            store._queues.remove(queue)


def test_a_deleted_topic_with_the_newest_messages_does_not_come_back(tmp_path: Path) -> None:
    settings = small(tmp_path)
    save_topics(settings, "Kept")
    store = open_store(settings)
    store.append([draft(n, topic="Kept") for n in range(5)])
    store.append([draft(n) for n in range(5)])
    delete_topics_but(store, "Kept")
    store.close()
    for _ in range(3):
        store = open_store(settings)
        assert store.topics() == {"Kept"}
        store.close()


def test_a_queue_of_a_topic_made_again_does_not_come_back(tmp_path: Path) -> None:
    settings = small(tmp_path, commit_log_file_size=1 << 16)
    save_topics(settings, "Kept", "T")
    store = open_store(settings)
    store.append([draft(n, topic="Kept") for n in range(30)])
    store.append([draft(n, queue_id=n % 2) for n in range(10)])
    store.append([draft(30, topic="Kept")])
    delete_topics_but(store, "Kept")
    store.append([draft(7)])
    store.close()
    for _ in range(3):
        store = open_store(settings)
        assert set(store._queues.by_key) == {("Kept", 0), ("T", 0)}
        assert bodies(store) == [b"body-7"]
        store.close()


def test_the_topics_are_read_once(tmp_path: Path) -> None:
    settings = small(tmp_path, commit_log_file_size=1 << 16)
    save_topics(settings, "Kept")
    store = open_store(settings)
    store.append([draft(n, topic=f"Gone{n % 4}", queue_id=n % 8) for n in range(40)])
    store.append([draft(0, topic="Kept")])
    delete_topics_but(store, "Kept")
    store.append([draft(1, topic="Kept")])
    store.close()
    with mock.patch("rocketwire.store.store.topic_names", wraps=topic_names) as read:
        open_store(settings).close()
    assert read.call_count == 1


def test_files_of_blanks_at_the_end_are_no_reason_to_read_everything(tmp_path: Path) -> None:
    settings, results = filled(tmp_path)
    open_store(settings).close()
    *_, newest = log_files(tmp_path)
    end = results[-1].physical_offset + results[-1].size
    damage(tmp_path, end, END_OF_FILE_BLANK.build({"size": 4096 - end % 4096, "magic": BLANK_MAGIC}))
    for n in range(1, 5):
        blank = END_OF_FILE_BLANK.build({"size": 4096, "magic": BLANK_MAGIC}) if n < 4 else b""
        (newest.parent / f"{int(newest.name) + n * 4096:020d}").write_bytes(blank.ljust(4096, b"\0"))
    store = open_store(settings)
    assert store.recovered.start > 0
    assert store.recovered.end == int(newest.name) + 4 * 4096


def test_a_last_record_that_is_cut_has_no_time(tmp_path: Path) -> None:
    settings, clock = small(tmp_path), Clock()
    store = open_store(settings, clock)
    store.append([draft(0)])
    clock.now += 1000
    last = store.append([draft(1)])[0]
    kill(store)
    damage(tmp_path, last.physical_offset + last.size - 3, bytes(3))
    store = open_store(settings, clock)
    assert (store.recovered.records, store.recovered.last_timestamp) == (1, START)


def test_properties_are_taken_out_of_the_log_a_few_at_once(tmp_path: Path) -> None:
    settings = small(tmp_path)
    store = open_store(settings)
    texts = [b"a\x01" + b"x" * (n * 37 % 300) + b"\x02TAGS\x01t%d" % n for n in range(40)]
    store.append([draft(n, properties=text, tags_code=string_hash(f"t{n}")) for n, text in enumerate(texts)])
    queue = store._queues.by_key["T", 0]
    expected_codes = [queue.entry(n)[2] for n in range(40)]
    kill(store)
    shutil.rmtree(tmp_path / "consumequeue")
    with mock.patch("rocketwire.store.recovery.replay._PROPERTIES", 500):
        store = open_store(settings)
    queue = store._queues.by_key["T", 0]
    assert [queue.entry(n)[2] for n in range(40)] == expected_codes


def test_a_topic_made_again_has_the_queue_of_its_last_life(tmp_path: Path) -> None:
    settings = small(tmp_path)
    store = open_store(settings)
    for n in range(30):
        store.append([draft(n)])
    store.close()
    shutil.rmtree(tmp_path / "consumequeue" / "T")
    (tmp_path / "consumequeue" / "Other" / "0").mkdir(parents=True)
    # As a broker that deleted the topic and started again: new messages count from 0.
    store = open_store(settings)
    store._queues.remove_all()
    for n in range(30, 35):
        store.append([draft(n)])
    kill(store)
    store = open_store(settings)
    assert bodies(store) == [b"body-%d" % n for n in range(30, 35)]


def test_a_queue_whose_old_messages_are_removed_starts_above_zero(tmp_path: Path) -> None:
    settings, results = filled(tmp_path)
    open_store(settings).close()
    log_files(tmp_path)[0].unlink()
    shutil.rmtree(tmp_path / "consumequeue")
    store = open_store(settings)
    first = next(n for n, each in enumerate(results) if each.physical_offset >= 4096)
    assert store._log.start == 4096
    for queue_id in (0, 1):
        oldest = (first + 1 - queue_id) // 2
        assert store.min_offset("T", queue_id) == oldest
        assert bodies(store, queue_id=queue_id) == expected(60, queue_id)[oldest:]
    store.close()
    store = open_store(settings)
    assert store.min_offset("T", 0) == (first + 1) // 2


def test_after_a_clean_stop_only_the_end_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = small(tmp_path, commit_log_file_size=1 << 16)
    store = open_store(settings)
    results = store.append([draft(n, queue_id=n % 2) for n in range(200)])
    store.close()
    monkeypatch.setattr("rocketwire.store.recovery.recovery._CLEAN_BYTES", 1000)
    store = open_store(settings)
    assert 0 < store.recovered.start <= results[-1].physical_offset - 800
    assert store.recovered.records < 12
    assert store.recovered.end == results[-1].physical_offset + results[-1].size
    store.close()
    # Records that no queue has an entry for, behind the last one that has, are found nevertheless.
    for path in (tmp_path / "consumequeue" / "T").glob("*/*"):
        data = bytearray(path.read_bytes())
        for at in range(0, len(data), 20):
            if int.from_bytes(data[at : at + 8]) >= results[190].physical_offset:
                data[at : at + 20] = bytes(20)
        path.write_bytes(data)
    store = open_store(settings)
    assert bodies(store, queue_id=0) == expected(200, 0)
    assert bodies(store, queue_id=1) == expected(200, 1)


def test_entries_that_no_record_explains_are_not_made(tmp_path: Path) -> None:
    settings = small(tmp_path, consume_queue_file_size=400)
    store = open_store(settings)
    results = store.append([draft(n) for n in range(5)])
    other = store.append([draft(5, topic="Other")])[0]
    kill(store)
    # Fields that no checksum covers: a place in the queue, a queue id and a topic that no client gave.
    damage(tmp_path, results[2].physical_offset + 20, (1 << 40).to_bytes(8))
    damage(tmp_path, results[3].physical_offset + 12, b"\xff\xff\xff\xff")
    damage(tmp_path, other.physical_offset + other.size - 2 - len(draft(5).properties) - 5, b"../..")
    store = open_store(settings)
    assert store.topics() == {"Other", "T"}
    assert store.max_offset("Other", 0) == 0
    assert store.min_offset("T", 0) == 0
    # In the place of what is missing between the others stands the next one, so that a reader misses none of them.
    assert store.max_offset("T", 0) == 5
    queue = store._queues.by_key["T", 0]
    assert queue.entry(2) == queue.entry(3) == queue.entry(4)
    assert store.get("T", 0, 2, 1).next_offset == 3
    assert store._queues.by_key["T", 0].entry(4)[0] == results[4].physical_offset


def test_the_last_record_may_break_off_in_its_properties(tmp_path: Path) -> None:
    settings, results = filled(tmp_path)
    last = results[-1]
    damage(tmp_path, last.physical_offset + last.size - 3, bytes(3))
    check(settings, 59)


def test_entries_below_the_first_file_of_a_queue(tmp_path: Path) -> None:
    settings = small(tmp_path)
    store = open_store(settings)
    store.append([draft(n) for n in range(40)])
    queue = store._queues.by_key["T", 0]
    queue._segments.remove_first()
    queue._segments.remove_first()
    assert queue.first_offset == 32
    queue.put_at(20, 7, 100, 5)
    assert (queue.first_offset, queue.min, queue.end) == (16, 20, 21)
    assert queue.entry(20) == (7, 100, 5)
    assert queue.entry(19)[1] == 0x7FFFFFFF
    assert queue.entry(99) == (0, 0, 0)
    assert queue.last_record_before(6) == 0
    assert queue.last_record_before(-1) == -1


@pytest.mark.parametrize(("log_start", "gap"), [(0, 0), (0, 70_000), (1, 0)])
def test_many_missing_entries_are_written_and_skipped_at_once(tmp_path: Path, log_start: int, gap: int) -> None:
    settings = small(tmp_path, consume_queue_file_size=20 * 100_000)
    store = open_store(settings)
    queue = store._queues.create("T", 0)
    with mock.patch.object(ConsumeQueue, "put", autospec=True, side_effect=ConsumeQueue.put) as put:
        queue.put_at(190_000, 7, 100, 5)
        if gap:
            queue.put_at(190_001 + gap, 8, 100, 5)
    assert put.call_count <= 2
    assert (queue.first_offset, queue.end) == (100_000, 190_001 + (gap + 1 if gap else 0))
    assert queue.entry(100_000) == queue.entry(189_999) == (0, 0x7FFFFFFF, 0)
    if gap:
        assert queue.entry(190_001) == queue.entry(190_001 + gap) == (8, 100, 5)
    with mock.patch.object(ConsumeQueue, "entry", autospec=True, side_effect=ConsumeQueue.entry) as entry:
        queue.correct_min(log_start)
    assert queue.min == 190_000
    assert entry.call_count < 30


PREPARED: dict[str, tuple[Path, list[AppendResult]]] = {}


def prepared() -> tuple[Path, list[AppendResult]]:
    """One killed store for all examples; each works on a copy."""
    if not PREPARED:
        root = Path(tempfile.mkdtemp(prefix="rocketwire-test-"))
        PREPARED["store"] = root, filled(root)[1]
    return PREPARED["store"]


@pytest.fixture(scope="module", autouse=True)
def _remove_prepared() -> object:
    yield
    for root, _ in PREPARED.values():
        shutil.rmtree(root)
    PREPARED.clear()


#: Bytes of a record whose change is noticed: sizes, magic, CRC, own place, body.
NOTICED = [
    *range(MAGIC_AT + 4),
    *range(BODY_CRC_AT, BODY_CRC_AT + 4),
    *range(PHYSICAL_OFFSET_AT, PHYSICAL_OFFSET_AT + 8),
]


@hypothesis_settings(deadline=None, max_examples=150)
@given(
    victim=st.integers(1, 59),
    kind=st.sampled_from(["zero", "truncate", "flip", "body", "noise"]),
    where=st.integers(0, 1 << 16),
    clean=st.booleans(),
    batch=st.sampled_from([1, 7, 100]),
)
def test_any_damage_cuts_at_the_last_whole_record(victim: int, kind: str, where: int, clean: bool, batch: int) -> None:
    source, results = prepared()
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory) / "store"
        shutil.copytree(source, root)
        settings = small(root)
        if clean:
            open_store(settings).close()
        record = results[victim]
        at = record.physical_offset
        if kind == "flip":
            position = at + NOTICED[where % len(NOTICED)]
            data = (root / "commitlog" / f"{at - at % 4096:020d}").read_bytes()
            damage(root, position, bytes([data[position % 4096] ^ (1 + where % 255)]))
        elif kind == "body":
            damage(root, at + 88 + where % 6, b"\xff")
        elif kind == "noise":
            rest = 4096 - at % 4096
            damage(root, at, random.Random(where).randbytes(rest))
        else:
            # After a clean stop, zeros in the properties are the producer's.
            noticed = record.size - len(draft(victim).properties) if clean else record.size
            start = 0 if kind == "truncate" else where % noticed
            damage(root, at + start, bytes(4096 - (at + start) % 4096))
            for path in log_files(root):
                if int(path.name) > at and (kind == "truncate" or where % 2):
                    path.unlink()
        with mock.patch("rocketwire.store.recovery.replay._BATCH", batch):
            check(settings, victim)


def test_file_sizes_are_kept(tmp_path: Path) -> None:
    settings, _ = filled(tmp_path)
    open_store(settings).close()
    assert {path.stat().st_size for path in log_files(tmp_path)} == {4096}
