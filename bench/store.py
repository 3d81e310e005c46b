"""The speed of the store: appends and gets, reading it whole, and opening a large one. Asserts nothing.

    python -m bench.store [DIRECTORY]

The directory should be on the disk to be measured; it is removed afterwards.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.opening import GIB, MIB, large_messages, many_messages, opened
from bench.whole_store import measure_whole
from rocketwire.store.append.drafts import Draft
from rocketwire.store.read.fetch import FetchStatus
from rocketwire.store.settings import StoreSettings
from rocketwire.store.store import MessageStore
from rocketwire.wire.facts.properties import TAGS, UNIQ_KEY, WAIT
from rocketwire.wire.hosts import encode_host

HOST = encode_host("127.0.0.1", 10911)
GROUP = 32
ROUNDS = 9


def clock() -> int:
    return int(time.time() * 1000)


def groups(count: int, body: int, queues: int) -> list[list[Draft]]:
    drafts = [
        Draft(
            "BenchTopic",
            number % queues,
            bytes(body),
            f"{UNIQ_KEY}\x01{number:032X}\x02{WAIT}\x01true\x02{TAGS}\x01TagA".encode(),
            0,
            0,
            1_700_000_000_000,
            HOST,
            tags_code=2598919,
            unique_key=f"{number:032X}",
        )
        for number in range(count)
    ]
    return [drafts[first : first + GROUP] for first in range(0, count, GROUP)]


def timed(action: Callable[[], int]) -> tuple[float, float]:
    """Items a second, and microseconds of CPU an item."""
    start, cpu = time.perf_counter(), time.process_time()
    items = action()
    return items / (time.perf_counter() - start), (time.process_time() - cpu) / items * 1e6


def row(name: str, results: list[tuple[float, float]]) -> None:
    rates = sorted(rate for rate, _ in results)
    cpu = statistics.median(each for _, each in results)
    print(f"{name:44} {rates[0]:>12,.0f} {statistics.median(rates):>12,.0f} {rates[-1]:>12,.0f} {cpu:>8.2f}")


def append_all(store: MessageStore, prepared: list[list[Draft]]) -> int:
    for group in prepared:
        store.append(group)
    return len(prepared) * GROUP


def append_durably(store: MessageStore, prepared: list[list[Draft]]) -> int:
    for group in prepared:
        last = store.append(group)[-1]
        store.flush_to(last.physical_offset + last.size)
    return len(prepared) * GROUP


def read_all(store: MessageStore, queues: int) -> int:
    count = 0
    for queue in range(queues):
        offset = 0
        while (fetched := store.get("BenchTopic", queue, offset, 32)).status is FetchStatus.FOUND:
            count += fetched.count
            offset = fetched.next_offset
    return count


def append_and_index(store: MessageStore, prepared: list[list[Draft]]) -> int:
    """The index keeps up: it takes what was appended after each 32 groups."""
    for number, group in enumerate(prepared, 1):
        store.append(group)
        if number % GROUP == 0:
            index_all(store, 0)
    return len(prepared) * GROUP


def index_all(store: MessageStore, messages: int) -> int:
    while store.dispatch_index():
        pass
    return messages


def measure(root: Path, body: int, queues: int) -> None:
    settings = StoreSettings(root=root)
    store = MessageStore.open(settings, clock=clock, store_host=HOST)
    prepared = groups(32_000, body, queues)
    appended, indexed = [], []
    for _ in range(ROUNDS):
        appended.append(timed(lambda: append_all(store, prepared)))
        indexed.append(timed(lambda: index_all(store, 32_000)))
    row(f"append {GROUP} x {body} B, {queues} queues", appended)
    row("  index, one key a message", indexed)
    both = [timed(lambda: append_and_index(store, prepared)) for _ in range(ROUNDS)]
    row("  append with the index keeping up", both)
    row(f"  get 32 x {body} B", [timed(lambda: read_all(store, queues)) for _ in range(5)])
    durable = groups(3_200, body, queues)
    row(f"  append {GROUP} x {body} B and flush", [timed(lambda: append_durably(store, durable)) for _ in range(3)])
    store.close()


def measure_opening(root: Path) -> None:
    """How long a process takes to open a store of 1 and of 10 GiB after a clean stop, and the memory it has then."""
    print(f"\n{'opening after a clean stop':44} {'min s':>12} {'median s':>12} {'max s':>12} {'own MiB':>8}")
    for name, messages in (("messages of 4 MiB", large_messages), ("messages of 2 KiB", many_messages)):
        for gib in (1, 10):
            path = root / f"{messages.__name__}-{gib}"
            messages(path, gib * GIB)
            found = [opened(path) for _ in range(ROUNDS)]
            times = sorted(each.seconds for each in found)
            own = statistics.median(each.own_memory for each in found) / MIB
            print(
                f"{gib:2} GiB, {name:36} {times[0]:12.3f} {statistics.median(times):12.3f} {times[-1]:12.3f} {own:8.1f}"
            )


def main() -> None:
    root = Path(tempfile.mkdtemp(prefix="rocketwire-bench-", dir=sys.argv[1] if len(sys.argv) > 1 else None))
    print(f"{'workload':44} {'min/s':>12} {'median/s':>12} {'max/s':>12} {'CPU us':>8}")
    try:
        for body, queues in ((100, 1), (100, 8), (1024, 8)):
            measure(root / f"{body}-{queues}", body, queues)
        whole = root / "whole"
        store = MessageStore.open(StoreSettings(root=whole), clock=clock, store_host=HOST)
        prepared = groups(32_000, 1024, 8)
        for _ in range(16):
            append_all(store, prepared)
        store.close()
        measure_whole(whole, clock)
        measure_opening(root)
    finally:
        shutil.rmtree(root)
    print(f"python {sys.version.split()[0]}, {os.cpu_count()} cores, {os.uname().release}")


if __name__ == "__main__":
    main()
