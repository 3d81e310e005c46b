"""Making stores of any size, about as fast as the disk can write.

A store repeats a pattern of some MiB of records. Each repetition gets its own physical and queue offsets, set by numpy;
all else is the same. Consume queues have an entry for every message.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.layout.consume_queue import ENTRY
from rocketwire.store.layout.derive import dtype_fields
from rocketwire.store.settings import StoreSettings
from rocketwire.wire.facts import properties as names
from rocketwire.wire.facts.record import END_OF_FILE_BLANK, PHYSICAL_OFFSET_AT, QUEUE_OFFSET_AT
from rocketwire.wire.java import string_hash
from rocketwire.wire.message import MessageRecord, encode_record
from rocketwire.wire.properties import encode_properties

MIB: Final = 1 << 20
GIB: Final = 1 << 30
#: Bytes of the bodies in the stores that are measured.
BODIES: Final = (1024, 100)
PATTERN: Final = 8 * MIB
TOPICS: Final = 4
QUEUES: Final = 8
TAGS: Final = 3
NOW: Final = 1_700_000_000_000
QUEUE_FILE: Final = StoreSettings(root=Path()).consume_queue_file_size
_ENTRY: Final = np.dtype(dtype_fields(ENTRY))


class Pattern:
    """A pattern of adjacent records with bodies of so many bytes."""

    def __init__(self, body: int, size: int = PATTERN) -> None:
        random = np.random.default_rng(body).bytes(MIB)
        records: list[bytes] = []
        length = 0
        while length < size:
            records.append(_record(len(records), random, body))
            length += len(records[-1])
        self.length = length
        self.sizes = np.array([len(record) for record in records], np.int64)
        self.begins = np.cumsum(self.sizes) - self.sizes
        codes = [string_hash(f"Tag{tag}") for tag in range(TAGS)]
        self.queues = np.array([_queue(number) for number in range(len(records))])
        self.tags_codes = np.array([codes[number % TAGS] for number in range(len(records))])
        self._ranks = np.zeros(len(records), np.int64)
        self._counts = np.bincount(self.queues, minlength=TOPICS * QUEUES)
        for queue, count in enumerate(self._counts.tolist()):
            self._ranks[self.queues == queue] = np.arange(count)
        self._bytes = np.frombuffer(b"".join(records), np.uint8).copy()

    def at(self, physical_offset: int, turn: int) -> NDArray[np.uint8]:
        """The records for a physical offset, after so many repetitions; valid until the next call."""
        self._put(PHYSICAL_OFFSET_AT, physical_offset + self.begins)
        self._put(QUEUE_OFFSET_AT, self._ranks + turn * self._counts[self.queues])
        return self._bytes

    def _put(self, field: int, values: NDArray[np.int64]) -> None:
        places = (self.begins + field)[:, None] + np.arange(8)
        self._bytes[places] = values.astype(">i8").view(np.uint8).reshape(-1, 8)


def _queue(number: int) -> int:
    """The number of a record's queue among all queues of all topics."""
    return number // 5 % TOPICS * QUEUES + number % QUEUES


def _record(number: int, random: bytes, body: int) -> bytes:
    start = number * 37 % (MIB - body)
    properties = encode_properties(
        {
            names.UNIQ_KEY: f"C0A80001{number:024X}",
            names.WAIT: "true",
            names.KEYS: f"order-{number}",
            names.TAGS: f"Tag{number % TAGS}",
        }
    )
    return encode_record(
        MessageRecord(
            topic=f"Topic{_queue(number) // QUEUES}",
            queue_id=_queue(number) % QUEUES,
            body=random[start : start + body],
            properties=properties.encode(),
            born_timestamp=NOW + number,
            born_host=("10.0.0.1", 40_000 + number % 3),
            store_timestamp=NOW + number + 1,
            store_host=("10.0.0.9", 10911),
        )
    )


def make_store(root: Path, *, body: int, size: int, file_size: int = GIB) -> int:
    """Make a store at rest in a folder that is not there yet, with `size` bytes of log; how many messages."""
    pattern, file_size = Pattern(body), min(size, file_size)
    log = root / "commitlog"
    log.mkdir(parents=True)
    bases: list[int] = []
    for start in range(0, size, file_size):
        with (log / f"{start:020d}").open("wb") as file:
            at = start
            while at + pattern.length <= start + file_size - END_OF_FILE_BLANK.sizeof() and at < size:
                file.write(pattern.at(at, len(bases)).data)
                bases.append(at)
                at += pattern.length
            if start + file_size < size:
                file.write(END_OF_FILE_BLANK.build({"size": start + file_size - at}))
            file.truncate(file_size)
    _make_queues(root / "consumequeue", pattern, np.array(bases, np.int64))
    return len(bases) * len(pattern.begins)


def _make_queues(folder: Path, pattern: Pattern, bases: NDArray[np.int64]) -> None:
    for queue in range(TOPICS * QUEUES):
        (chosen,) = np.nonzero(pattern.queues == queue)
        entries = np.zeros((len(bases), len(chosen)), _ENTRY)
        entries["physical_offset"] = bases[:, None] + pattern.begins[chosen]
        entries["size"] = pattern.sizes[chosen]
        entries["tags_code"] = pattern.tags_codes[chosen]
        content = entries.tobytes()
        path = folder / f"Topic{queue // QUEUES}" / str(queue % QUEUES)
        path.mkdir(parents=True)
        for start in range(0, len(content), QUEUE_FILE):
            with (path / f"{start:020d}").open("wb") as file:
                file.write(content[start : start + QUEUE_FILE])
                file.truncate(QUEUE_FILE)
