"""Which files are removed and when, and that the rest of a store is whole, whenever it stops in between."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.errors import DiskNearlyFull
from rocketwire.store.offline.repair.repair import repair
from rocketwire.store.offline.verify.filler import fillers
from rocketwire.store.queues.consume_queue import ConsumeQueue
from rocketwire.store.read.fetch import FetchStatus
from rocketwire.store.retention import CleaningDecision, DiskUsage, RetentionRules, decide_cleaning
from rocketwire.store.store import MessageStore
from rocketwire.wire.facts.record import BLANK_MAGIC, BORN_HOST_AT, MAGIC_AT, PHYSICAL_OFFSET_AT
from tests.store.crash_disk import refusal
from tests.store.support import START, Clock, bodies, draft, kill, open_store, remove_log_file, small

HOUR = 3_600_000
RULES = RetentionRules(
    hours=frozenset({4, 16}),
    max_used=0.75,
    clean_forcibly=0.85,
    warning=0.90,
    forcibly_enabled=True,
)
NOTHING, EXPIRED, FORCIBLY, FULL = (
    CleaningDecision(clean=False, forcibly=False, full=False),
    CleaningDecision(clean=True, forcibly=False, full=False),
    CleaningDecision(clean=True, forcibly=True, full=False),
    CleaningDecision(clean=True, forcibly=True, full=True),
)


@pytest.mark.parametrize(
    ("used", "hour", "on_request", "expected"),
    [
        (0.10, 3, False, NOTHING),
        (0.75, 5, False, NOTHING),
        (0.10, 4, False, EXPIRED),
        (0.10, 16, False, EXPIRED),
        (0.10, 3, True, EXPIRED),
        (0.76, 3, False, EXPIRED),
        (0.85, 3, False, EXPIRED),
        (0.86, 3, False, FORCIBLY),
        (0.90, 3, False, FORCIBLY),
        (0.91, 3, False, FULL),
        (1.00, 4, True, FULL),
    ],
)
def test_the_rules(used: float, hour: int, on_request: bool, expected: CleaningDecision) -> None:
    assert decide_cleaning(RULES, used, hour=hour, requested=on_request) == expected


def test_young_files_may_stay_though_the_disk_is_full() -> None:
    rules = RetentionRules(hours=frozenset(), max_used=0.9, clean_forcibly=0.95, warning=0.5, forcibly_enabled=False)
    assert decide_cleaning(rules, 0.6, hour=0, requested=False) == CleaningDecision(
        clean=True, forcibly=False, full=True
    )


def test_the_fill_of_the_disks_is_reported_as_by_apache() -> None:
    usage = DiskUsage(0.91, 0.5, 1.0)
    assert str(usage) == "CL:  0.91 CQ:  0.50 INDEX:  1.00"
    assert usage.fullest == 0.91


def test_how_full_a_disk_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = os.statvfs(tmp_path)
    used = disk.f_blocks - disk.f_bfree
    found = FileSystem().usage(str(tmp_path / "not" / "there"))
    assert found - 0.02 <= used / (used + disk.f_bavail) <= found + 0.01
    numbers = type("Disk", (), {"f_blocks": 1000, "f_bfree": 400, "f_bavail": 300})
    monkeypatch.setattr("rocketwire.store.disk.files.os.statvfs", lambda _: numbers)
    assert FileSystem().usage(str(tmp_path)) == 0.67  # 600 of 900 that users may have


def test_the_space_of_a_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = type("Disk", (), {"f_blocks": 1000, "f_bfree": 400, "f_bavail": 300, "f_frsize": 4096})
    monkeypatch.setattr("rocketwire.store.disk.files.os.statvfs", lambda _: numbers)
    assert FileSystem().space(str(tmp_path / "not" / "there")) == (4_096_000, 1_228_800)


# --- a store of some files ---


def hours(number: float) -> int:
    return START + round(number * HOUR)


def filled(
    root: Path, clock: Clock, files: FileSystem | None = None, *, index: bool = True, **changes: Any
) -> MessageStore:
    """A store with one message an hour in queue 0, of 400 bytes; the first ten have one in "Old" beside them."""
    store = open_store(small(root, **changes), clock, files)
    for number in range(60):
        clock.now = hours(number)
        drafts = [draft(number, body=b"%d" % number + bytes(400))]
        if number < 10:
            drafts.append(draft(1000 + number, topic="Old", body=bytes(10)))
        assert len(store.append(drafts)) == len(drafts)
    while index and store.dispatch_index():
        pass
    return store


def remove_log(store: MessageStore, now: int, reserved_hours: float, *, forcibly: bool = False) -> int:
    """Remove all log files that may go; give how many."""
    count = 0
    while True:
        segment = store.retention.detach_log_file(now, round(reserved_hours * HOUR), forcibly=forcibly)
        if segment is None:
            return count
        segment.remove()
        store.retention.sync_log()
        count += 1


def remove_queues(store: MessageStore) -> None:
    for queue in store.retention.queues():
        while store.retention.remove_queue_file(queue):
            store.retention.sync_queue(queue)


def remove_index(store: MessageStore) -> int:
    files = store.retention.detach_index_files()
    for file in files:
        file.remove()
    return len(files)


def log_files(store: MessageStore) -> list[str]:
    return store._files.names(store.settings.commit_log)


def queue_files(store: MessageStore, topic: str = "T") -> list[str]:
    return store._files.names(f"{store.settings.consume_queues}/{topic}/0")


def numbers(store: MessageStore) -> list[int]:
    return [int(body.rstrip(b"\0")) for body in bodies(store)]


def first_left(store: MessageStore) -> int:
    """Number of the message with which the oldest log file begins."""
    record = store.record_at(store.retention.log_start)
    assert record is not None
    found = [n for n in range(60) if store.store_time("T", 0, n) >= 0]
    return found[0]


def test_a_file_goes_when_the_message_behind_it_is_old_enough(tmp_path: Path) -> None:
    clock = Clock()
    store = filled(tmp_path, clock)
    starts = [int(name) for name in log_files(store)][:-1]  # less the one made ahead
    behind = next(n for n in range(60) if store._queues.by_key["T", 0].entry(n)[0] >= starts[1])
    full = behind + 72
    assert remove_log(store, hours(full) - 1, 72) == 0
    assert remove_log(store, hours(full), 72) == 1
    assert store.retention.log_start == starts[1]
    assert first_left(store) == behind
    assert remove_log(store, hours(10_000), 72) == len(starts) - 2
    assert store.retention.log_start == starts[-1] == max(s for s in starts if s <= store.max_physical_offset)
    assert remove_log(store, hours(10_000), 72, forcibly=True) == 0


def test_a_file_goes_whatever_its_age_when_it_must(tmp_path: Path) -> None:
    clock = Clock()
    store = filled(tmp_path, clock)
    assert remove_log(store, clock.now, 72) == 0
    assert remove_log(store, clock.now, 72, forcibly=True) == 60 * 560 // 4096
    assert numbers(store) == list(range(first_left(store), 60))


def test_a_file_that_is_just_full_stays_though_the_next_one_was_made(store: MessageStore) -> None:
    assert remove_log_or_none(store)
    while store.max_physical_offset % 4096 or not store.max_physical_offset:
        room = 4096 - store.max_physical_offset % 4096 - 8
        size = store.append([draft(0, body=b"")])[0].size
        if room - size < 2 * size:
            store._log._close_current(store._log._current)  # type: ignore[arg-type]  # there is one
    assert len(log_files(store)) == 2
    assert remove_log_or_none(store)


def remove_log_or_none(store: MessageStore) -> bool:
    return store.retention.detach_log_file(hours(10_000), 0, forcibly=True) is None


def spoil(store: MessageStore, *numbers: int, magic: int | None = None, time: int | None = None) -> None:
    """Overwrite the head of some files of the log."""
    for number in numbers:
        mapping = store._log.segments[number].mapping
        if magic is not None:
            mapping[MAGIC_AT : MAGIC_AT + 4] = magic.to_bytes(4)
        if time is not None:
            at = BORN_HOST_AT + 8
            mapping[at : at + 8] = time.to_bytes(8, signed=True)


def behind(store: MessageStore, number: int) -> int:
    """Number of the message with which a file of the log begins, or the first after that."""
    start = store._log.segments[number].start
    return next(n for n in range(60) if store._queues.by_key["T", 0].entry(n)[0] >= start)


def modify(store: MessageStore, number: int, time: int) -> None:
    os.utime(store._log.segments[number].path, ns=(0, time * 1_000_000))


UNREADABLE: list[dict[str, int]] = [
    {"magic": 0},
    {"magic": BLANK_MAGIC & 0xFFFFFFFF},
    {"time": 0},
    {"time": -1},
    {"time": 1 << 62},
]


@pytest.mark.parametrize("damage", UNREADABLE)
def test_behind_a_head_without_a_time_the_next_file_has_it(tmp_path: Path, damage: dict[str, int]) -> None:
    store = filled(tmp_path, Clock())
    first, third = behind(store, 1), behind(store, 3)
    spoil(store, 1, 2, **damage)
    assert remove_log(store, hours(first + 72), 72) == 0
    assert remove_log(store, hours(third + 72) - 1, 72) == 0
    assert remove_log(store, hours(third + 72), 72) == 3
    assert remove_log(store, hours(10_000), 72) > 0
    kill(store)


def test_a_record_at_a_wrong_place_gives_no_time(tmp_path: Path) -> None:
    store = filled(tmp_path, Clock())
    second = store._log.segments[1].mapping
    second[PHYSICAL_OFFSET_AT + 7] ^= 1
    second[BORN_HOST_AT + 8 : BORN_HOST_AT + 16] = (1).to_bytes(8)
    assert remove_log(store, hours(behind(store, 2) + 72) - 1, 72) == 0
    assert remove_log(store, hours(behind(store, 2) + 72), 72) > 0
    kill(store)


@pytest.mark.parametrize("damage", UNREADABLE)
def test_when_no_head_has_a_time_the_file_systems_counts(tmp_path: Path, damage: dict[str, int]) -> None:
    store = filled(tmp_path, Clock())
    heads = range(1, len(store._log.segments) - 1)
    spoil(store, *heads, **damage)
    modify(store, 0, hours(20))
    modify(store, 1, hours(5000))
    assert remove_log(store, hours(20 + 72) - 1, 72) == 0
    assert remove_log(store, hours(20 + 72), 72) == 1
    assert remove_log(store, hours(4999), 0) == 0  # that file is of the future
    assert remove_log(store, hours(5000 + 72), 72) == 1
    (tmp_path / "commitlog" / log_files(store)[0]).unlink()
    assert remove_log(store, hours(10_000), 0) == 0  # a file that was removed meanwhile has no age
    kill(store)


def test_after_messages_from_the_future_expiry_continues(tmp_path: Path) -> None:
    """The machine's clock was a year ahead once."""
    clock = Clock(hours(365 * 24))
    store = open_store(small(tmp_path), clock)
    for number in range(20):
        store.append([draft(number, body=bytes(400))])
    for number in range(60):
        clock.now = hours(number)
        store.append([draft(number, body=bytes(400))])
    files = len(log_files(store)) - 1
    assert remove_log(store, hours(2), 72) == 0
    assert remove_log(store, hours(1000), 72) == files - 1


@pytest.mark.parametrize("missing", [1, 3])
def test_the_files_of_a_repaired_store_expire(tmp_path: Path, missing: int) -> None:
    """What was missing is one blank there."""
    clock = Clock()
    store = filled(tmp_path / "old", clock)
    third = behind(store, missing + 1)
    lost = tmp_path / "old" / "commitlog" / log_files(store)[missing]
    store.close()
    lost.unlink()
    repair(str(tmp_path / "old"), str(tmp_path / "new"), lambda _: None, clock=clock)
    store = open_store(small(tmp_path / "new"), clock)
    assert remove_log(store, hours(third + 72) - 1, 72) == missing - 1
    assert remove_log(store, hours(third + 72), 72) == 2
    assert remove_log(store, hours(10_000), 72) > 0
    assert len(store._log.segments) == 1


def test_a_head_that_repair_filled_makes_no_file_old(tmp_path: Path) -> None:
    """No record behind the gap remained to take a time from."""
    clock = Clock()
    store = filled(tmp_path, clock)
    second = store._log.segments[1]
    at = second.start
    for record in fillers(at, at + 200, 0):
        second.mapping[at - second.start : at - second.start + len(record)] = record
        at += len(record)
    assert remove_log(store, hours(behind(store, 2) + 72) - 1, 72) == 0
    kill(store)


def test_queues_and_index_follow_the_log(tmp_path: Path) -> None:
    clock = Clock()
    store = filled(tmp_path, clock)
    before = queue_files(store)
    indexed = store._files.names(store.settings.index)
    held = store.get("T", 0, 0, 1).chunks[0]
    text = bytes(held)
    remove_log(store, hours(60), 12)
    removed_to = first_left(store)
    gone = store.get("T", 0, 0, 1)  # before the queue knows
    assert (gone.status, gone.next_offset, gone.min_offset) == (FetchStatus.MESSAGE_WAS_REMOVING, 16, 0)
    remove_queues(store)
    assert remove_index(store) > 0
    assert 40 < store.min_offset("T", 0) == removed_to < 48
    assert queue_files(store) == before[removed_to // 16 :]
    assert set(store._files.names(store.settings.index)) < set(indexed)
    assert numbers(store) == list(range(removed_to, 60))
    assert store.earliest_time("T", 0) == hours(removed_to)
    assert store.offset_by_time("T", 0, hours(removed_to + 3)) == removed_to + 3
    below = store.get("T", 0, 7, 1)
    assert (below.status, below.next_offset, below.min_offset) == (FetchStatus.OFFSET_TOO_SMALL, removed_to, removed_to)
    assert store.query("T", "k3", 8, 0, hours(100)).records == []
    assert len(store.query("T", "k59", 8, 0, hours(100)).records) == 1
    assert bytes(held) == text  # a reader continues


def test_of_a_queue_and_of_the_index_the_newest_file_stays(tmp_path: Path) -> None:
    clock = Clock()
    store = filled(tmp_path, clock)
    remove_log(store, hours(10_000), 0)
    remove_queues(store)
    remove_index(store)
    assert queue_files(store, "Old") == ["0" * 20]
    assert (store.min_offset("Old", 0), store.max_offset("Old", 0)) == (10, 10)
    assert store.earliest_time("Old", 0) == -1
    again = store.get("Old", 0, 3, 8)
    # 4.9.7: code 20, the reader continues at the end at once. It waits ten seconds after "offset moved".
    assert (again.status, again.next_offset, again.max_offset) == (FetchStatus.MESSAGE_WAS_REMOVING, 10, 10)
    assert store.get("Old", 0, 10, 8).status is FetchStatus.OFFSET_OVERFLOW_ONE
    assert store.get("Old", 0, 11, 8).status is FetchStatus.OFFSET_OVERFLOW_BADLY
    assert store.append([draft(5, topic="Old")])[0].queue_offset == 10
    assert len(bodies(store, "Old")) == 1
    assert store._files.names(store.settings.index)


def test_what_was_not_indexed_when_it_was_removed_is_skipped(tmp_path: Path) -> None:
    clock = Clock()
    store = filled(tmp_path, clock, index=False)
    remove_log(store, hours(60), 12)
    while store.dispatch_index():
        pass
    assert len(store.query("T", "k59", 8, 0, hours(100)).records) == 1
    kill(store)
    again = open_store(small(tmp_path), clock)
    while again.dispatch_index():
        pass
    assert len(again.query("T", "k59", 8, 0, hours(100)).records) == 1
    assert again.query("T", "k3", 8, 0, hours(100)).records == []
    again.close()


def test_nothing_remains_to_do_in_a_store_without_an_index(tmp_path: Path) -> None:
    store = filled(tmp_path, Clock(), message_index_enable=False)
    assert remove_index(store) == 0


# --- a stop in between ---


def nothing(_: MessageStore) -> None:
    """Stop before what pointed into the removed files is checked."""


def only_index(store: MessageStore) -> None:
    remove_index(store)


def some_queue_files(store: MessageStore) -> None:
    assert store.retention.remove_queue_file(store._queues.by_key["T", 0])


def everything(store: MessageStore) -> None:
    remove_queues(store)
    remove_index(store)


@pytest.mark.parametrize("stop", [kill, MessageStore.close], ids=["killed", "closed"])
@pytest.mark.parametrize("done", [nothing, only_index, some_queue_files, remove_queues, everything])
def test_a_store_opens_wherever_the_removing_stopped(
    tmp_path: Path, done: Callable[[MessageStore], None], stop: Callable[[MessageStore], None]
) -> None:
    clock = Clock()
    store = filled(tmp_path, clock)
    store.flush_to(store.max_physical_offset)
    remove_log(store, hours(60), 12)
    first = first_left(store)
    done(store)
    stop(store)
    again = open_store(small(tmp_path), clock)
    assert (again.min_offset("T", 0), again.max_offset("T", 0)) == (first, 60)
    assert numbers(again) == list(range(first, 60))
    assert again.max_offset("Old", 0) == 10
    while again.dispatch_index():
        pass
    assert len(again.query("T", "k59", 8, 0, hours(100)).records) == 1
    remove_queues(again)
    remove_index(again)
    assert queue_files(again)[0] == f"{first // 16 * 320:020d}"
    assert again.append([draft(60)])[0].queue_offset == 60
    again.close()


@pytest.mark.parametrize("stop", [kill, MessageStore.close], ids=["killed", "closed"])
def test_a_log_file_that_came_back_after_a_power_cut_is_read_again(
    tmp_path: Path, stop: Callable[[MessageStore], None]
) -> None:
    """Its removal was not on the disk, that of the queue's files was: the queue is made again from the log."""
    clock = Clock()
    store = filled(tmp_path, clock)
    store.flush_to(store.max_physical_offset)
    removed = {name: (tmp_path / "commitlog" / name).read_bytes() for name in log_files(store)}
    remove_log(store, hours(60), 12)
    first = first_left(store)
    last = f"{store.retention.log_start - 4096:020d}"
    everything(store)
    stop(store)
    (tmp_path / "commitlog" / last).write_bytes(removed[last])
    again = open_store(small(tmp_path), clock)
    found = numbers(again)
    assert found == list(range(found[0], 60))
    assert found[0] < first
    assert again.append([draft(60)])[0].queue_offset == 60
    again.close()


# --- flushing meanwhile ---


class Interrupted(FileSystem):
    """Calls back in the middle of a flush, as the event loop continues beside the thread that flushes."""

    def __init__(self) -> None:
        self.meanwhile: Callable[[], None] | None = None
        self.synced: list[str] = []

    def open(self, path: str) -> int:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        fd = super().open(path)
        self.synced.append(Path(path).name)
        return fd


def test_a_flush_of_the_log_continues_past_files_that_are_removed_meanwhile(tmp_path: Path) -> None:
    files = Interrupted()
    store = filled(tmp_path, Clock(), files)
    names = log_files(store)
    files.synced.clear()
    files.meanwhile = lambda: assert_removed(store, 2)
    store.flush_to(store.max_physical_offset)
    assert files.synced == names[2:-1]
    assert store.flushed_offset == store.max_physical_offset


def assert_removed(store: MessageStore, count: int) -> None:
    for _ in range(count):
        remove_log_file(store)


def test_a_flush_of_a_queue_continues_past_files_that_are_removed_meanwhile(tmp_path: Path) -> None:
    files = Interrupted()
    store = filled(tmp_path, Clock(), files)
    queue = store._queues.by_key["T", 0]
    names = queue_files(store)
    remove_log(store, hours(60), 12)
    files.synced.clear()

    def remove() -> None:
        while store.retention.remove_queue_file(queue):
            pass

    files.meanwhile = remove
    queue.flush(set())
    assert files.synced[-len(queue_files(store)) :] == queue_files(store) == names[2:]
    assert queue.dirty_bytes == 0


def test_a_file_that_cannot_be_removed_stays_in_the_log(tmp_path: Path) -> None:
    store = filled(tmp_path, Clock())
    segment = store.retention.detach_log_file(0, 0, forcibly=True)
    assert segment is not None
    assert store.retention.log_start == 4096
    store.retention.reattach_log_file(segment)
    assert store.retention.log_start == 0
    assert numbers(store) == list(range(60))
    assert remove_log(store, 0, 0, forcibly=True) > 1


# --- at the request of an administrator ---


OWN = ("SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC")


def remove_all(store: MessageStore, queues: Iterator[ConsumeQueue | None]) -> None:
    for queue in queues:
        if queue is not None:
            store.retention.remove_queue(queue)


def test_queues_without_messages_are_removed_on_request(tmp_path: Path) -> None:
    clock = Clock()
    store = filled(tmp_path, clock)
    store.append([draft(1, topic="SCHEDULE_TOPIC_XXXX")])
    remove_all(store, store.retention.expired_queues())
    assert store.topics() == {"T", "Old", "SCHEDULE_TOPIC_XXXX"}
    for number in range(60):
        store.append([draft(number, body=bytes(400))])
    remove_log(store, hours(10_000), 0)
    remove_all(store, store.retention.expired_queues())
    assert store.topics() == {"T", "SCHEDULE_TOPIC_XXXX"}
    assert store._files.names(store.settings.consume_queues) == ["SCHEDULE_TOPIC_XXXX", "T"]
    gone = store.get("Old", 0, 3, 8)
    assert (gone.status, gone.next_offset) == (FetchStatus.NO_MESSAGE_IN_QUEUE, 0)
    assert store.append([draft(7, topic="Old")])[0].queue_offset == 0
    assert len(bodies(store, "Old")) == 1
    kill(store)
    again = open_store(small(tmp_path), clock)
    assert (again.min_offset("Old", 0), again.max_offset("Old", 0)) == (0, 1)
    again.close()


def test_listeners_are_notified_of_removed_queues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = filled(tmp_path, Clock())
    reported: list[int] = []
    store.queues.on_queue_removed.subscribe(lambda: reported.append(len(store.queues)))
    queue = store.queues.by_key["Old", 0]

    def refuse(_files: FileSystem, _path: str) -> None:
        raise refusal(errno.EIO)

    with monkeypatch.context() as patch:
        patch.setattr(FileSystem, "remove", refuse)
        with pytest.raises(OSError, match="error"):
            store.retention.remove_queue(queue)
    assert len(reported) == 1
    store.retention.remove_queue(queue)
    assert len(reported) == 2


def test_queues_of_delays_and_transactions_stay_without_messages(store: MessageStore) -> None:
    """The broker's own offsets lead into them, and would be taken for those of new messages."""
    store.append([draft(0, topic=topic) for topic in (*OWN, "Old")])
    for number in range(60):
        store.append([draft(number, body=bytes(400))])
    remove_log(store, hours(10_000), 0, forcibly=True)
    remove_all(store, store.retention.expired_queues())
    assert store.topics() == {*OWN, "T"}
    assert [each.queue_offset for each in store.append([draft(0, topic=topic) for topic in OWN])] == [1, 1, 1]


def test_queues_of_unknown_topics_are_removed_on_request(store: MessageStore) -> None:
    kept = (*OWN, "%LMQ%light", "T")
    store.append([draft(0, topic=topic) for topic in (*kept, "Unused")])
    store.append([draft(1, topic="Unused", queue_id=3)])
    remove_all(store, store.retention.unused_queues({"T", "Other"}))
    assert store.topics() == set(kept)
    assert store._files.names(store.settings.consume_queues) == sorted(kept)


def test_a_queue_that_was_removed_is_no_more_touched(tmp_path: Path) -> None:
    files = Interrupted()
    store = filled(tmp_path, Clock(), files)
    remove_log(store, hours(10_000), 0)
    queue = store._queues.by_key["Old", 0]
    remove_all(store, store.retention.expired_queues())
    store.append([draft(0, topic="Old")])
    assert not store.retention.remove_queue_file(queue)
    store.retention.sync_queue(queue)
    assert queue_files(store, "Old") == ["0" * 20]


def test_queues_that_change_while_others_are_removed_are_seen_as_they_are(store: MessageStore) -> None:
    store.append([draft(0, topic=topic) for topic in ("A", "B", "C")])
    used: set[str] = set()
    found = store.retention.unused_queues(used)
    first = next(found)
    assert first is not None
    store.retention.remove_queue(first)
    store.retention.remove_queue(store._queues.by_key["B", 0])
    used.add("C")
    assert list(found) == [None, None]
    assert store.topics() == {"C"}


class Refusing(FileSystem):
    """Removes no file whose name is `kept`."""

    kept = ""

    def remove(self, path: str) -> None:
        if Path(path).name == self.kept:
            raise refusal(errno.EPERM)
        super().remove(path)


@pytest.mark.parametrize("again", [False, True])
def test_a_queue_that_cannot_be_removed_continues_with_the_remaining_messages(tmp_path: Path, again: bool) -> None:
    files = Refusing()
    clock = Clock()
    store = filled(tmp_path, clock, files)
    queue = store._queues.by_key["T", 0]
    files.kept = queue_files(store)[2]
    with pytest.raises(OSError, match="Operation not permitted"):
        store.retention.remove_queue(queue)
    assert queue_files(store)[0] == files.kept
    if again:
        store.close()
        store = open_store(small(tmp_path), clock, files)
    assert (store.min_offset("T", 0), store.max_offset("T", 0)) == (32, 60)
    assert numbers(store) == list(range(32, 60))
    assert store.append([draft(60)])[0].queue_offset == 60


def test_a_queue_file_that_cannot_be_removed_leaves_no_gap(tmp_path: Path) -> None:
    files = Refusing()
    store = filled(tmp_path, Clock(), files)
    remove_log(store, hours(60), 12)
    before = queue_files(store)
    files.kept = before[0]
    for _ in range(2):
        with pytest.raises(OSError, match="Operation not permitted"):
            remove_queues(store)
    assert queue_files(store) == before
    files.kept = ""
    remove_queues(store)
    assert queue_files(store) == before[2:]


class FailingOnce(FileSystem):
    """Has one sync of a directory fail, after calling back."""

    def __init__(self) -> None:
        self.meanwhile: Callable[[], None] | None = None

    def sync_directory(self, path: str) -> None:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
            raise refusal(errno.ENOENT)
        super().sync_directory(path)


def test_a_queue_removed_while_it_is_flushed_fails_no_flush(tmp_path: Path) -> None:
    files = FailingOnce()
    store = open_store(small(tmp_path), files=files)
    store.append([draft(0), draft(0, topic="Unused")])
    queue = store._queues.by_key["Unused", 0]
    store._queues.dirty = {queue}
    files.meanwhile = lambda: remove_all(store, store.retention.unused_queues({"T"}))
    store._queues.flush(0)
    assert not store._queues.dirty


def test_a_store_that_has_to_refuse_gives_the_reason(store: MessageStore) -> None:
    store.disk_refusal = DiskNearlyFull("CL:  0.91")
    assert store.append([draft(0)]) == []
    assert str(store.append_error) == "CL:  0.91"
    store.disk_refusal = None
    assert len(store.append([draft(0)])) == 1
    assert store.append_error is None
