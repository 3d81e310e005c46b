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

from bench.spark.feed import Broker
from pyspark_rocketmq import DefaultSource
from rocketwire.spark.stream.stream import StoreStreamReader

_NEW: Final = 10


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
        brokers = [Broker(root, options.queues, _NEW) for root in roots]
        for broker in brokers:
            broker.append()
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
                broker.append()
            end = _paid("latestOffset", times, reader.latestOffset, offsets, ReadAllAvailable())
            tasks = _paid("planning", times, reader.partitions, offsets, end)
            rows += _paid("reading", times, _read, reader, tasks)
            offsets = json.loads(json.dumps(end))
    print(f"{options.brokers * options.queues:,} queues of {options.brokers} brokers, {rows:,} messages read")
    for name, paid in times.items():
        print(f"{name}: {np.min(paid):.3f} / {statistics.median(paid):.3f} / {np.max(paid):.3f} CPU-s")


if __name__ == "__main__":
    main()
