from collections.abc import Callable
from pathlib import Path

import pytest

from bench import grpc_cost
from bench.drivers import LoadFailedError, Timing
from bench.grpc_cost import Cost, cost_table, measure
from bench.ports import Ports
from bench.processes import Memory
from bench.sides import Setup, Side
from bench.statistics import Failure, Sample
from bench.workloads import Workload
from tests.bench.test_bars import rows

MIB = 1 << 20


class FakeSide:
    def __init__(self, grpc_port: int, stopped: list[int]) -> None:
        self.grpc_port, self.start_seconds, self._stopped = grpc_port, 0.5, stopped

    def memory(self) -> Memory:
        return Memory(rss=40 * MIB, private=20 * MIB)

    def stop(self) -> None:
        self._stopped.append(self.grpc_port)


class FakeDriver:
    def __init__(self, outcome: Sample | Failure) -> None:
        self._outcome = outcome

    def run(self, _side: Side, _workload: Workload, _timing: Timing) -> Sample | Failure:
        return self._outcome

    def stop(self) -> None:
        pass


def measured(monkeypatch: pytest.MonkeyPatch, root: Path, outcome: Sample | Failure, stopped: list[int]) -> Cost:
    def state(port: int) -> Callable[[Setup, Path], FakeSide]:
        return lambda _setup, _root: FakeSide(port, stopped)

    monkeypatch.setattr(grpc_cost, "_STATES", {"without": state(0), "with": state(8081)})
    monkeypatch.setattr(grpc_cost, "_SETTLE_SECONDS", 0)
    setup = Setup(flush="async", load=root, ports=Ports())
    return measure(rounds=2, setup=setup, driver=FakeDriver(outcome), root=root, report=lambda _line: None)


def test_servers_with_the_front_and_without_take_turns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stopped: list[int] = []
    cost = measured(monkeypatch, tmp_path, Sample(messages=1, seconds=1), stopped)
    assert stopped == [0, 8081, 0, 8081]
    assert (len(cost.start["with"]), len(cost.idle["without"]), len(cost.used)) == (2, 2, 2)


def test_a_front_that_takes_no_send_is_not_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stopped: list[int] = []
    with pytest.raises(LoadFailedError, match="first sends: why"):
        measured(monkeypatch, tmp_path, Failure(reason="why"), stopped)
    assert stopped == [0, 8081]


def test_what_is_more_stands_beside_the_bar() -> None:
    cost = Cost(
        start={"without": [0.4, 0.42, 0.5], "with": [0.47, 0.49, 0.6]},
        idle={
            "without": [Memory(rss=40 * MIB, private=20 * MIB)],
            "with": [Memory(rss=44 * MIB, private=29 * MIB)],
        },
        used=[Memory(rss=60 * MIB, private=30 * MIB)],
    )
    assert rows(cost_table(cost)) == [
        ["start to first accepted send, ms", "420.0", "490.0", "+70.0", "60", "no"],
        ["RSS idle, MiB", "40.0", "44.0", "+4.0", "8", "yes"],
        ["RSS after a second of sends by gRPC, MiB", "40.0", "60.0", "+20.0", "-", "-"],
        ["private memory idle, MiB", "20.0", "29.0", "+9.0", "8", "no"],
        ["private memory after a second of sends by gRPC, MiB", "20.0", "30.0", "+10.0", "-", "-"],
    ]
