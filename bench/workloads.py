"""What is measured: the list of workloads, in the order of the table.

Theory: a workload is an order to one of the two load programs, with nothing about a side in it but where it
listens. Raw workloads carry the options of bench/load, Java workloads those of bench/java. What a kind of message
costs is told as a ratio to plain sends; since a machine's speed drifts, those are measured in turns with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

QUEUES: Final = 8
FILLED_TOPIC: Final = "BenchFilled"
NUMBERED_TOPIC: Final = "BenchNumbered"
FILLINGS: Final[Mapping[str, Sequence[str]]] = {FILLED_TOPIC: (), NUMBERED_TOPIC: ("--numbered",)}
"""The topics that are filled before they are measured, and the options of bench/load to fill them with."""
SQL: Final = "a > 5 AND b = 'x'"  # what two of ten messages of NUMBERED_TOPIC are
_TWO_HOURS: Final = 18  # the longest delay level: nothing is delivered while it is measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """One row of the table.

    `paced`: the producer waits on purpose, so only latency means something. `drain`: empties FILLED_TOPIC
    and ends when it is empty, not after a time. `against`: the workload that this one's rate is compared with,
    and that it takes turns with.
    """

    name: str
    text: str
    program: Literal["raw", "java"]
    mode: str
    options: Mapping[str, int | str] = field(default_factory=dict)
    topic: str = ""
    paced: bool = False
    drain: bool = False
    against: str = ""


def _raw(
    name: str, text: str, mode: str, *, topic: str = "BenchRaw", paced: bool = False, **options: int | str
) -> Workload:
    return Workload(name=name, text=text, program="raw", mode=mode, options=options, topic=topic, paced=paced)


def _semantic(name: str, text: str, mode: str, *, topic: str = "BenchRaw", **options: int | str) -> Workload:
    """Messages that the broker does more with than to store them, sent as the plain ones of send-8x32."""
    options = {"connections": 8, "window": 32, **options}
    return Workload(name=name, text=text, program="raw", mode=mode, options=options, topic=topic, against="send-8x32")


def _java(name: str, text: str, mode: str, *, drain: bool = False, **options: int | str) -> Workload:
    topic = FILLED_TOPIC if drain else "BenchJava"
    return Workload(name=name, text=text, program="java", mode=mode, options=options, topic=topic, drain=drain)


WORKLOADS: Final[Sequence[Workload]] = (
    _raw("send-1x64", "send 100 B, 1 connection x 64 in flight", "send", connections=1, window=64),
    _raw("send-8x32", "send 100 B, 8 x 32", "send", connections=8, window=32),
    _raw("send-1k", "send 1 KiB, 8 x 32", "send", connections=8, window=32, size=1024),
    _raw("send-keys", "send 100 B with tags and keys, 8 x 32", "send", connections=8, window=32, keys=1),
    _raw("batch", "batches of 32 x 100 B, 4 x 4", "batch", connections=4, window=4),
    _raw("pull", "pull of 32 x 100 B, 4 x 2", "pull", topic=FILLED_TOPIC, connections=4, window=2),
    _raw("pull-1", "pull of 32 x 100 B, 1 x 1", "pull", topic=FILLED_TOPIC, connections=1, window=1),
    _raw(
        "pull-sql",
        f"pull of 32 with {SQL}, gone through, 4 x 2",
        "pull",
        topic=NUMBERED_TOPIC,
        group="bench_sql",
        connections=4,
        window=2,
        sql=SQL,
    ),
    _semantic("delayed", "send 100 B with a delay, 8 x 32", "send", delay=_TWO_HOURS),
    _semantic("delivery", "send 100 B with a delay of 1 s, until delivered, 8 x 32", "delivery", topic="BenchDelay"),
    _semantic("transaction", "transactions of 100 B: send and commit, 8 x 32", "transaction", group="bench_producer"),
    _semantic("retry", "send back 100 B for a retry, 8 x 32", "retry", group="bench_retry", delay=_TWO_HOURS),
    _raw("sync", "send 100 B, one at a time", "sync"),
    _raw("wake", "held pull woken by a send", "wake", topic="BenchWake", paced=True),
    _java("java-sync-1", "Java client: sync, 1 thread", "sync", threads=1),
    _java("java-sync-16", "Java client: sync, 16 threads", "sync", threads=16),
    _java("java-sync-64", "Java client: sync, 64 threads", "sync", threads=64),
    _java("java-async", "Java client: async, 1024 in flight", "async", inflight=1024),
    _java("java-batch-1", "Java client: batches of 32, 1 thread", "batch", threads=1),
    _java("java-batch-4", "Java client: batches of 32, 4 threads", "batch", threads=4),
    _java("java-push", "Java client: push consumer drains", "push", drain=True),
    _java("java-lite", "Java client: lite pull consumer drains", "lite", drain=True),
)

START: Final = "start"  # start-up and memory: not a load, so not in the list


def chosen(only: str | None) -> tuple[list[Workload], bool]:
    """The workloads that `only` names, and whether start-up is to be measured; None means all.

    A word (they stand between commas) names the workload so called, else all that begin with it. What one is
    compared with is measured with it.
    Raises ValueError for a word that fits nothing.
    """
    if only is None:
        return list(WORKLOADS), True
    names = [START, *(workload.name for workload in WORKLOADS)]
    wanted: set[str] = set()
    for word in filter(None, only.split(",")):
        fitting = [name for name in names if name == word] or [name for name in names if name.startswith(word)]
        if not fitting:
            raise ValueError(f"no workload begins with {word!r}; there are {', '.join(names)}")
        wanted.update(fitting)
    wanted |= {workload.against for workload in WORKLOADS if workload.name in wanted and workload.against}
    return [workload for workload in WORKLOADS if workload.name in wanted], START in wanted


def groups(workloads: Sequence[Workload]) -> list[list[Workload]]:
    """Workloads that take turns with each other: one, and those that are compared with it."""
    together: dict[str, list[Workload]] = {}
    for workload in workloads:
        together.setdefault(workload.against or workload.name, []).append(workload)
    return list(together.values())
