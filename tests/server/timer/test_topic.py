"""Reading the timer's topic."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rocketwire.server.timer.topic import GROUP_BYTES, TimerEntries, TimerTopicReader, split_into_groups
from rocketwire.store.append.drafts import Draft
from rocketwire.store.store import MessageStore
from rocketwire.store.timer.units import due_time
from rocketwire.wire.names import TIMER_TOPIC
from tests.server.timer.support import timer_draft
from tests.store.support import START, open_store, remove_log_file, small

DUE = START + 5500


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MessageStore]:
    opened = open_store(small(tmp_path))
    yield opened
    opened.close()


def put(store: MessageStore, *drafts: Draft) -> None:
    assert len(store.append(drafts)) == len(drafts)


def test_an_empty_topic_has_no_messages(store: MessageStore) -> None:
    topic = TimerTopicReader(store)
    assert topic.end == 0
    assert topic.read(0, 10) == TimerEntries([], 0)


def test_messages_are_read_from_an_offset_on(store: MessageStore) -> None:
    put(store, *(timer_draft(b"", DUE + 10 * number, key=f"{number}") for number in range(30)))
    topic = TimerTopicReader(store)
    found, offset = [], 3
    while offset < topic.end:
        group = topic.read(offset, 10)
        assert len(group.waiting) == group.end - offset <= 10
        found += group.waiting
        offset = group.end
    assert [due_time(each.out_time, 1000) for each in found] == [DUE + 10 * number for number in range(3, 30)]


def test_groups_are_bounded_by_bytes(tmp_path: Path) -> None:
    store = open_store(small(tmp_path, commit_log_file_size=4 << 20))
    put(store, *(timer_draft(bytes(300_000), DUE, key=f"{number}") for number in range(3)))
    assert [TimerTopicReader(store).read(offset, 10).end for offset in range(3)] == [1, 2, 3]
    store.close()


def test_missing_records_are_skipped(store: MessageStore) -> None:
    put(store, *(timer_draft(bytes(900), DUE, key=f"{number}") for number in range(9)))
    remove_log_file(store)
    topic = TimerTopicReader(store)
    offset = found = lost = 0
    while offset < topic.end:
        group = topic.read(offset, 10)
        found, lost, offset = found + len(group.waiting), lost + group.lost, group.end
    assert found == 9 - lost
    assert lost > 0


def test_missing_entries_are_skipped(tmp_path: Path) -> None:
    store = open_store(small(tmp_path))
    put(store, *(timer_draft(b"", DUE, key=f"{number}") for number in range(40)))
    while remove_log_file_if_any(store):
        pass
    (queue,) = (each for each in store.retention.queues() if each.key[0] == TIMER_TOPIC)
    while store.retention.remove_queue_file(queue):
        pass
    topic = TimerTopicReader(store)
    group = topic.read(0, 10)
    assert group.lost == store.min_offset(TIMER_TOPIC, 0) > 0
    assert group.end == group.lost + len(group.waiting)
    store.close()


def remove_log_file_if_any(store: MessageStore) -> bool:
    segment = store.retention.detach_log_file(0, 0, forcibly=True)
    if segment is not None:
        segment.remove()
    return segment is not None


def test_records_without_a_time_are_counted(store: MessageStore) -> None:
    bad = timer_draft(b"", DUE, key="bad")
    bad.properties = b"UNIQ_KEY\x01bad"
    put(store, timer_draft(b"", DUE, key="a"), bad, timer_draft(b"", DUE, key="b"))
    group = TimerTopicReader(store).read(0, 10)
    assert (len(group.waiting), group.end, group.unreadable) == (2, 3, 1)


def test_a_group_has_as_many_messages_as_its_size_allows() -> None:
    sizes = [0, GROUP_BYTES - 1, 1, 1, 3 * GROUP_BYTES, 5, GROUP_BYTES]
    items = list("abcdefg")
    assert [*map("".join, split_into_groups(items, sizes))] == ["abc", "d", "e", "f", "g"]
    assert list(split_into_groups(items, [1] * 7)) == [items]
    assert list(split_into_groups([], [])) == []
