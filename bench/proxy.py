"""What `rocketwire proxy` adds in front of a broker, and its CPU time beside that of Apache's proxy.

Theory: direct and through the proxy take turns with the same load, so that a ratio or difference is of one round.
The CPU time is that of the proxy's process alone; both proxies stand in front of the same Apache 5.5.0 broker.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from bench.drivers import Driver, LoadFailedError, RawLoad, Timing
from bench.processes import Memory, Server
from bench.sides import HEAP, Apache, OneProcess, Rocketwire, Setup, Side, wait_for_port
from bench.statistics import Failure, Sample, spread
from bench.table import NOTHING, render, shown
from bench.tools import PROXY_VERSION
from bench.workloads import FILLED_TOPIC, Workload
from compat_tests.readme import ROOT

PROXY: Final = "proxy"
CONNECTIONS: Final = 1000
ADDED_US: Final = 60.0
CPU_PART: Final = 0.25
CONNECTION_RSS: Final = 16.0  # KiB
_SETTLE_SECONDS: Final = 2.0
_TOPIC: Final = "BenchProxy"


def _load(name: str, mode: str, *, topic: str = _TOPIC, connections: int, window: int) -> Workload:
    options = {"connections": connections, "window": window}
    return Workload(name=name, text=name, program="raw", mode=mode, options=options, topic=topic)


SYNC: Final = _load("send 100 B, one at a time", "sync", connections=1, window=1)
SEND: Final = _load("send 100 B, 8 x 32", "send", connections=8, window=32)
BOTH: Final = _load("send 100 B, 4 x 8", "send", connections=4, window=8)  # with more the broker refuses some
PULL: Final = _load("pull of 32 x 100 B, 4 x 2", "pull", topic=FILLED_TOPIC, connections=4, window=2)
GRPC_SEND: Final = replace(_load("SendMessage of 100 B, 4 x 8", "send", connections=4, window=8), program="grpc")
GRPC_RECEIVE: Final = replace(
    _load("ReceiveMessage of 32, one AckMessage, 4 x 2", "receive", topic=FILLED_TOPIC, connections=4, window=2),
    program="grpc",
    drain=True,
)
COMPARED: Final[Mapping[str, str]] = {
    BOTH.name: "CPU of the proxy a send, µs",
    GRPC_SEND.name: "CPU of the proxy a send by gRPC, µs",
    GRPC_RECEIVE.name: "CPU of the proxy a message received by gRPC, µs",
}
"""What the CPU time is compared for, and what the rows are called."""
RATES: Final[Mapping[str, int]] = {SEND.name: 300_000, PULL.name: 1_000_000}


class ApacheBehind(Apache):
    """Apache's name server and broker 5.5.0, with Apache's proxy in CLUSTER mode in front."""

    name = "Apache 5.5.0"
    version = PROXY_VERSION
    settings: Mapping[str, str] = {"brokerFastFailureEnable": "false"}  # a busy machine is no reason to refuse
    _logback_package = "org.apache.rocketmq.logging."
    _jars = "proxy"

    def proxy(self, setup: Setup, root: Path) -> Through:
        """Start Apache's proxy. Raises ServerFailedError."""
        port, grpc = setup.ports.name_server(), setup.ports.name_server()
        settings = {
            "rocketMQClusterName": "DefaultCluster",
            "proxyMode": "CLUSTER",
            "grpcServerPort": grpc,
            "remotingListenPort": port,
        }
        (root / "proxy.json").write_text(json.dumps(settings), "utf-8")
        arguments = ["-pm", "cluster", "-n", self.name_server, "-pc", "proxy.json"]
        return Through(self._jvm(root, "proxy", HEAP, "proxy.ProxyStartup", *arguments), port, grpc, self.name_server)


class Through(OneProcess):
    """A proxy in front of a broker as a side: its ports, the name server behind, the figures of its process."""

    name = "through the proxy"
    start_seconds = 0.0

    def __init__(self, server: Server, port: int, grpc_port: int, name_server: str) -> None:
        self._server, self.broker_port, self.grpc_port, self.name_server = server, port, grpc_port, name_server
        try:
            wait_for_port(port, server)
        except BaseException:
            server.stop()
            raise


def rocketwire_proxy(behind: Side, setup: Setup, root: Path) -> Through:
    """Start `rocketwire proxy`. Raises ServerFailedError."""
    port, listen, grpc = setup.ports.broker(), setup.ports.name_server(), setup.ports.name_server()
    command = [sys.executable, "-m", "rocketwire", "proxy", "--upstream", behind.name_server]
    command += ["--listen", f"127.0.0.1:{listen}", "--broker-ports", str(port), "--grpc", f"127.0.0.1:{grpc}"]
    return Through(Server(command, cwd=ROOT, log=root / "rocketwire-proxy.out"), port, grpc, behind.name_server)


@dataclass(slots=True, kw_only=True)
class ProxyCost:
    """direct[load] and through[load] by rounds, cpu[load][whose] in µs a message, KiB of RSS a connection."""

    direct: dict[str, list[Sample]] = field(default_factory=dict)
    through: dict[str, list[Sample]] = field(default_factory=dict)
    cpu: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    connection: list[float] = field(default_factory=list)


def sample(load: Driver, side: Side, workload: Workload, timing: Timing) -> Sample:
    """One run. Raises LoadFailedError when it gave no figures."""
    outcome = load.run(side, workload, timing)
    if isinstance(outcome, Failure):
        raise LoadFailedError(f"{side.name}, {workload.name}: {outcome.reason}")
    return outcome


def take_turns(
    cost: ProxyCost,
    direct: Side,
    through: Side,
    *,
    rounds: int,
    load: Driver,
    timing: Timing,
    report: Callable[[str], None],
) -> None:
    """Measure all loads direct and through the proxy. Raises LoadFailedError."""
    for _ in range(rounds):
        for workload in (SYNC, SEND, PULL):
            for side, into in ((direct, cost.direct), (through, cost.through)):
                found = sample(load, side, workload, timing)
                into.setdefault(workload.name, []).append(found)
                report(f"{workload.name}, {side.name}: {found.rate:,.0f}/s, p50 {found.p50_us:.0f} µs")


def compare_cpu(
    cost: ProxyCost,
    proxies: Mapping[str, Side],
    workload: Workload,
    *,
    rounds: int,
    load: Driver,
    timing: Timing,
    warm: float,
    report: Callable[[str], None],
) -> None:
    """CPU time a message, each proxy alternately, after `warm` seconds that do not count. Raises LoadFailedError."""
    found = cost.cpu.setdefault(workload.name, {})
    for turn in range(rounds + 1):
        for whose, side in proxies.items():
            used = sample(load, side, workload, timing if turn else replace(timing, seconds=warm)).cpu_us
            if turn and used is not None:
                found.setdefault(whose, []).append(used)
                report(f"{workload.name}, proxy of {whose}: {used:.2f} µs of CPU")


def per_connection(before: Memory, after: Memory) -> float:
    """KiB of RSS for each of CONNECTIONS."""
    return (after.rss - before.rss) / 1024 / CONNECTIONS


def measure(
    *,
    rounds: int,
    setup: Setup,
    load: RawLoad,
    grpc: Driver,
    timing: Timing,
    warm: float,
    root: Path,
    report: Callable[[str], None],
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
            compare_cpu(cost, proxies, workload, rounds=rounds, load=drives, timing=timing, warm=warm, report=report)
    shutil.rmtree(root / "apache", ignore_errors=True)
    for _ in range(rounds):
        with ExitStack() as stack:
            _ours(cost, stack, setup, load, timing, root / "ours", report)
        shutil.rmtree(root / "ours", ignore_errors=True)
    return cost


def _ours(
    cost: ProxyCost,
    stack: ExitStack,
    setup: Setup,
    load: RawLoad,
    timing: Timing,
    root: Path,
    report: Callable[[str], None],
) -> None:
    """One round before a fresh broker of ours: idle connections first, then the loads."""
    behind = Rocketwire(setup, root)
    stack.callback(behind.stop)
    through = rocketwire_proxy(behind, setup, root)
    stack.callback(through.stop)
    time.sleep(_SETTLE_SECONDS)
    before = through.memory()
    with load.held(through, CONNECTIONS):
        time.sleep(_SETTLE_SECONDS)
        cost.connection.append(per_connection(before, through.memory()))
    report(f"RSS of an idle connection: {cost.connection[-1]:.1f} KiB")
    load.create_topic(behind, SEND.topic)
    load.create_topic(behind, FILLED_TOPIC)
    load.fill(behind, FILLED_TOPIC, timing.filled)
    take_turns(cost, behind, through, rounds=1, load=load, timing=timing, report=report)


def proxy_table(cost: ProxyCost) -> str:
    """One row a figure: direct, through the proxy, the bar."""
    rows = []
    if SYNC.name in cost.through:
        direct, through = cost.direct[SYNC.name], cost.through[SYNC.name]
        added = [there.p50_us - here.p50_us for here, there in zip(direct, through, strict=True)]
        rows.append(_row("p50 of a send, one at a time, µs", [x.p50_us for x in direct], [x.p50_us for x in through]))
        rows.append(_row("added p50 of it, µs", (), added, most=ADDED_US))
    for name, least in RATES.items():
        if name in cost.through:
            rates = [[each.rate for each in side[name]] for side in (cost.direct, cost.through)]
            rows.append(_row(f"{name}, msgs/s", rates[0], rates[1], least=least))
    if cost.connection:
        rows.append(_row("RSS of an idle connection, KiB", (), cost.connection, most=CONNECTION_RSS))
    table = render(["rocketwire proxy, min / median / max", "direct", "through it", "bar", "reached"], rows)
    if not cost.cpu:
        return table
    rows = [_compared(COMPARED[name], of["rocketwire"], of["apache"]) for name, of in cost.cpu.items()]
    header = ["before Apache 5.5.0, min / median / max", "Apache's proxy, CLUSTER", "rocketwire proxy"]
    return f"{table}\n\n{render([*header, 'part', 'bar', 'reached'], rows)}"


def _compared(text: str, ours: list[float], theirs: list[float]) -> list[str]:
    parts = [one / other for one, other in zip(ours, theirs, strict=True)]
    found = spread(parts)
    reached = "yes" if found and found.middle <= CPU_PART else "no"
    return [text, _text(theirs), _text(ours), _text(parts), f"<= {CPU_PART}", reached]


def _row(
    text: str,
    direct: Iterable[float],
    through: Iterable[float],
    *,
    least: float | None = None,
    most: float | None = None,
) -> list[str]:
    through = list(through)
    found = spread(through)
    bar, met = NOTHING, NOTHING
    if found and least is not None:
        bar, met = f">= {least:,}", "yes" if found.middle >= least else "no"
    elif found and most is not None:
        bar, met = f"<= {most:,.0f}", "yes" if found.middle <= most else "no"
    return [text, _text(direct), _text(through), bar, met]


def _text(values: Iterable[float]) -> str:
    found = spread(values)
    return shown(found, "{:,.0f}" if found is not None and found.middle >= 1000 else "{:,.2f}")
