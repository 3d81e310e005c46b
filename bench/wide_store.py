"""Making a store of very many queues and log files in seconds, to measure metadata queries.

All files have their full sizes and are sparse. All entries of consume queues are written, and point to physical offsets
spread over the whole log; of the log only the records of each queue's first and last entry are written.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rocketwire.store.layout.consume_queue import ENTRY_SIZE
from rocketwire.wire.facts.record import SMALLEST_RECORD
from rocketwire.wire.message import MessageRecord, encode_record

LOG_FILE = 1 << 30
QUEUE_FILE = 300_000 * ENTRY_SIZE
#: Store time, in ms, of what is at physical offset 0; each MiB of the log is one ms later.
FIRST_STORED = 1_700_000_000_000
_STORED = np.dtype([("physical_offset", ">i8"), ("size", ">i4"), ("tags_code", ">i8")])


@dataclass(frozen=True, slots=True, kw_only=True)
class WideStore:
    """How much there is: `messages` of each queue; group `group-G` has taken G of them, counted from the end."""

    topics: int = 1_000
    queues: int = 10
    messages: int = 1_000
    log_files: int = 1_000
    groups: int = 4

    def make(self, root: Path) -> None:
        """Make it in a folder that is not there yet."""
        log = root / "commitlog"
        log.mkdir(parents=True)
        for number in range(self.log_files):
            with (log / f"{number * LOG_FILE:020d}").open("wb") as file:
                file.truncate(LOG_FILE)
        self._make_queues(root / "consumequeue", log)
        table = {
            f"Topic{topic:04d}@group-{group}": {str(queue): self.messages - group for queue in range(self.queues)}
            for topic in range(self.topics)
            for group in range(self.groups)
        }
        (root / "config").mkdir()
        (root / "config" / "consumerOffset.json").write_text(json.dumps({"offsetTable": table}), encoding="utf-8")

    def _make_queues(self, queues: Path, log: Path) -> None:
        steps = np.arange(self.messages, dtype=np.int64)
        total = self.topics * self.queues
        # Record n of all queues lie side by side, one slot of 512 bytes each; the rounds are spread over the log.
        apart = self.log_files * LOG_FILE // self.messages // 512 * 512
        entries = np.zeros(self.messages, _STORED)
        entries["size"] = 200 + steps % 100
        for number in range(total):
            topic, queue = divmod(number, self.queues)
            entries["physical_offset"] = steps * apart + number * 512
            folder = queues / f"Topic{topic:04d}" / str(queue)
            folder.mkdir(parents=True)
            with (folder / f"{0:020d}").open("wb") as file:
                file.write(entries.tobytes())
                file.truncate(QUEUE_FILE)
            self._write_record(log, f"Topic{topic:04d}", queue, 0, entries[0])
            self._write_record(log, f"Topic{topic:04d}", queue, self.messages - 1, entries[-1])

    def _write_record(self, log: Path, topic: str, queue: int, offset: int, entry: np.void) -> None:
        place = int(entry["physical_offset"])
        message = MessageRecord(
            topic=topic,
            queue_id=queue,
            body=bytes(int(entry["size"]) - SMALLEST_RECORD - len(topic)),
            queue_offset=offset,
            physical_offset=place,
            store_timestamp=stored(place),
        )
        with (log / f"{place // LOG_FILE * LOG_FILE:020d}").open("r+b") as file:
            os.pwrite(file.fileno(), encode_record(message), place % LOG_FILE)


def stored(place: int) -> int:
    """Store time in ms of the record at a physical offset."""
    return FIRST_STORED + (place >> 20)
