"""The timer's part of the broker's runtime information (28).

The fields have 5.5.0's names; additional ones (counts since the start) end in Total, and timerLatenessMs is how late
the last messages were delivered.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import trio

from rocketwire.server.timer.counts import TimerCounts
from rocketwire.server.timer.timer import Timer

_MS_PER_SECOND: Final = 1000


class _Sample(NamedTuple):
    time: float
    enqueued: int
    delivered: int


class TimerInfo:
    """The fields of one broker's timer, which is None if timer messages are refused."""

    def __init__(self, timer: Timer | None) -> None:
        self._timer = timer
        self._last = self._sample()

    def table(self) -> dict[str, str]:
        """Every field as text. The timer's rates are those since the last request, but at least a second."""
        behind = waiting = offset_behind = 0
        enqueue, dequeue = self._rates()
        if self._timer is not None:
            behind = self._timer.lag_ms // _MS_PER_SECOND
            offset_behind = self._timer.enqueue_behind
            waiting = self._timer.pending
        return {
            "timerReadBehind": str(behind),
            "timerOffsetBehind": str(offset_behind),
            "timerCongestNum": str(waiting),
            "timerEnqueueTps": f"{enqueue:.1f}",
            "timerDequeueTps": f"{dequeue:.1f}",
            **self._totals(),
        }

    def _totals(self) -> dict[str, str]:
        counts = TimerCounts() if self._timer is None else self._timer.counts
        return {
            "timerDeliveredTotal": str(counts.delivered),
            "timerCancelledTotal": str(counts.cancelled),
            "timerRolledTotal": str(counts.rolled),
            "timerStaleTotal": str(counts.stale),
            "timerDroppedTotal": str(counts.dropped),
            "timerLatenessMs": str(counts.lateness),
        }

    def _sample(self) -> _Sample:
        timer = self._timer
        if timer is None:
            return _Sample(trio.current_time(), 0, 0)
        return _Sample(trio.current_time(), timer.enqueued_count, timer.counts.delivered)

    def _rates(self) -> tuple[float, float]:
        now, last = self._sample(), self._last
        seconds = max(now.time - last.time, 1.0)
        if now.time - last.time >= 1.0:
            self._last = now
        return (now.enqueued - last.enqueued) / seconds, (now.delivered - last.delivered) / seconds
