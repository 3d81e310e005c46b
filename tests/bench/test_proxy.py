from pathlib import Path

import pytest

from bench.drivers import LoadFailedError, Timing
from bench.processes import Memory
from bench.proxy import (
    BOTH,
    GRPC_SEND,
    PULL,
    SEND,
    SYNC,
    ProxyCost,
    compare_cpu,
    per_connection,
    proxy_table,
    take_turns,
)
from bench.report import proxy_section
from bench.sides import Side
from bench.statistics import Failure, Sample
from bench.workloads import Workload
from tests.bench.test_bars import rows

TIMING = Timing(warmup=0, seconds=1, filled=1)


class FakeSide:
    grpc_port, broker_port, pid, name_server, start_seconds = 0, 1, 1, "", 0.0

    def __init__(self, name: str) -> None:
        self.name = name

    def memory(self) -> Memory:
        return Memory(rss=0, private=0)

    def name_server_memory(self) -> None:
        return None

    def stop(self) -> None:
        pass


class FakeLoad:
    """Uses 2 µs a send, the first run of each side 1000."""

    def __init__(self, failure: str = "") -> None:
        self.runs: list[tuple[str, str]] = []
        self._failure = failure

    def stop(self) -> None:
        pass

    def run(self, side: Side, workload: Workload, timing: Timing) -> Sample | Failure:
        if self._failure:
            return Failure(reason=self._failure)
        first = all(name != side.name for name, _ in self.runs)
        self.runs.append((side.name, workload.mode))
        return Sample(messages=100, seconds=1, server_cpu_seconds=0.1 if first else 0.0002)


def say(_line: str) -> None:
    pass


def test_direct_and_through_the_proxy_take_turns() -> None:
    cost, load = ProxyCost(), FakeLoad()
    take_turns(cost, FakeSide("direct"), FakeSide("through"), rounds=2, load=load, timing=TIMING, report=say)
    assert load.runs == [(side, mode) for mode in ("sync", "send", "pull") for side in ("direct", "through")] * 2
    assert {name: len(runs) for name, runs in cost.through.items()} == {each.name: 2 for each in (SYNC, SEND, PULL)}


def test_the_run_that_warms_a_proxy_up_does_not_count() -> None:
    cost, load = ProxyCost(), FakeLoad()
    sides: dict[str, Side] = {"apache": FakeSide("a"), "rocketwire": FakeSide("b")}
    compare_cpu(cost, sides, GRPC_SEND, rounds=2, load=load, timing=TIMING, warm=1, report=say)
    assert cost.cpu == {GRPC_SEND.name: {"apache": [2.0, 2.0], "rocketwire": [2.0, 2.0]}}


def test_a_load_without_figures_ends_it() -> None:
    with pytest.raises(LoadFailedError, match="direct, send 100 B, one at a time: why"):
        take_turns(
            ProxyCost(), FakeSide("direct"), FakeSide("x"), rounds=1, load=FakeLoad("why"), timing=TIMING, report=say
        )


def test_memory_is_for_each_connection() -> None:
    assert per_connection(Memory(rss=1_024_000, private=0), Memory(rss=3_072_000, private=0)) == 2.0


def found() -> ProxyCost:
    def runs(rate: int, p50: float) -> list[Sample]:
        return [Sample(messages=rate, seconds=1, p50_us=p50 + more) for more in (0, 1, 2)]

    return ProxyCost(
        direct={SYNC.name: runs(10, 50), SEND.name: runs(400_000, 9), PULL.name: runs(2_000_000, 9)},
        through={SYNC.name: runs(10, 90), SEND.name: runs(200_000, 9), PULL.name: runs(1_000_000, 9)},
        cpu={
            BOTH.name: {"apache": [10, 10, 20], "rocketwire": [1, 2, 6]},
            GRPC_SEND.name: {"apache": [10, 10, 10], "rocketwire": [3, 3, 3]},
        },
        connection=[3.0, 4.0, 17.0],
    )


def test_figures_stand_beside_their_bars() -> None:
    latency, added, sends, pulls, memory, *cpu = rows(proxy_table(found()))
    assert latency[1:] == ["50.00 / 51.00 / 52.00", "90.00 / 91.00 / 92.00", "-", "-"]
    assert added[1:] == ["-", "40.00 / 40.00 / 40.00", "<= 60", "yes"]
    assert sends[2:] == ["200,000 / 200,000 / 200,000", ">= 300,000", "no"]
    assert pulls[3:] == [">= 1,000,000", "yes"]
    assert memory[2:] == ["3.00 / 4.00 / 17.00", "<= 16", "yes"]
    assert cpu[-2][3:] == ["0.10 / 0.20 / 0.30", "<= 0.25", "yes"]
    assert cpu[-1] == [
        "CPU of the proxy a send by gRPC, µs",
        "10.00 / 10.00 / 10.00",
        "3.00 / 3.00 / 3.00",
        "0.30 / 0.30 / 0.30",
        "<= 0.25",
        "no",
    ]


def test_the_section_describes_the_measurement(tmp_path: Path) -> None:
    text = proxy_section(found(), TIMING, 3, 0.5, root=tmp_path)
    assert "3 rounds of 1 s each" in text
    assert "minute before: 0.5" in text
