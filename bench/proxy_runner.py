"""Starting what bench.proxy measures: a broker, and proxies in front of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from bench.drivers import GrpcLoad, RawLoad, Timing
from bench.proxy import (
    BOTH,
    CONNECTIONS,
    GRPC_RECEIVE,
    GRPC_SEND,
    SEND,
    ApacheBehind,
    ProxyCost,
    compare_cpu,
    per_connection,
    remove,
    rocketwire_proxy,
    settle,
    start_ours,
    take_turns,
)
from bench.sides import Setup
from bench.workloads import FILLED_TOPIC


def measure(
    *,
    rounds: int,
    setup: Setup,
    load: RawLoad,
    grpc: GrpcLoad,
    timing: Timing,
    warm: float,
    root: Path,
    say: Callable[[str], None],
) -> ProxyCost:
    """Measure with fresh servers in `root`. Raises ServerFailedError, LoadFailedError, ArtifactError."""
    cost = ProxyCost()
    with ExitStack() as stack:
        behind = ApacheBehind(setup, root / "apache")
        stack.callback(behind.stop)
        load.create_topic(behind, SEND.topic)
        load.create_topic(behind, FILLED_TOPIC)
        load.fill(behind, FILLED_TOPIC, timing.filled)
        theirs = behind.proxy(setup, root / "apache")
        stack.callback(theirs.stop)
        ours = rocketwire_proxy(behind, setup, root / "apache")
        stack.callback(ours.stop)
        proxies = {"apache": theirs, "rocketwire": ours}
        for workload in (BOTH, GRPC_SEND, GRPC_RECEIVE):
            drives = load if workload is BOTH else grpc
            compare_cpu(cost, proxies, workload, rounds=rounds, load=drives, timing=timing, warm=warm, say=say)
    remove(root / "apache")
    for _ in range(rounds):
        with ExitStack() as stack:
            _ours(cost, stack, setup, load, timing, root / "ours", say)
        remove(root / "ours")
    return cost


def _ours(
    cost: ProxyCost,
    stack: ExitStack,
    setup: Setup,
    load: RawLoad,
    timing: Timing,
    root: Path,
    say: Callable[[str], None],
) -> None:
    """One round before a fresh broker of ours: idle connections first, then the loads."""
    behind = start_ours(setup, root)
    stack.callback(behind.stop)
    through = rocketwire_proxy(behind, setup, root)
    stack.callback(through.stop)
    settle()
    before = through.memory()
    with load.held(through, CONNECTIONS):
        settle()
        cost.connection.append(per_connection(before, through.memory()))
    say(f"RSS of an idle connection: {cost.connection[-1]:.1f} KiB")
    load.create_topic(behind, SEND.topic)
    load.create_topic(behind, FILLED_TOPIC)
    load.fill(behind, FILLED_TOPIC, timing.filled)
    take_turns(cost, behind, through, rounds=1, load=load, timing=timing, say=say)
