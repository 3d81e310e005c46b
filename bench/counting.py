"""What the statistics of topics cost: `python -m bench.counting` prints it.

A send counts nothing but two numbers of its queue. All else is done every 10 s, for each queue that grew and each
counter; so the cost of a message is that work, divided by the messages of 10 s.
"""

from __future__ import annotations

import statistics as averages
import tempfile
import time
from pathlib import Path
from typing import Final

import trio

from rocketwire.server.core.metrics import Metrics
from rocketwire.server.statistics.statistics import Statistics
from rocketwire.store.append.drafts import Draft
from rocketwire.store.settings import StoreSettings
from rocketwire.store.store import MessageStore

QUEUES: Final = 8
TOPICS: Final = (1, 10, 100, 1000)
ROUNDS: Final = 5
SECONDS: Final = 10
RATE: Final = 100_000
"""The messages a second by which the cost of one is reckoned."""


def measured(folder: Path, topics: int) -> list[float]:
    """CPU seconds of each round of 10 s, all queues of so many topics having grown."""
    settings = StoreSettings(root=folder, consume_queue_file_size=20_000, commit_log_file_size=64 << 20)
    store = MessageStore.open(settings, clock=lambda: 1_700_000_000_000, store_host=bytes(8))
    metrics = Metrics()
    statistics = Statistics(
        metrics,
        arrivals=store.queues.take_counts,
        has_arrived=lambda _: False,
        has_topic=lambda _: True,
        has_group=lambda _: True,
    )
    found = []
    for number in range(ROUNDS):
        drafts = [_draft(f"Topic{topic}", queue) for topic in range(topics) for queue in range(QUEUES)]
        for first in range(0, len(drafts), 64):
            store.append(drafts[first : first + 64])
        metrics.messages_in += len(drafts)
        began = time.process_time()
        for _ in statistics.sample((number - 1) * SECONDS, number * SECONDS):
            pass
        found.append(time.process_time() - began)
    store.close()
    return found


def _draft(topic: str, queue: int) -> Draft:
    return Draft(topic, queue, bytes(100), b"", 0, 0, 1_700_000_000_000, bytes(8))


async def main() -> None:
    """Print a row for each number of topics."""
    print("| topics | queues | CPU ms every 10 s: min / median / max | share of a processor | ns a message |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for topics in TOPICS:
        with tempfile.TemporaryDirectory(prefix="bench-counting-") as folder:
            took = measured(Path(folder), topics)
        middle = averages.median(took)
        shown = " / ".join(f"{1000 * each:.2f}" for each in (min(took), middle, max(took)))
        share = f"{100 * middle / SECONDS:.4f} %"
        print(f"| {topics:,} | {topics * QUEUES:,} | {shown} | {share} | {middle / SECONDS / RATE * 1e9:.2f} |")


if __name__ == "__main__":
    trio.run(main)
