from dataclasses import replace

from bench.drivers import Timing
from bench.processes import Memory
from bench.runner import Plan, Results, SideFacts
from bench.statistics import Failure, Sample
from bench.table import cost_table, render, side_table, workload_table
from bench.workloads import Workload

SEND = Workload(name="send", text="send", program="raw", mode="send")
RETRY = Workload(name="retry", text="retry", program="raw", mode="retry", against="send")
MANY = Workload(name="many", text="many", program="raw", mode="many", against="send", compared="cpu")
WAKE = Workload(name="wake", text="wake", program="raw", mode="wake", paced=True)


def results(*workloads: Workload, sides: tuple[str, ...] = ("apache", "rocketwire"), long_messages: int = 0) -> Results:
    timing = Timing(warmup=0, seconds=1, filled=1)
    plan = Plan(sides=sides, workloads=workloads, start_up=True, rounds=3, warm_seconds=1, timing=timing,
                long_messages=long_messages)  # fmt: skip
    return Results(plan=plan, facts={side: SideFacts() for side in sides})


def sample(rate: int, *, p50: float = 0) -> Sample:
    return Sample(messages=rate, seconds=1, server_cpu_seconds=0.5, p50_us=p50, p99_us=p50 * 10)


def cells(table: str) -> list[list[str]]:
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("|")
    ]


def test_cells_are_padded_and_numbers_stand_to_the_right() -> None:
    assert render(["name", "n"], [["a", "1,000"], ["bc", "-"]]).splitlines() == [
        "| name |     n |",
        "| ---- | ----: |",
        "| a    | 1,000 |",
        "| bc   |     - |",
    ]


def test_a_workload_is_one_row_with_the_ratio_of_the_medians() -> None:
    found = results(SEND)
    found.outcomes["send"] = {
        "apache": [sample(1000, p50=100), sample(3000, p50=300), sample(2000, p50=200)],
        "rocketwire": [replace(sample(5000, p50=50), rss=3 << 30, private=30 << 20)] * 3,
    }
    header, _, row = cells(workload_table(found))
    assert header == [
        "workload", "Apache msgs/s min / median / max", "rocketwire msgs/s min / median / max", "ratio",
        "Apache CPU µs/msg", "rocketwire CPU µs/msg", "Apache p50 / p99 µs", "rocketwire p50 / p99 µs",
        "Apache RSS / private MiB", "rocketwire RSS / private MiB",
    ]  # fmt: skip
    assert row == [
        "send", "1,000 / 2,000 / 3,000", "5,000 / 5,000 / 5,000", "2.50", "250.0", "100.0", "200 / 2,000", "50 / 500",
        "-", "3,072 / 30",
    ]  # fmt: skip


def test_one_side_alone_has_no_ratio() -> None:
    found = results(SEND, sides=("apache",))
    found.outcomes["send"] = {"apache": [sample(1000)]}
    assert cells(workload_table(found))[2] == ["send", "1,000 / 1,000 / 1,000", "-", "500.0", "-", "-"]


def test_a_paced_workload_shows_latency_only() -> None:
    found = results(WAKE)
    found.outcomes["wake"] = {"apache": [sample(200, p50=900)], "rocketwire": [sample(200, p50=90)]}
    assert cells(workload_table(found))[2] == ["wake", "-", "-", "-", "-", "-", "900 / 9,000", "90 / 900", "-", "-"]


def test_failures_stand_below_the_table() -> None:
    found = results(SEND)
    found.outcomes["send"] = {"apache": [Failure(reason="code 2")], "rocketwire": [sample(10)]}
    table = workload_table(found)
    assert cells(table)[2][:4] == ["send", "-", "10 / 10 / 10", "-"]
    assert table.splitlines()[-1] == "* send, Apache, a run failed: code 2"


def test_a_workload_that_never_ran_is_an_empty_row() -> None:
    assert cells(workload_table(results(SEND)))[2] == ["send", *["-"] * 9]


def test_a_cost_is_the_ratio_to_the_base_of_the_same_round() -> None:
    found = results(SEND, RETRY)
    found.outcomes["send"] = {
        "apache": [sample(1000), sample(2000), Failure(reason="code 2")],
        "rocketwire": [sample(4000), sample(1000), sample(2000)],
    }
    found.outcomes["retry"] = {
        "apache": [sample(500), sample(500), sample(7)],
        "rocketwire": [sample(2000), sample(1000), sample(1500)],
    }
    header, _, row = cells(cost_table(found, "rate"))
    assert header == [
        "rate / rate", "Apache min / median / max", "rocketwire min / median / max", "ours / Apache's",
        "costs at most the same",
    ]  # fmt: skip
    assert row == ["retry / send", "0.25 / 0.38 / 0.50", "0.50 / 0.75 / 1.00", "2.00", "yes"]


def test_a_higher_cost_than_apaches_is_reported() -> None:
    found = results(SEND, RETRY)
    found.outcomes["send"] = {"apache": [sample(1000)], "rocketwire": [sample(1000)]}
    found.outcomes["retry"] = {"apache": [sample(900)], "rocketwire": [sample(890)]}
    assert cells(cost_table(found, "rate"))[2][-2:] == ["0.99", "no"]


def test_cpu_time_is_compared_in_a_separate_table() -> None:
    found = results(SEND, RETRY, MANY)
    found.outcomes["send"] = {"apache": [sample(1000)] * 2, "rocketwire": [sample(1000)] * 2}
    found.outcomes["many"] = {"apache": [sample(500), Failure(reason="x")], "rocketwire": [sample(800), sample(1000)]}
    assert "many" not in cost_table(found, "rate")
    header, _, row = cells(cost_table(found, "cpu"))
    assert header[0] == "CPU a message / CPU a message"
    assert row == ["many / send", "2.00 / 2.00 / 2.00", "1.00 / 1.12 / 1.25", "0.56", "yes"]


def test_without_a_base_there_is_no_table_of_costs() -> None:
    assert cost_table(results(RETRY), "rate") == ""


def test_one_side_alone_has_costs_but_no_verdict() -> None:
    found = results(SEND, RETRY, sides=("rocketwire",))
    found.outcomes["send"] = {"rocketwire": [sample(1000)]}
    found.outcomes["retry"] = {"rocketwire": [sample(900)]}
    assert cells(cost_table(found, "rate"))[2] == ["retry / send", "0.90 / 0.90 / 0.90", "-", "-"]


def test_start_up_and_memory() -> None:
    found = results(SEND, long_messages=10_000_000)
    found.facts["apache"] = SideFacts(
        start_seconds=[3.0, 2.0, 4.0],
        idle=Memory(rss=300 << 20, private=200 << 20),
        name_server=Memory(rss=1 << 20, private=0),
    )
    found.facts["rocketwire"].after_long = Memory(rss=2 << 30, private=20 << 20)
    rows = {row[0]: row[1:] for row in cells(side_table(found))}
    assert rows["broker start to first accepted send, s, min / median / max"] == ["2.00 / 3.00 / 4.00", "-"]
    assert rows["RSS idle"] == ["300 MiB", "-"]
    assert rows["private memory idle"] == ["200 MiB", "-"]
    assert rows["RSS of the name server's process"] == ["1 MiB", "-"]
    assert rows["private memory after 10,000,000 messages more"] == ["-", "20 MiB"]
    assert "RSS after all workloads" not in rows


def test_memory_of_idle_connections() -> None:
    found = results()
    found.plan = replace(found.plan, idle_connections=10_000)
    found.facts["rocketwire"].connection = Memory(rss=20_480, private=10_240)
    assert cells(side_table(found))[2:] == [
        ["private memory of each of 10,000 idle connections", "-", "10.0 KiB"],
        ["RSS of each of 10,000 idle connections", "-", "20.0 KiB"],
    ]


def test_nothing_known_of_the_sides_is_no_table() -> None:
    assert side_table(results()) == ""
