"""What a broker says of itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rocketwire.server.admin.runtime_info import RuntimeInfo
from rocketwire.server.timer.counts import Counts
from tests.server.harness import mock_clock
from tests.server.send_setup import HOST, Setup, body, fields

TIMER = {"timerReadBehind", "timerOffsetBehind", "timerCongestNum", "timerEnqueueTps", "timerDequeueTps"}


@pytest.fixture
def setup(tmp_path: Path) -> Iterator[Setup]:
    made = Setup(tmp_path)
    yield made
    made.store.close()


def fake_timer(**changes: Any) -> Any:
    values = {"lag_ms": 0, "enqueue_behind": 0, "pending": 0, "enqueued": 0, "counts": Counts()}
    return SimpleNamespace(**{**values, **changes})


async def test_without_a_timer(setup: Setup) -> None:
    info = RuntimeInfo(setup.store, None)
    (draft,) = setup.sending.drafts.message(fields(), body(), HOST, "peer").drafts
    (appended,) = setup.store.append([draft])
    assert info.table() == {
        "brokerVersion": "407",
        "brokerVersionDesc": "V4_9_7",
        "commitLogMinOffset": "0",
        "commitLogMaxOffset": str(appended.size),
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


async def test_the_timers_fields(setup: Setup) -> None:
    timer = fake_timer(lag_ms=2999, enqueue_behind=3, pending=5)
    table = RuntimeInfo(setup.store, timer).table()
    assert [table[name] for name in ("timerReadBehind", "timerOffsetBehind", "timerCongestNum")] == ["2", "3", "5"]
    counts = timer.counts
    counts.delivered, counts.cancelled, counts.rolled, counts.stale, counts.dropped, counts.lateness = range(10, 16)
    table = RuntimeInfo(setup.store, timer).table()
    told = ("Delivered", "Cancelled", "Rolled", "Stale", "Dropped")
    assert [table[f"timer{name}Total"] for name in told] == ["10", "11", "12", "13", "14"]
    assert table["timerLatenessMs"] == "15"


@pytest.mark.parametrize("jump", [-86_400_000, 86_400_000])
async def test_rates_are_those_since_somebody_asked_before(setup: Setup, jump: int) -> None:
    timer = fake_timer(enqueued=100)
    timer.counts.delivered = 7
    info = RuntimeInfo(setup.store, timer)

    def rates(passed: float, enqueued: int, delivered: int) -> tuple[str, str]:
        mock_clock().jump(passed)
        timer.enqueued, timer.counts.delivered = enqueued, delivered
        table = info.table()
        assert table.keys() >= TIMER
        return table["timerEnqueueTps"], table["timerDequeueTps"]

    assert rates(0, 150, 7) == ("50.0", "0.0")
    setup.clock.now += jump  # nothing to the wall clock
    assert rates(2, 300, 10) == ("100.0", "1.5")
    assert rates(2, 300, 16) == ("0.0", "3.0")
    assert rates(0.5, 310, 16) == ("10.0", "0.0")
    assert rates(0.5, 320, 16) == ("20.0", "0.0")
