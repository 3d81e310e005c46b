"""Records in the files being written in C, as store.read.fetch finds them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rocketwire import _kernel as kernel
from rocketwire.store.read import fetch as fetching
from rocketwire.store.read.fetch import FetchLimits, fetch
from rocketwire.store.store import MessageStore
from tests.store.support import draft, open_store, small

LIMITS = FetchLimits(
    memory=1 << 30, count_in_memory=32, bytes_in_memory=1 << 18, count_on_disk=8, bytes_on_disk=1 << 16
)
MESSAGES = 40


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MessageStore]:
    """Forty messages in two alternating queues, pairs of them adjacent; queue files of 12 entries."""
    made = open_store(small(tmp_path, commit_log_file_size=1 << 14, consume_queue_file_size=240))
    made.append([draft(number, queue_id=number // 2 % 2) for number in range(MESSAGES)])
    yield made
    made.close()


@dataclass
class Found:
    """What the kernel finds in the queue 0."""

    store: MessageStore

    def records(self, offset: int, most: int, *, memory: int = 1 << 30, most_bytes: int = 1 << 18) -> object:
        log, queue = self.store.log, self.store.queues.by_key["T", 0]
        return kernel.newest_records(log, queue, offset, most, memory, most_bytes)


def test_a_fetch_is_the_same_as_without_it(store: MessageStore, monkeypatch: pytest.MonkeyPatch) -> None:
    log, queue = store.log, store.queues.by_key["T", 0]
    places = [(offset, most) for offset in range(queue.end + 1) for most in (1, 2, 3, 8, 32)]
    found = [fetch(log, queue, *place, LIMITS, None) for place in places]
    taken = [Found(store).records(*place) is not None for place in places]
    monkeypatch.setattr(fetching, "_newest_records", None)
    assert found == [fetch(log, queue, *place, LIMITS, None) for place in places]
    assert any(taken)
    assert not all(taken)


def test_adjacent_records_are_one_view(store: MessageStore) -> None:
    end = store.max_offset("T", 0)
    found = Found(store).records(end - 4, 32)
    assert isinstance(found, tuple)
    views, count, size = found
    assert (len(views), count, size) == (2, 4, sum(map(len, views)))


def test_what_is_not_within_the_limits_is_pythons(store: MessageStore) -> None:
    end, found = store.max_offset("T", 0), Found(store)
    entry = store.queues.by_key["T", 0].entry(end - 2)
    place, size = entry[0], entry[1]
    behind = store.max_physical_offset - place
    assert found.records(end - 2, 2, memory=behind, most_bytes=2 * size) is not None
    assert found.records(end - 2, 2, memory=behind - 1, most_bytes=2 * size) is None
    assert found.records(end - 2, 2, memory=behind, most_bytes=2 * size - 1) is None
    assert found.records(end - 1, 1, most_bytes=1) is None
    assert found.records(end, 1) is None
    assert found.records(0, 1) is None  # in a file before


def test_entries_that_no_store_wrote_are_pythons(store: MessageStore) -> None:
    queue = store.queues.by_key["T", 0]
    for entry in (bytes(20), b"\xff" * 20, (1 << 40).to_bytes(8) + bytes(12)):
        queue.buffer[queue.position - 20 : queue.position] = entry
        assert Found(store).records(queue.end - 1, 1) is None


def test_wrong_arguments(store: MessageStore) -> None:
    with pytest.raises(TypeError):
        kernel.newest_records(store.log, store.log, 0, 1, 1, 1)  # type: ignore[arg-type]
