"""The workloads of the front for clients of 5.x: the official Java client, and a raw load that hides less.

Theory: one process of the Java client takes most of a core, so that its rows show what an application gets; the raw
rows show what the server can do. Bars of the raw rows are rates of our own: Apache's front is far below them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from bench.workloads import FILLED_TOPIC, Bar, Workload

COST: Final = "grpc-cost"  # what the front adds to memory and start: not a load, so not in the list
MEMORY: Final = 8 << 20  # the most that it may add, bytes
START_SECONDS: Final = 0.06

_SDK: Final = Bar(rate=2.0, cpu=0.5)
_KERNEL: Final = os.environ.get("ROCKETWIRE_KERNEL") != "python"  # the bench builds it otherwise
_SENDS: Final = Bar(least=80_000 if _KERNEL else 8_000)
_TOPIC: Final = "BenchGrpc"


def _sdk(name: str, text: str, mode: str, *, drain: bool = False, **options: int) -> Workload:
    topic = FILLED_TOPIC if drain else _TOPIC
    return Workload(
        name=f"grpc-sdk-{name}",
        text=f"Java SDK: {text}",
        program="sdk",
        mode=mode,
        options=options,
        topic=topic,
        drain=drain,
        bar=_SDK,
    )


def _raw(
    name: str,
    text: str,
    mode: str,
    bar: Bar,
    *,
    topic: str = _TOPIC,
    drain: bool = False,
    paced: bool = False,
    **options: int,
) -> Workload:
    return Workload(
        name=f"grpc-{name}",
        text=text,
        program="grpc",
        mode=mode,
        options=options,
        topic=topic,
        drain=drain,
        paced=paced,
        bar=bar,
    )


GRPC: Final[Sequence[Workload]] = (
    _raw("send-1x64", "SendMessage of 100 B, 1 connection x 64 in flight", "send", _SENDS, connections=1, window=64),
    _raw("send-8x16", "SendMessage of 100 B, 8 x 16", "send", _SENDS, connections=8, window=16),
    _raw(
        "receive",
        "ReceiveMessage of 32, one AckMessage of them, 8 x 4",
        "receive",
        Bar(least=100_000),
        topic=FILLED_TOPIC,
        drain=True,
        connections=8,
        window=4,
    ),
    _raw("wake", "waiting receiver woken by a send", "wake", Bar(most_us=1000), topic="BenchGrpcWake", paced=True),
    _sdk("sync-1", "sync, 1 thread", "sync", threads=1),
    _sdk("sync-16", "sync, 16 threads", "sync", threads=16),
    _sdk("sync-64", "sync, 64 threads", "sync", threads=64),
    _sdk("async", "async, 256 in flight", "async", inflight=256),
    _sdk("receive", "receive 32 + ack, 8 threads", "receive", drain=True, threads=8),
    _sdk("push", "push consumer, 20 threads", "push", drain=True, threads=20),
)
WARM: Final = _raw("warm", "", "send", Bar(), topic="BenchWarm", connections=8, window=16)
