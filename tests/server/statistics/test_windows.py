from __future__ import annotations

from array import array

from rocketwire.server.statistics.windows import CODE, NOTHING, StatisticsColumn, Sums, Window


def numbers(*counters: tuple[int, int, int]) -> array[int]:
    return array(CODE, [number for counter in counters for number in counter])


def test_before_the_first_snapshot_there_are_no_rates() -> None:
    window = Window(10, 7)
    window.begin(0)
    assert window.sums(0, StatisticsColumn.MESSAGES) == NOTHING


def test_one_interval_before_the_first_snapshot_all_was_0() -> None:
    window = Window(10, 7)
    window.begin(0)
    window.take(numbers((20, 400, 5)), 3.0)
    assert window.sums(0, StatisticsColumn.MESSAGES) == Sums(20, 2.0, 4.0)
    assert window.sums(0, StatisticsColumn.BYTES) == Sums(400, 40.0, 80.0)
    assert window.sums(0, StatisticsColumn.CALLS) == Sums(5, 0.5, 1.0)


def test_a_window_covers_its_period() -> None:
    window = Window(10, 3)
    window.begin(0)
    for at, count in enumerate((1, 3, 10, 10, 10)):
        window.take(numbers((count, 0, 0)), 10.0 * at)
        expected = ((1, 10), (3, 20), (9, 20), (7, 20), (0, 20))[at]
        assert window.sums(0, StatisticsColumn.MESSAGES) == Sums(expected[0], expected[0] / expected[1], 0.0)


def test_a_counter_that_begins_later_counts_from_the_snapshot_before() -> None:
    window = Window(10, 7)
    window.begin(0)
    for at in (0.0, 10.0):
        window.take(numbers((1, 1, 1)), at)
    window.begin(1)
    assert window.sums(1, StatisticsColumn.MESSAGES) == NOTHING
    window.take(numbers((1, 1, 1), (50, 0, 0)), 20.0)
    assert window.sums(1, StatisticsColumn.MESSAGES) == Sums(50, 5.0, 0.0)
    window.take(numbers((1, 1, 1), (50, 0, 0)), 30.0)
    assert window.sums(1, StatisticsColumn.MESSAGES) == Sums(50, 2.5, 0.0)


def test_a_counter_that_replaces_another_begins_at_0() -> None:
    window = Window(10, 7)
    window.begin(0)
    for at in (0.0, 10.0):
        window.take(numbers((900, 900, 900)), at)
    window.begin(0)
    assert window.sums(0, StatisticsColumn.MESSAGES) == NOTHING
    window.take(numbers((3, 30, 1)), 20.0)
    assert window.sums(0, StatisticsColumn.BYTES) == Sums(30, 3.0, 30.0)


def test_counters_that_did_not_change_in_a_whole_window_are_idle() -> None:
    window = Window(10, 3)
    window.begin(0)
    window.begin(1)
    now = numbers((5, 0, 0), (5, 0, 0))
    for at in (0.0, 10.0, 20.0):
        assert window.idle(now, [0, 1]) == []
        window.take(now, at)
    now = numbers((5, 0, 0), (6, 0, 0))
    assert window.idle(now, [0, 1]) == [0]
    window.begin(0)
    assert window.idle(now, [0, 1]) == []
