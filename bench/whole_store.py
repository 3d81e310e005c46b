"""The speed of reading a whole store, as recovery, rebuilding and verifying do, compared with the CRC of its bytes.

The files are in the page cache, and one thread reads them. Each round measures all rows in turn, so that other load of
the machine affects all of them.
"""

from __future__ import annotations

import mmap
import shutil
import statistics
import time
import zlib
from collections.abc import Callable
from pathlib import Path

from rocketwire.store.offline.read.directory import discover
from rocketwire.store.offline.verify.verify import VerifySummary, verify
from rocketwire.store.records.walk import WalkEnd, walk
from rocketwire.store.settings import StoreSettings
from rocketwire.store.store import MessageStore

MIB = 1 << 20
ROUNDS = 7
BLOCK = 1 << 20
CRC_OF_FILES = "CRC of the files, in blocks of 1 MiB"
CRC_OF_BODIES = "CRC of each body, places known"


class WholeStore:
    """A store of one commit log file, cleanly stopped; what can be done with all of it."""

    def __init__(self, root: Path, clock: Callable[[], int]) -> None:
        self.root = root
        self._clock = clock
        (self._path,) = (root / "commitlog").iterdir()
        self._bodies: list[tuple[int, int]] = []
        self.size = self._walk(check_crc=False, bodies=self._bodies)

    @property
    def records(self) -> int:
        """How many there are."""
        return len(self._bodies)

    def _mapped(self) -> mmap.mmap:
        with self._path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def _walk(self, *, check_crc: bool, bodies: list[tuple[int, int]] | None = None) -> int:
        log = self._mapped()
        position = 0
        while True:
            walked = walk(log, base=0, position=position, whole=True, check_crc=check_crc)
            if bodies is not None:
                starts = walked.records.body_position
                bodies += zip(starts.tolist(), (starts + walked.records.body_length).tolist(), strict=True)
            position = walked.position
            if walked.stop is not WalkEnd.FULL:
                return position

    def crc_of_files(self) -> None:
        view = memoryview(self._mapped())
        for at in range(0, self.size, BLOCK):
            zlib.crc32(view[at : min(at + BLOCK, self.size)])

    def crc_of_bodies(self) -> None:
        view = memoryview(self._mapped())
        for start, end in self._bodies:
            zlib.crc32(view[start:end])

    def walk(self) -> None:
        self._walk(check_crc=True)

    def walk_without_crc(self) -> None:
        self._walk(check_crc=False)

    def open(self, *, index: bool = False) -> MessageStore:
        settings = StoreSettings(root=self.root, message_index_enable=index)
        return MessageStore.open(settings, clock=self._clock, store_host=bytes(8))

    @property
    def index(self) -> Path:
        return self.root / "index"

    def lose_queues(self) -> None:
        shutil.rmtree(self.root / "consumequeue")

    def be_killed(self) -> None:
        (self.root / "abort").touch()
        (self.root / "checkpoint").unlink()


def timed(action: Callable[[], object]) -> tuple[float, float]:
    """Seconds, and those of CPU."""
    start, cpu = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - start, time.process_time() - cpu


def opening(store: WholeStore) -> tuple[float, float]:
    opened: list[MessageStore] = []
    took = timed(lambda: opened.append(store.open()))
    assert opened[0].recovered.records == store.records
    opened[0].close()
    return took


def indexing(store: WholeStore) -> tuple[float, float]:
    shutil.rmtree(store.index, ignore_errors=True)
    opened = store.open(index=True)

    def index_all() -> None:
        while opened.dispatch_index():
            pass

    took = timed(index_all)
    opened.close()
    return took


def verifying(store: WholeStore) -> tuple[float, float]:
    summaries: list[VerifySummary] = []
    directory = discover(str(store.root))
    took = timed(lambda: summaries.append(verify(directory, print)))
    (summary,) = summaries
    assert (summary.records, summary.queue_entries, summary.damages) == (store.records, store.records, 0)
    return took


def measure_whole(root: Path, clock: Callable[[], int]) -> None:
    """Print a row for each way to read the store at `root`: MiB a second, and how that compares with the CRC alone."""
    store = WholeStore(root, clock)
    rounds: dict[str, list[tuple[float, float]]] = {}

    def row(name: str, took: tuple[float, float]) -> None:
        rounds.setdefault(name, []).append(took)

    for _ in range(ROUNDS):
        row(CRC_OF_FILES, timed(store.crc_of_files))
        row(CRC_OF_BODIES, timed(store.crc_of_bodies))
        row("walk, every record checked", timed(store.walk))
        row("walk without CRC", timed(store.walk_without_crc))
        store.lose_queues()
        row("start, all queues made again", opening(store))
        store.be_killed()
        row("start after a kill, no checkpoint", opening(store))
        row("index made again", indexing(store))
        row("store verify: log, queues, index", verifying(store))
    print_rounds(rounds, store)


def print_rounds(rounds: dict[str, list[tuple[float, float]]], store: WholeStore) -> None:
    print(f"\n{store.size / MIB:,.0f} MiB, {store.records:,} records, in the page cache")
    print(f"{'':36} {'min MiB/s':>10} {'median':>8} {'max':>8} {'CPU us':>7} {'of files':>9} {'of bodies':>10}")
    rates = {name: sorted(store.size / MIB / seconds for seconds, _ in took) for name, took in rounds.items()}
    files, bodies = (statistics.median(rates[name]) for name in (CRC_OF_FILES, CRC_OF_BODIES))
    for name, took in rounds.items():
        middle = statistics.median(rates[name])
        cpu = statistics.median(each for _, each in took) / store.records * 1e6
        print(
            f"{name:36} {rates[name][0]:10,.0f} {middle:8,.0f} {rates[name][-1]:8,.0f} {cpu:7.2f}"
            f" {middle / files:9.2f} {middle / bodies:10.2f}"
        )
