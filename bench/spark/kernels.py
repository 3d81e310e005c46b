"""What the kernels cost: MiB of commit log a CPU-second, beside reading the same files and beside copying them.

`python -m bench.spark.kernels`. A row is a way to read a whole file, as a Spark worker does: into one buffer of 2 MiB,
again and again. The turns go through all rows, so that what else the machine does meets all of them.
"""

from __future__ import annotations

import argparse
import mmap
import os
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.spark.made_store import MIB, Pattern
from rocketwire import native
from rocketwire.spark.columns import twin
from rocketwire.spark.columns.kernel import RECORD_COLUMNS, Kernel
from rocketwire.spark.schema import DEFAULT_COLUMNS

BUFFER = 2 * MIB
BODIES = (1024, 100)
CAT = "cat"
MEMCPY = "copy out of a mapping"
FIXED = ("queue_id", "queue_offset", "store_timestamp", "sys_flag", "store_size", "physical_offset")


class Chunk(NamedTuple):
    """Records that fit the buffer: where the first begins, their places from there, and their sizes."""

    offset: int
    positions: NDArray[np.int64]
    sizes: NDArray[np.int64]
    length: int


class MadeLog:
    """A commit log file that was made for this, and where its records are, as consume queues would tell."""

    def __init__(self, path: Path, body: int, size: int) -> None:
        self.path = path
        self.positions = _write(path, body, size)
        self.size = path.stat().st_size
        self.chunks = list(_chunks(self.positions, self.size))

    def rows(self) -> dict[str, Callable[[], None]]:
        """What is measured, by name."""
        rows: dict[str, Callable[[], None]] = {
            CAT: self._cat,
            "read into one buffer": self._filled,
            MEMCPY: self._copied,
            "copy into fresh memory": self._copied_whole,
        }
        kernels: dict[str, Kernel] = {"twin": twin}
        if native.kernel is not None and hasattr(native.kernel, "record_columns"):
            kernels["native"] = import_module("rocketwire.spark.columns.native_kernel")
        for name, kernel in kernels.items():
            rows[f"{name}: six columns"] = partial(self._read, kernel, DEFAULT_COLUMNS)
            rows[f"{name}: six columns, walked"] = partial(self._read, kernel, DEFAULT_COLUMNS, walked=True)
            rows[f"{name}: all {len(RECORD_COLUMNS)} columns"] = partial(self._read, kernel, RECORD_COLUMNS)
            rows[f"{name}: fixed columns"] = partial(self._read, kernel, FIXED)
            rows[f"{name}: walk"] = partial(self._read, kernel, (), walked=True)
            rows[f"{name}: CRC of bodies"] = partial(self._check_bodies, kernel)
        return rows

    def _buffers(self) -> Iterator[tuple[bytearray, Chunk]]:
        buffer = bytearray(BUFFER)
        view = memoryview(buffer)
        with self.path.open("rb", buffering=0) as file:
            for chunk in self.chunks:
                os.preadv(file.fileno(), [view[: chunk.length]], chunk.offset)
                yield buffer, chunk

    def _cat(self) -> None:
        subprocess.run(["cat", self.path], stdout=subprocess.DEVNULL, check=True)

    def _filled(self) -> None:
        for _ in self._buffers():
            pass

    def _copied_whole(self) -> None:
        with self.path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as log:
            bytes(log)

    def _copied(self) -> None:
        with self.path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as log:
            source = np.frombuffer(log, np.uint8)
            target = np.empty(BUFFER, np.uint8)
            for chunk in self.chunks:
                target[: chunk.length] = source[chunk.offset : chunk.offset + chunk.length]
            del source

    def _read(self, kernel: Kernel, names: Sequence[str], *, walked: bool = False) -> None:
        for buffer, chunk in self._buffers():
            if walked:
                positions, _ = kernel.whole_records(
                    buffer, base=chunk.offset, position=0, end=chunk.length, most=len(buffer)
                )
            else:
                positions = chunk.positions
                if not kernel.check(buffer, positions, chunk.sizes, base=chunk.offset).all():
                    raise AssertionError(chunk)
            if len(positions) != len(chunk.positions):
                raise AssertionError(chunk)
            if names:
                kernel.columns(buffer, positions, names)

    def _check_bodies(self, kernel: Kernel) -> None:
        for buffer, chunk in self._buffers():
            if not kernel.bodies_good(buffer, chunk.positions).all():
                raise AssertionError(chunk)


def _chunks(positions: NDArray[np.int64], size: int) -> Iterator[Chunk]:
    ends = np.append(positions[1:], size)
    first = 0
    while first < len(positions):
        offset = int(positions[first])
        last = int(np.searchsorted(ends, offset + BUFFER, side="right"))
        places = positions[first:last]
        yield Chunk(offset, places - offset, ends[first:last] - places, int(ends[last - 1]) - offset)
        first = last


def _write(path: Path, body: int, size: int) -> NDArray[np.int64]:
    """A file of records with bodies of so many bytes; where they begin."""
    pattern = Pattern(body)
    found = []
    with path.open("wb") as file:
        for turn in range(max(1, size // pattern.length)):
            file.write(pattern.at(turn * pattern.length, turn).data)
            found.append(pattern.begins + turn * pattern.length)
    return np.concatenate(found)


def measured(log: MadeLog, turns: int) -> dict[str, list[float]]:
    """MiB a CPU-second of each row, for each turn."""
    rates: dict[str, list[float]] = {name: [] for name in log.rows()}
    for turn in range(turns + 1):
        for name, read in log.rows().items():
            begun = _cpu_seconds()
            read()
            taken = _cpu_seconds() - begun
            if turn:  # the first fills the page cache
                rates[name].append(log.size / MIB / taken)
    return rates


def _cpu_seconds() -> float:
    """Processor time of this process and of those it has waited for."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def main() -> None:
    """Measure, and print a table for each size of body."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=256, help="size of each file")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--directory", help="where the files are made and removed (the system's temporary one)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        for body in BODIES:
            path = Path(directory) / f"{body}"
            log = MadeLog(path, body, options.mib * MIB)
            print(f"\nbodies of {body} B: {log.size / MIB:,.0f} MiB, {len(log.positions):,} records; MiB a CPU-second")
            for name, rates in measured(log, options.turns).items():
                print(f"{name:30} median {statistics.median(rates):7,.0f}  {min(rates):7,.0f} to {max(rates):7,.0f}")
            path.unlink()


if __name__ == "__main__":
    main()
