from __future__ import annotations

from rocketwire.server.messages.append_times import AppendTimes


def test_nothing_was_appended() -> None:
    times = AppendTimes()
    assert times.text().startswith("[<=0ms]:0 [0~10ms]:0 [10~50ms]:0 ")
    assert times.text().endswith("[5~10s]:0 [10s~]:0 ")
    assert (times.percentile(0.99), times.longest_ms) == (0.0, 0)


def test_the_classes_of_the_last_minute() -> None:
    times = AppendTimes()
    for took in (1.5, 9.9, 10, 700, 10_000):
        times.note(took)
    assert sum(times.counts()) == 0
    times.end_minute(100)
    assert times.counts() == [95, 2, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1]
    assert times.longest_ms == 10_000
    times.end_minute(130)
    assert times.counts() == [30] + 12 * [0]


def test_a_time_that_most_did_not_exceed() -> None:
    times = AppendTimes()
    for took in (3, 30, 60):
        times.note(took)
    times.end_minute(1000)
    assert [times.percentile(part) for part in (0.99, 0.998, 0.999, 1.0)] == [0.0, 10.0, 50.0, 60.0]
