"""Brokers that only write: store directories to which messages are appended at a steady rate, by writing their files.

    python -m bench.spark.feed FOLDER [--brokers 50] [--queues 200] [--rate 100000]

It prints a line when the stores are made, begins with the first line of its input, and ends with the second. Each
second every queue gets its part of the rate at once, and each tenth of a second another tenth of the brokers. At the
end it prints how many messages it appended, and how many seconds it was late at most.
"""

from __future__ import annotations

import argparse
import itertools
import select
import sys
import time
from io import FileIO
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.layout.consume_queue import ENTRY
from rocketwire.store.layout.derive import dtype_fields
from rocketwire.store.settings import StoreSettings
from rocketwire.wire.facts.record import PHYSICAL_OFFSET_AT, QUEUE_OFFSET_AT, STORE_TIMESTAMP_AT_IPV4
from rocketwire.wire.message import MessageRecord, encode_record

QUEUES_OF_A_TOPIC: Final = 8
BODY: Final = b"x" * 100
TICKS: Final = 10  # a second
_ENTRY: Final = np.dtype(dtype_fields(ENTRY))
_SETTINGS: Final = StoreSettings(root=Path())


class Broker:
    """A store directory, locked as that of a running broker; `append` gives each queue so many messages."""

    def __init__(self, root: Path, queues: int, messages: int) -> None:
        """Make the store, with as many queues; each `append` adds so many messages to each."""
        (root / "commitlog").mkdir(parents=True)
        FileSystem().lock(str(root / "lock"))
        self._log = (root / "commitlog" / f"{0:020d}").open("wb", buffering=0)
        self._log.truncate(_SETTINGS.commit_log_file_size)
        self._messages = messages
        self._end = self._offset = 0
        records = [_record(queue) for queue in range(queues) for _ in range(messages)]
        sizes = np.array([len(record) for record in records])
        self._begins = np.cumsum(sizes) - sizes
        self._bytes = np.frombuffer(b"".join(records), np.uint8).copy()
        self._ranks = np.tile(np.arange(messages), queues)
        self._entries = np.zeros(len(records), _ENTRY)
        self._entries["size"] = sizes
        self._queues = [_queue_file(root, queue) for queue in range(queues)]

    def append(self) -> int:
        """Append to each queue; how many messages that were."""
        self._put(PHYSICAL_OFFSET_AT, self._end + self._begins)
        self._put(QUEUE_OFFSET_AT, self._offset + self._ranks)
        self._put(STORE_TIMESTAMP_AT_IPV4, np.full(len(self._begins), time.time_ns() // 1_000_000))
        self._log.write(self._bytes.data)
        self._entries["physical_offset"] = self._end + self._begins
        entries = memoryview(self._entries.tobytes())
        size = self._messages * _ENTRY.itemsize
        for number, path in enumerate(self._queues):
            with FileIO(path, "r+") as file:  # not kept open: there may be more queues than open files
                file.seek(self._offset * _ENTRY.itemsize)
                file.write(entries[number * size : (number + 1) * size])
        self._end += len(self._bytes)
        self._offset += self._messages
        return len(self._begins)

    def _put(self, field: int, values: NDArray[np.int64]) -> None:
        places = (self._begins + field)[:, None] + np.arange(8)
        self._bytes[places] = values.astype(">i8").view(np.uint8).reshape(-1, 8)


def _record(queue: int) -> bytes:
    topic, queue_id = f"Topic{queue // QUEUES_OF_A_TOPIC}", queue % QUEUES_OF_A_TOPIC
    return encode_record(
        MessageRecord(topic=topic, queue_id=queue_id, body=BODY, born_timestamp=time.time_ns() // 1_000_000)
    )


def _queue_file(root: Path, queue: int) -> str:
    folder = root / "consumequeue" / f"Topic{queue // QUEUES_OF_A_TOPIC}" / str(queue % QUEUES_OF_A_TOPIC)
    folder.mkdir(parents=True)
    path = folder / f"{0:020d}"
    with path.open("wb") as file:
        file.truncate(_SETTINGS.consume_queue_file_size)
    return str(path)


def _should_end() -> bool:
    return bool(select.select([sys.stdin], [], [], 0)[0])


def main() -> None:
    """Append until a line of the input ends it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    for name, default in (("brokers", 50), ("queues", 200), ("rate", 100_000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    messages = max(1, options.rate // options.brokers // options.queues)
    roots = [options.folder / f"broker-{number}" for number in range(options.brokers)]
    brokers = [Broker(root, options.queues, messages) for root in roots]
    appended = sum(broker.append() for broker in brokers)
    print("ready", flush=True)
    sys.stdin.readline()
    begun, late = time.monotonic(), 0.0
    for tick in itertools.count():
        behind = time.monotonic() - begun - tick / TICKS
        late = max(late, behind)
        time.sleep(max(0.0, -behind))
        appended += sum(broker.append() for broker in brokers[tick % TICKS :: TICKS])
        if _should_end():
            break
    print(appended, late, flush=True)


if __name__ == "__main__":
    main()
