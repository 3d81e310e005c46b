"""The counts of what was appended to queues: see ConsumeQueue.arrived."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketwire import native
from rocketwire.store.store import MessageStore
from tests.store.support import draft, open_store, small


def taken(store: MessageStore) -> dict[str, tuple[int, int]]:
    found = [each for part in store.queues.take_counts() for each in part]
    return {topic: (messages, size) for topic, messages, size in found}


def test_what_was_appended_is_counted_once(store: MessageStore) -> None:
    sizes = [each.size for each in store.append([draft(1), draft(2, topic="U"), draft(3)])]
    assert [store.queues.has_new_counts(topic, 4) for topic in ("T", "U", "V")] == [True, True, False]
    assert taken(store) == {"T": (2, sizes[0] + sizes[2]), "U": (1, sizes[1])}
    assert not store.queues.has_new_counts("T", 4)
    assert taken(store) == {}
    (more,) = store.append([draft(4)])
    assert taken(store) == {"T": (1, more.size)}


def test_each_queue_of_a_topic_is_reported(store: MessageStore) -> None:
    (appended, _) = store.append([draft(1), draft(2, queue_id=3)])
    assert [part for part in store.queues.take_counts() if part] == [[("T", 1, appended.size)] * 2]
    assert not store.queues.has_new_counts("T", 4)
    store.append([draft(2, queue_id=3)])
    assert (store.queues.has_new_counts("T", 3), store.queues.has_new_counts("T", 4)) == (False, True)


def test_what_recovery_enters_does_not_count(tmp_path: Path) -> None:
    store = open_store(small(tmp_path))
    store.append([draft(1), draft(2)])
    store.close()
    (tmp_path / "abort").touch()
    store = open_store(small(tmp_path))
    assert store.max_offset("T", 0) == 2
    assert taken(store) == {}


@pytest.mark.skipif(native.kernel is None, reason="there is no kernel to compare with")
def test_both_twins_count_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []
    for name in ("kernel", "python"):
        if name == "python":
            monkeypatch.setattr(native, "kernel", None)
        store = open_store(small(tmp_path / name))
        store.append([draft(number, queue_id=number % 2) for number in range(9)])
        counts.append([part for part in store.queues.take_counts() if part])
        store.close()
    assert counts[0] == counts[1]
