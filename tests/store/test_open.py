"""Opening a store after a clean stop: at once, and in memory that does not grow with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bench.opening import GIB, MIB, QUEUES, large_messages, many_messages, opened

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("messages", [large_messages, many_messages])
def test_a_store_of_10_gib_opens_at_once_and_in_little_memory(
    tmp_path: Path, messages: Callable[[Path, int], int]
) -> None:
    small, large = tmp_path / "1", tmp_path / "10"
    messages(small, GIB)
    count = messages(large, 10 * GIB)
    assert sum(path.stat().st_size for path in (large / "commitlog").iterdir()) == 10 * GIB
    less, more = opened(small), opened(large)
    # By the clock it may be longer on a busy machine; one that shares its processors takes more of their time, too.
    seconds = min(each.cpu_seconds for each in (more, opened(large), opened(large)))
    assert more.offsets == [(count + QUEUES - 1 - queue_id) // QUEUES for queue_id in range(QUEUES)]
    assert more.end > 10 * GIB - 5 * MIB
    assert more.start > more.end - 25 * MIB
    assert more.records > 3
    assert seconds < 1
    assert more.own_memory < less.own_memory + 4 * MIB
    # The rest are pages of the files that happen to be mapped: those read, and what the kernel maps around them.
    assert more.most_memory < less.most_memory + 32 * MIB


def test_a_store_without_messages_opens_without_numpy(tmp_path: Path) -> None:
    for _ in range(2):
        found = opened(tmp_path)
        assert not found.numpy
        assert (found.records, found.end) == (0, 0)
