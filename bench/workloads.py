"""The workloads of the benchmark, in the order of the table.

Theory: a workload is an order to one of the two load programs; of the server it contains only the address. Raw
workloads carry the options of bench/load, Java workloads those of bench/java. The cost of a kind of message is a ratio
to plain sends, that of many connections a ratio to few; since a machine's speed drifts, the two of a ratio are measured
alternately. The bar of a workload is declared with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

QUEUES: Final = 8
FILLED_TOPIC: Final = "BenchFilled"
NUMBERED_TOPIC: Final = "BenchNumbered"
FILLINGS: Final[Mapping[str, Sequence[str]]] = {FILLED_TOPIC: (), NUMBERED_TOPIC: ("--numbered",)}
"""The topics that are filled before they are measured, and the options of bench/load to fill them with."""
SQL: Final = "a > 5 AND b = 'x'"  # what two of ten messages of NUMBERED_TOPIC are
_TWO_HOURS: Final = 18  # the longest delay level: nothing is delivered while it is measured
FEW: Final = 8
MANY: Final = 1000
IDLE_CONNECTIONS: Final = 10_000
# Absolute bars of our process: the most memory it may take.
START_SECONDS: Final = 0.6
IDLE_RSS: Final = 60_000_000
LONG_PRIVATE: Final = 300_000_000  # after the messages of --long
CONNECTION_PRIVATE: Final = 30_000  # of one of IDLE_CONNECTIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """The bars of a workload; None: no bar.

    Rate (at least), CPU time a message, p50 and p99 (at most) are ours as a part of Apache's in the same run;
    `base_cpu` is our CPU time a message as a part of our own with the workload that it is compared with (at most).
    `least` is our rate itself, `most_us` our p50 itself in microseconds.
    """

    rate: float | None = None
    cpu: float | None = None
    p50: float | None = None
    p99: float | None = None
    base_cpu: float | None = None
    least: float | None = None
    most_us: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """One row of the table.

    `paced`: the producer waits on purpose, so only latency means something. `drain`: empties FILLED_TOPIC
    and ends when it is empty, with a client of 5.x also when the time is over. `against`: the workload that this one is
    compared with, and that it takes turns with; `compared`: by what, the rate or the CPU time a message.
    """

    name: str
    text: str
    program: Literal["raw", "java", "grpc", "sdk"]
    mode: str
    options: Mapping[str, int | str] = field(default_factory=dict)
    topic: str = ""
    paced: bool = False
    drain: bool = False
    against: str = ""
    compared: Literal["rate", "cpu"] = "rate"
    bar: Bar = Bar()


def _raw(
    name: str,
    text: str,
    mode: str,
    *,
    topic: str = "BenchRaw",
    paced: bool = False,
    bar: Bar | None = None,
    **options: int | str,
) -> Workload:
    bar = bar or Bar()
    return Workload(name=name, text=text, program="raw", mode=mode, options=options, topic=topic, paced=paced, bar=bar)


def _semantic(name: str, text: str, mode: str, *, topic: str = "BenchRaw", **options: int | str) -> Workload:
    """Messages that the broker does more with than to store them, sent as the plain ones of send-8x32."""
    options = {"connections": 8, "window": 32, **options}
    return Workload(name=name, text=text, program="raw", mode=mode, options=options, topic=topic, against="send-8x32")


def _many(connections: int, topics: int, *, rate: int = 0) -> Workload:
    """Producers and as many consumers that hold pulls; MANY are compared with FEW. `rate` 0: as fast as it goes."""
    pace = f", {rate:,} msgs/s" if rate else ", one at a time each"
    end = "-paced" if rate else ""
    text = f"{connections:,} producers to {connections:,} waiting consumers{pace}"
    few = connections == FEW
    return Workload(
        name=f"many-{connections}{end}",
        text=text,
        program="raw",
        mode="many",
        options={"connections": connections, "topics": topics, "window": 1, "rate": rate},
        topic=f"BenchMany{connections}",
        against="" if few else f"many-{FEW}{end}",
        compared="cpu",
        bar=Bar() if few else Bar(base_cpu=1.5),
    )


def _java(name: str, text: str, mode: str, rate: float, *, drain: bool = False, **options: int | str) -> Workload:
    """A row of the official client; `rate` is our bar as a ratio to Apache's rate."""
    topic = FILLED_TOPIC if drain else "BenchJava"
    bar = Bar(rate=rate) if drain else Bar(rate=rate, p50=1.0, p99=1.0)
    return Workload(name=name, text=text, program="java", mode=mode, options=options, topic=topic, drain=drain, bar=bar)


_SENDS: Final = Bar(rate=5.0, cpu=0.15)
_PULLS: Final = Bar(rate=3.0, cpu=0.25)
WORKLOADS: Final[Sequence[Workload]] = (
    _raw("send-1x64", "send 100 B, 1 connection x 64 in flight", "send", bar=_SENDS, connections=1, window=64),
    _raw("send-8x32", "send 100 B, 8 x 32", "send", bar=_SENDS, connections=8, window=32),
    _raw("send-1k", "send 1 KiB, 8 x 32", "send", bar=Bar(rate=3.0, cpu=0.2), connections=8, window=32, size=1024),
    _raw("send-keys", "send 100 B with tags and keys, 8 x 32", "send", connections=8, window=32, keys=1),
    _raw("batch", "batches of 32 x 100 B, 4 x 4", "batch", bar=Bar(rate=3.5, cpu=0.25), connections=4, window=4),
    _raw("pull", "pull of 32 x 100 B, 4 x 2", "pull", topic=FILLED_TOPIC, bar=_PULLS, connections=4, window=2),
    _raw("pull-1", "pull of 32 x 100 B, 1 x 1", "pull", topic=FILLED_TOPIC, bar=_PULLS, connections=1, window=1),
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
    _raw("wake", "held pull woken by a send", "wake", topic="BenchWake", paced=True, bar=Bar(p50=1.0)),
    _many(FEW, FEW),
    _many(MANY, 100),
    _many(FEW, FEW, rate=2000),
    _many(MANY, 100, rate=2000),
    _java("java-sync-1", "Java client: sync, 1 thread", "sync", 1.3, threads=1),
    _java("java-sync-16", "Java client: sync, 16 threads", "sync", 1.5, threads=16),
    _java("java-sync-64", "Java client: sync, 64 threads", "sync", 1.5, threads=64),
    _java("java-async", "Java client: async, 1024 in flight", "async", 1.5, inflight=1024),
    _java("java-batch-1", "Java client: batches of 32, 1 thread", "batch", 2.0, threads=1),
    _java("java-batch-4", "Java client: batches of 32, 4 threads", "batch", 2.0, threads=4),
    _java("java-push", "Java client: push consumer drains", "push", 1.4, drain=True),
    _java("java-lite", "Java client: lite pull consumer drains", "lite", 1.4, drain=True),
)

# What is measured with SYNC_FLUSH too, with its bars there.
_FLUSHED: Final[Mapping[str, Bar]] = {
    "send-8x32": Bar(),
    "sync": Bar(),
    "java-sync-1": Bar(),
    "java-sync-16": Bar(),
    "java-sync-64": Bar(rate=1.0),
}

START: Final = "start"  # start-up and memory: not a load, so not in the list
IDLE: Final = "idle"  # memory of idle connections, neither


def flushed(workloads: Sequence[Workload]) -> list[Workload]:
    """Those of `workloads` that are measured with SYNC_FLUSH too, each with its bar there."""
    return [replace(one, bar=_FLUSHED[one.name]) for one in workloads if one.name in _FLUSHED]


def groups(workloads: Sequence[Workload]) -> list[list[Workload]]:
    """Workloads that take turns with each other: one, and those that are compared with it."""
    together: dict[str, list[Workload]] = {}
    for workload in workloads:
        together.setdefault(workload.against or workload.name, []).append(workload)
    return list(together.values())
