from bench.bars import bar_table
from bench.drivers import Timing
from bench.processes import Memory
from bench.runner import Plan, Results, SideFacts
from bench.statistics import Failure, Sample
from bench.workloads import Bar, Workload

BARS = Bar(rate=5.0, cpu=0.15, p50=1.0, p99=1.0)


def results(*workloads: Workload, sides: tuple[str, ...] = ("apache", "rocketwire")) -> Results:
    timing = Timing(warmup=0, seconds=1, filled=1)
    plan = Plan(sides=sides, workloads=workloads, start_up=True, rounds=1, warm_seconds=1, timing=timing)
    return Results(plan=plan, facts={side: SideFacts() for side in sides})


def workload(name: str, bar: Bar, against: str = "") -> Workload:
    return Workload(name=name, text=name, program="raw", mode="send", bar=bar, against=against, compared="cpu")


def sample(rate: int, cpu_us: float, p99: float = 0) -> Sample:
    return Sample(messages=rate, seconds=1, server_cpu_seconds=rate * cpu_us / 1e6, p50_us=p99 / 2, p99_us=p99)


def rows(table: str) -> list[list[str]]:
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_result_stands_beside_the_bar() -> None:
    found = results(workload("send", BARS), workload("free", Bar()))
    found.outcomes["send"] = {"apache": [sample(100, 20, 300)], "rocketwire": [sample(520, 2.0, 300)]}
    assert rows(bar_table(found)) == [
        ["send", "5.20 >= 5.00", "0.10 <= 0.15", "1.00 <= 1.00", "1.00 <= 1.00", "-", "yes"]
    ]


def test_what_is_missed_is_named() -> None:
    found = results(workload("send", BARS))
    found.outcomes["send"] = {"apache": [sample(100, 20, 300)], "rocketwire": [sample(499, 3.2, 150)]}
    assert rows(bar_table(found))[0][-1] == "no: rate, CPU"


def test_a_missing_figure_fails_its_bar() -> None:
    found = results(workload("send", Bar(rate=1.0)))
    found.outcomes["send"] = {"apache": [Failure(reason="x")], "rocketwire": [sample(499, 3.2)]}
    assert rows(bar_table(found))[0][1] == "- >= 1.00"
    assert rows(bar_table(found))[0][-1] == "no: rate"


def test_many_connections_are_compared_with_our_own_few() -> None:
    found = results(workload("few", Bar()), workload("many", Bar(base_cpu=1.5), against="few"))
    found.outcomes["few"] = {"apache": [sample(100, 1)], "rocketwire": [sample(100, 10)]}
    found.outcomes["many"] = {"apache": [sample(100, 50)], "rocketwire": [sample(100, 16)]}
    assert rows(bar_table(found)) == [["many", "-", "-", "-", "-", "1.60 <= 1.50", "no: CPU to few"]]


def test_figures_of_our_own_stand_in_further_columns() -> None:
    found = results(workload("send", Bar(least=80_000.0)), workload("wake", Bar(most_us=1000.0)))
    found.outcomes["send"] = {"apache": [], "rocketwire": [sample(90_000, 1)]}
    found.outcomes["wake"] = {"apache": [], "rocketwire": [sample(100, 1, 2400)]}
    assert rows(bar_table(found)) == [
        ["send", *["-"] * 5, "90,000 >= 80,000", "-", "yes"],
        ["wake", *["-"] * 5, "-", "1,200 <= 1,000", "no: p50 µs"],
    ]


def test_the_process_has_separate_limits() -> None:
    found = results()
    assert bar_table(found) == ""
    found.facts["rocketwire"] = SideFacts(
        start_seconds=[0.5, 0.7, 0.4],
        idle=Memory(rss=60_000_001, private=0),
        connection=Memory(rss=40_000, private=30_000),
        after_long=Memory(rss=1, private=1 << 20),
    )
    assert rows(bar_table(found)) == [
        ["start to first accepted send, s", "0.50", "0.6", "yes"],
        ["RSS idle, bytes", "60,000,001", "60,000,000", "no"],
        ["private memory of an idle connection, bytes", "30,000", "30,000", "yes"],
        ["private memory after the long run, bytes", "1,048,576", "300,000,000", "yes"],
    ]


def test_one_side_alone_has_no_bars() -> None:
    assert bar_table(results(workload("send", BARS), sides=("rocketwire",))) == ""
