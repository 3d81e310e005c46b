"""Processor time and memory of a process and of all that it started: the driver, its JVM, Python's workers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

_TICKS: Final = os.sysconf("SC_CLK_TCK")


class ActionCost(NamedTuple):
    """Seconds that something took: on the clock, and of processors."""

    wall: float
    cpu: float


class Peaks(NamedTuple):
    """The most memory that was resident, in bytes: in the JVM (of the driver and executor) and in a Python worker."""

    jvm: int
    worker: int


def family(pid: int) -> Iterator[int]:
    """A process and all below it that run now."""
    yield pid
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = task.read_text("ascii").split()
        except OSError:
            continue
        for child in children:
            yield from family(int(child))


def cpu_seconds(pid: int) -> float:
    """Processor time of a process and all below it, those that have ended and were waited for among them."""
    total = 0
    for one in family(pid):
        try:
            fields = Path(f"/proc/{one}/stat").read_text("ascii").rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(map(int, fields[11:15]))
    return total / _TICKS


def cost_of(action: Callable[[], object]) -> ActionCost:
    """What an action costs in this process and in those that it has."""
    start, before = time.perf_counter(), cpu_seconds(os.getpid())
    action()
    return ActionCost(time.perf_counter() - start, cpu_seconds(os.getpid()) - before)


def peaks() -> Peaks:
    """The peaks of memory of the processes below this one, each since its start."""
    jvm = worker = 0
    for one in family(os.getpid()):
        try:
            name = Path(f"/proc/{one}/comm").read_text("ascii").strip()
            lines = Path(f"/proc/{one}/status").read_text("ascii").splitlines()
        except OSError:
            continue
        most = next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:")), 0)
        if name == "java":
            jvm = max(jvm, most)
        elif one != os.getpid():
            worker = max(worker, most)
    return Peaks(jvm, worker)
