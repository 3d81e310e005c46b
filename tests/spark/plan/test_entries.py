"""Entries of a queue, and looking among them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketwire.spark.plan import entries as module
from rocketwire.spark.plan.entries import Entries
from rocketwire.spark.plan.partitions import QueueRange
from rocketwire.store.layout.consume_queue import ENTRY_SIZE, ENTRY_STRUCT, PRE_BLANK
from rocketwire.store.offline.read.directory import discover

COUNT = 100


def queue_of(root: Path, holes: range, filling: bytes) -> QueueRange:
    content = bytearray(b"".join(ENTRY_STRUCT.pack(1000 + number * 10, 10, 7) for number in range(COUNT)))
    content[holes.start * ENTRY_SIZE : holes.stop * ENTRY_SIZE] = filling * len(holes)
    directory = root / "consumequeue" / "T" / "0"
    directory.mkdir(parents=True)
    (directory / f"{0:020d}").write_bytes(content)
    (queue,) = discover(str(root)).queues
    return QueueRange("T", 0, queue.path, 0, COUNT, queue.files)


@pytest.mark.parametrize("filling", [bytes(ENTRY_SIZE), PRE_BLANK, ENTRY_STRUCT.pack(-1, 10, 7)])
@pytest.mark.parametrize("holes", [range(50, 51), range(40, 60), range(COUNT - 30, COUNT), range(30), range(COUNT)])
def test_holes_lead_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holes: range, filling: bytes) -> None:
    monkeypatch.setattr(module, "_RUN", 8)
    queue = queue_of(tmp_path, holes, filling)
    with Entries(queue) as entries:
        for mark in range(COUNT):
            following = next((number for number in range(mark, COUNT) if number not in holes), None)
            assert entries.message(mark, COUNT) == (None if following is None else 1000 + following * 10)
            found = entries.bisect(0, COUNT, (1000 + mark * 10).__gt__)
            # The wanted entry is at this offset or behind it, and no entry before it is behind that.
            assert all(number < found for number in range(mark) if number not in holes)
            assert all(number >= found for number in range(mark, COUNT) if number not in holes)
