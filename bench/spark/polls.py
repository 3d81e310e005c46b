"""What a stream's driver pays for a trigger over very many queues: no Spark, stores of 50 brokers on one disk.

    python -m bench.spark.polls [--brokers 50] [--queues 200] [--turns 9]

Before each turn every queue gets 10 messages of 100 bytes, as a broker would append them. Times are CPU seconds of this
process, min / median / max: of latestOffset, of planning the batch's tasks, and of reading it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np
from pyspark.sql.datasource import CaseInsensitiveDict, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable

from pyspark_rocketmq import DefaultSource
from rocketwire.spark.stream.stream import StoreStreamReader
from rocketwire.store.layout.consume_queue import ENTRY_STRUCT
from rocketwire.store.settings import StoreSettings
from rocketwire.wire.message import Message, encode_record

_QUEUES_OF_A_TOPIC: Final = 8
_NEW: Final = 10
_NOW: Final = 1_700_000_000_000
_SETTINGS: Final = StoreSettings(root=Path())


class Broker:
    """A store directory, to which messages are appended by writing its files."""

    def __init__(self, root: Path, queues: int) -> None:
        (root / "commitlog").mkdir(parents=True)
        self._log = (root / "commitlog" / f"{0:020d}").open("wb", buffering=1 << 20)
        self._log.truncate(_SETTINGS.commit_log_file_size)
        self._end = self._offset = 0
        self._paths: dict[tuple[str, int], Path] = {}
        for number in range(queues):
            topic, queue_id = f"Topic{number // _QUEUES_OF_A_TOPIC}", number % _QUEUES_OF_A_TOPIC
            folder = root / "consumequeue" / topic / str(queue_id)
            folder.mkdir(parents=True)
            path = self._paths[topic, queue_id] = folder / f"{0:020d}"
            with path.open("wb") as file:
                file.truncate(_SETTINGS.consume_queue_file_size)

    def append(self, count: int) -> None:
        """Append so many messages to each queue."""
        for (topic, queue_id), path in self._paths.items():
            entries = b""
            for number in range(self._offset, self._offset + count):
                record = encode_record(
                    Message(
                        topic=topic,
                        queue_id=queue_id,
                        body=b"x" * 100,
                        queue_offset=number,
                        physical_offset=self._end,
                        born_timestamp=_NOW,
                        store_timestamp=_NOW,
                    )
                )
                self._log.write(record)
                entries += ENTRY_STRUCT.pack(self._end, len(record), 0)
                self._end += len(record)
            with path.open("r+b") as file:
                file.seek(self._offset * ENTRY_STRUCT.size)
                file.write(entries)
        self._log.flush()
        self._offset += count


def _paid(name: str, times: dict[str, list[float]], call: Callable[..., Any], *arguments: Any) -> Any:  # noqa: ANN401 - any call
    begun = time.process_time()
    found = call(*arguments)
    times.setdefault(name, []).append(time.process_time() - begun)
    return found


def _read(reader: StoreStreamReader, tasks: Iterable[InputPartition]) -> int:
    return sum(batch.num_rows for task in tasks for batch in reader.read(task))


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("brokers", 50), ("queues", 200), ("turns", 9)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    times: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        roots = [Path(folder) / f"broker-{number}" for number in range(options.brokers)]
        brokers = [Broker(root, options.queues) for root in roots]
        for broker in brokers:
            broker.append(_NEW)
        texts = {"path": ",".join(map(str, roots)), "columns": "topic,queue_id,queue_offset,body"}
        source = DefaultSource(CaseInsensitiveDict(texts))
        reader = StoreStreamReader(source.options, source.schema())
        offsets: Any = json.loads(json.dumps(reader.initialOffset()))
        for _ in range(2):  # folders are trusted a second after they were written
            time.sleep(1.1)
            _paid("latestOffset, first", times, reader.latestOffset, offsets, ReadAllAvailable())
        rows = 0
        for _ in range(options.turns):
            _paid("latestOffset, nothing new", times, reader.latestOffset, offsets, ReadAllAvailable())
            for broker in brokers:
                broker.append(_NEW)
            end = _paid("latestOffset", times, reader.latestOffset, offsets, ReadAllAvailable())
            tasks = _paid("planning", times, reader.partitions, offsets, end)
            rows += _paid("reading", times, _read, reader, tasks)
            offsets = json.loads(json.dumps(end))
    print(f"{options.brokers * options.queues:,} queues of {options.brokers} brokers, {rows:,} messages read")
    for name, paid in times.items():
        print(f"{name}: {np.min(paid):.3f} / {statistics.median(paid):.3f} / {np.max(paid):.3f} CPU-s")


if __name__ == "__main__":
    main()
