"""The benchmark's command line: `python -m bench --help`."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Final

from bench import grpc_cost, tools
from bench.choice import NAMES, chosen
from bench.drivers import Driver, GrpcLoad, JavaClient, LoadFailedError, RawLoad, SdkClient, Timing
from bench.fronts import FRONTS
from bench.grpc import COST
from bench.grpc import WARM as GRPC_WARM
from bench.ports import Ports, PortsTakenError
from bench.processes import ServerFailedError, allow_open_files
from bench.proxy import PROXY
from bench.proxy import measure as measure_proxy
from bench.report import (
    GRPC,
    MAIN,
    PROXIES,
    TIMER,
    Markers,
    MarkersMissingError,
    check_page,
    grpc_section,
    proxy_section,
    section,
    timer_section,
    write_page,
)
from bench.runner import Plan, Runner
from bench.sides import SIDES, Setup
from bench.timer_runner import TimerPlan, TimerRunner
from bench.timers import shortened
from bench.workloads import IDLE, IDLE_CONNECTIONS, START, flushed
from rocketwire.compat.environment import artifacts, cache

LONG_MESSAGES: Final = 10_000_000
# From here on (diskMaxUsedSpaceRatio) Apache's broker deletes old files, at 90 % it refuses writes.
_DISK_FULL: Final = 0.75


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Drive rocketwire and the Apache 4.9.7 broker (5.5.0 for the timer and gRPC) with the same load.",
        epilog="workloads: " + ", ".join(NAMES),
    )
    parser.add_argument("--quick", action="store_true", help="short runs, for a first look")
    parser.add_argument("--only", metavar="NAME,...", help="only the workloads whose names begin so")
    parser.add_argument("--rounds", type=int, metavar="N", help="turns of each side (default 3, timer 1)")
    parser.add_argument("--seconds", type=float, metavar="S", help="measured seconds a turn (default 4, quick 1.5)")
    parser.add_argument(
        "--flush",
        choices=("async", "sync", "both"),
        default="async",
        help="flush mode of both sides; both: then some workloads once more with SYNC_FLUSH (default async)",
    )
    parser.add_argument("--side", choices=(*SIDES, "both"), default="both", help="one side alone")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the results between FILE's markers")
    parser.add_argument(
        "--long", action="store_true", help=f"then send {LONG_MESSAGES:,} messages and measure the memory"
    )
    parser.add_argument(
        "--long-messages", type=int, metavar="N", default=LONG_MESSAGES, help="another number for --long"
    )
    parser.add_argument(
        "--dir", type=Path, metavar="DIR", help="where stores and logs lie while it runs (default: .cache)"
    )
    parser.add_argument("--keep", action="store_true", help="keep that directory's stores and logs")
    return parser


def _plan(options: argparse.Namespace) -> Plan:
    """The plan of these options. Raises ValueError."""
    picked = chosen(options.only)
    seconds = options.seconds if options.seconds is not None else (1.5 if options.quick else 4.0)
    rounds = options.rounds if options.rounds is not None else 3
    if rounds < 1 or seconds <= 0 or options.long_messages < 1:
        raise ValueError("rounds, seconds and messages must be more than nothing")
    return Plan(
        sides=list(SIDES) if options.side == "both" else [options.side],
        workloads=picked.workloads,
        start_up=START in picked.facts,
        idle_connections=IDLE_CONNECTIONS if IDLE in picked.facts else 0,
        rounds=rounds,
        warm_seconds=6.0 if options.quick else 15.0,
        timing=Timing(
            warmup=0.3 if options.quick else 1.0,
            seconds=seconds,
            filled=200_000 if options.quick else 600_000,
        ),
        long_messages=options.long_messages if options.long else 0,
    )


def _timer_plan(options: argparse.Namespace) -> TimerPlan:
    """The timer's part of these options. Raises ValueError."""
    loads = chosen(options.only).timers
    return TimerPlan(
        sides=list(SIDES) if options.side == "both" else [options.side],
        loads=[shortened(load) for load in loads] if options.quick else loads,
        rounds=options.rounds or 1,
    )


def _grpc_plan(options: argparse.Namespace, plan: Plan) -> Plan:
    """The part of the front for 5.x of these options, else as the plan of the others."""
    workloads = chosen(options.only).grpc
    return replace(plan, workloads=workloads, warm=GRPC_WARM, start_up=False, idle_connections=0, long_messages=0)


def _parts(plan: Plan, flush: str) -> dict[str, Plan]:
    """The plan for each flush mode, without the timer; if both are measured, the second one is short."""
    if not (plan.workloads or plan.start_up or plan.idle_connections or plan.long_messages):
        return {}
    if flush != "both":
        return {flush: plan}
    second = replace(plan, workloads=flushed(plan.workloads), start_up=False, idle_connections=0, long_messages=0)
    return {"async": plan, **({"sync": second} if second.workloads else {})}


def _print(line: str) -> None:
    print(line, flush=True)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; the exit code is 0, 2 after one line on stderr, or 130 when interrupted."""
    options = _parser().parse_args(arguments)
    # SIGTERM unwinds like Ctrl-C, so that no server remains.
    allow_open_files()
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return _run(options)
    except (ValueError, OSError, MarkersMissingError, artifacts.ArtifactError) as error:
        print(f"bench: {error}", file=sys.stderr)
    except (ServerFailedError, LoadFailedError, PortsTakenError) as error:
        print(f"bench: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        return 130
    return 2


def _run(options: argparse.Namespace) -> int:
    plan, timers = _plan(options), _timer_plan(options)
    parts, grpc = _parts(plan, options.flush), _grpc_plan(options, plan)
    costs = COST in chosen(options.only).facts and "rocketwire" in plan.sides
    proxy = PROXY in chosen(options.only).facts and len(plan.sides) > 1
    if options.markdown:
        wanted = {MAIN: parts, TIMER: timers.loads, GRPC: grpc.workloads or costs, PROXIES: proxy}
        check_page(options.markdown, [markers for markers, some in wanted.items() if some])
    parent = options.dir or cache.CACHE
    parent.mkdir(parents=True, exist_ok=True)
    usage = shutil.disk_usage(parent)
    if usage.used / usage.total > _DISK_FULL:
        print(f"bench: {parent}: the disk is over {_DISK_FULL:.0%} full, Apache's broker may refuse writes")
    built = tools.build()
    root = Path(tempfile.mkdtemp(prefix="bench-run-", dir=parent))
    try:
        texts = _measured(options, root, parts, timers, built)
        if grpc.workloads or costs:
            texts.append((GRPC, _measured_grpc(options, root / "grpc", grpc, built, costs=costs)))
        if proxy:
            texts.append((PROXIES, _measured_proxy(options, root / "proxy", plan, built)))
    finally:
        if options.keep:
            print(f"stores and logs are in {root}")
        else:
            shutil.rmtree(root, ignore_errors=True)
    for _, text in texts:
        print(f"\n{text}")
    if options.markdown:
        write_page(options.markdown, texts)
    return 0


def _measured(
    options: argparse.Namespace, root: Path, parts: Mapping[str, Plan], timers: TimerPlan, built: tools.Tools
) -> list[tuple[Markers, str]]:
    """Run all plans; return the texts for the page's sections."""
    ports, runs, texts = Ports(), {}, []
    for flush, part in parts.items():
        setup = Setup(flush=flush, load=built.load, ports=ports)
        print(f"{flush.upper()}_FLUSH")
        raw = RawLoad(built.load)
        drivers: dict[str, Driver] = {"raw": raw, "java": JavaClient(built.client, root / flush / "client")}
        runner = Runner(plan=part, raw=raw, drivers=drivers, setup=setup, root=root / flush, report=_print)
        runs[flush] = runner.run()
        if not options.keep:
            shutil.rmtree(root / flush)
    if runs:
        texts.append((MAIN, section(runs, root=root)))
    if timers.loads:
        flush = "sync" if options.flush == "sync" else "async"
        setup = Setup(flush=flush, load=built.load, ports=ports)
        results = TimerRunner(plan=timers, tools=built, setup=setup, root=root / "timer", report=_print).run()
        texts.append((TIMER, timer_section(results, flush, root=root)))
    return texts


def _measured_grpc(options: argparse.Namespace, root: Path, plan: Plan, built: tools.Tools, *, costs: bool) -> str:
    """The text about the front for clients of 5.x."""
    flush = "sync" if options.flush == "sync" else "async"
    setup, also = Setup(flush=flush, load=built.load, ports=Ports()), tools.build_grpc()
    load = GrpcLoad(also.load)
    cost = None
    if costs:
        cost = grpc_cost.measure(rounds=plan.rounds, setup=setup, driver=load, root=root / "cost", report=_print)
    results = None
    if plan.workloads:
        drivers: dict[str, Driver] = {"grpc": load, "sdk": SdkClient(also.sdk, root / "client")}
        raw = RawLoad(built.load)
        runner = Runner(plan=plan, raw=raw, drivers=drivers, setup=setup, root=root, report=_print, sides=FRONTS)
        results = runner.run()
    return grpc_section(results, cost, flush, root=root)


def _measured_proxy(options: argparse.Namespace, root: Path, plan: Plan, built: tools.Tools) -> str:
    """The text about the proxy."""
    artifacts.fetch_jars([("proxy", tools.PROXY_VERSION)])
    before, flush = os.getloadavg()[0], "sync" if options.flush == "sync" else "async"
    setup, load = Setup(flush=flush, load=built.load, ports=Ports()), RawLoad(built.load)
    cost = measure_proxy(
        rounds=plan.rounds,
        setup=setup,
        load=load,
        grpc=GrpcLoad(tools.build_grpc_load()),
        timing=plan.timing,
        warm=plan.warm_seconds,
        root=root,
        report=_print,
    )
    return proxy_section(cost, plan.timing, plan.rounds, before, root=root)


if __name__ == "__main__":
    sys.exit(main())
