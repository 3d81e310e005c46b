import pytest

from bench.statistics import Failure, Sample, Spread, read_result, spread, summarise


def sample(messages: int, *, cpu: float | None = None, p50: float = 0, p99: float = 0) -> Sample:
    return Sample(messages=messages, seconds=2, server_cpu_seconds=cpu, p50_us=p50, p99_us=p99)


def test_rate_and_cpu_are_a_message() -> None:
    one = sample(1000, cpu=0.01)
    assert one.rate == 500
    assert one.cpu_us == pytest.approx(10)


def test_nothing_measured_is_nothing() -> None:
    assert Sample(messages=0, seconds=0).rate == 0
    assert sample(0, cpu=1).cpu_us is None
    assert sample(5).cpu_us is None


def test_a_result_is_read() -> None:
    text: dict[str, object] = {"messages": 10, "seconds": 0.5, "p50_us": 1.5, "p99_us": 2, "max_us": 9, "errors": 0}
    assert read_result(text | {"server_cpu_seconds": 0.25}) == Sample(
        messages=10, seconds=0.5, p50_us=1.5, p99_us=2, max_us=9, server_cpu_seconds=0.25
    )
    unmeasured = read_result(text | {"server_cpu_seconds": -1.0})
    assert isinstance(unmeasured, Sample)
    assert unmeasured.server_cpu_seconds is None


def test_a_failed_result_keeps_its_reason() -> None:
    assert read_result({"errors": 1, "error": "code 2"}) == Failure(reason="code 2")
    assert read_result({"errors": 3}) == Failure(reason="the load program gave no reason")


def test_spread_of_odd_even_and_no_runs() -> None:
    assert spread([3, 1, 2]) == Spread(low=1, middle=2, high=3)
    assert spread([4, 1, 2, 3]) == Spread(low=1, middle=2.5, high=4)
    assert spread([]) is None


def test_a_summary_is_made_of_medians_and_keeps_failures_apart() -> None:
    runs: list[Sample | Failure] = [
        sample(200, cpu=1, p50=5, p99=50),
        Failure(reason="busy"),
        sample(100, cpu=2, p50=7, p99=10),
        sample(600),
    ]
    summary = summarise(runs)
    assert summary.rate == Spread(low=50, middle=100, high=300)
    assert summary.cpu_us == pytest.approx((5_000 + 20_000) / 2)
    assert (summary.p50_us, summary.p99_us) == (6, 30)
    assert summary.failures == ("busy",)


def test_a_summary_of_failures_has_no_figures() -> None:
    summary = summarise([Failure(reason="busy")])
    assert (summary.rate, summary.cpu_us, summary.p50_us, summary.p99_us) == (None, None, None, None)
