"""The runtime information of a broker's timer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from rocketwire.server.admin.timer_info import TimerInfo
from rocketwire.server.timer.counts import TimerCounts
from tests.server.harness import mock_clock

TIMER = {"timerReadBehind", "timerOffsetBehind", "timerCongestNum", "timerEnqueueTps", "timerDequeueTps"}


def fake_timer(**changes: Any) -> Any:
    values = {"lag_ms": 0, "enqueue_behind": 0, "pending": 0, "enqueued_count": 0, "counts": TimerCounts()}
    return SimpleNamespace(**{**values, **changes})


async def test_without_a_timer_there_are_no_fields() -> None:
    assert TimerInfo(None).table() == {
        "timerReadBehind": "0",
        "timerOffsetBehind": "0",
        "timerCongestNum": "0",
        "timerEnqueueTps": "0.0",
        "timerDequeueTps": "0.0",
        "timerDeliveredTotal": "0",
        "timerCancelledTotal": "0",
        "timerRolledTotal": "0",
        "timerStaleTotal": "0",
        "timerDroppedTotal": "0",
        "timerLatenessMs": "0",
    }


async def test_the_timer_has_its_fields() -> None:
    timer = fake_timer(lag_ms=2999, enqueue_behind=3, pending=5)
    table = TimerInfo(timer).table()
    assert [table[name] for name in ("timerReadBehind", "timerOffsetBehind", "timerCongestNum")] == ["2", "3", "5"]
    counts = timer.counts
    counts.delivered, counts.cancelled, counts.rolled, counts.stale, counts.dropped, counts.lateness = range(10, 16)
    table = TimerInfo(timer).table()
    counted = ("Delivered", "Cancelled", "Rolled", "Stale", "Dropped")
    assert [table[f"timer{name}Total"] for name in counted] == ["10", "11", "12", "13", "14"]
    assert table["timerLatenessMs"] == "15"


async def test_rates_are_those_since_the_previous_request() -> None:
    timer = fake_timer(enqueued_count=100)
    timer.counts.delivered = 7
    info = TimerInfo(timer)

    def rates(passed: float, enqueued: int, delivered: int) -> tuple[str, str]:
        mock_clock().jump(passed)
        timer.enqueued_count, timer.counts.delivered = enqueued, delivered
        table = info.table()
        assert table.keys() >= TIMER
        return table["timerEnqueueTps"], table["timerDequeueTps"]

    assert rates(0, 150, 7) == ("50.0", "0.0")
    assert rates(2, 300, 10) == ("100.0", "1.5")
    assert rates(2, 300, 16) == ("0.0", "3.0")
    assert rates(0.5, 310, 16) == ("10.0", "0.0")
    assert rates(0.5, 320, 16) == ("20.0", "0.0")
