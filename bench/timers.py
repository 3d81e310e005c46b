"""The timer's benchmark: its loads, their bars, and the result of one run.

Theory: a load defines how many messages are due in which span. A message's lateness is the time from its due time to
the store timestamp of the delivered record, which both servers set when they append it; so no consumer uses the machine
meanwhile. Messages that never came count as late until the end of the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Final

from bench.statistics import number

_QUICK: Final = 6  # how much shorter a quick run is
_QUICK_AHEAD: Final = 10.0
# The rate is held when in the last half so much of it came, and messages were not later there than in the first one.
_HELD: Final = 0.99
_GROWTH_MS: Final = 100.0
_LAG_MS: Final = 1000.0  # a load that is sent later than so is another load


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerBar:
    """The bars; None: no bar. That all come once, and none early, is always required."""

    p99_ms: float | None = None
    drain_seconds: float | None = None
    held: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerLoad:
    """One load.

    `count` messages are due evenly over `span` seconds, the first `ahead` seconds (and up to one more, to the next full
    second) after the first one is sent. `paced`: each is sent at its turn, that time before it is due; else all as
    fast as it goes, before the first is due. `patience`: seconds after the last due time that are waited for the rest.
    """

    name: str
    text: str
    count: int
    span: float
    ahead: float
    paced: bool = False
    patience: float = 60.0
    bar: TimerBar = TimerBar()

    @property
    def rate(self) -> float | None:
        """Messages due a second, None when all are due at once."""
        return self.count / self.span if self.span > 0 else None


TIMERS: Final[Sequence[TimerLoad]] = (
    TimerLoad(
        name="timer-slot",
        text="100,000 messages due at the same moment",
        count=100_000,
        span=0.0,
        ahead=15.0,
        bar=TimerBar(drain_seconds=4.0),
    ),
    TimerLoad(
        name="timer-steady",
        text="30,000 messages/s due while 30,000 a second are sent",
        count=900_000,
        span=30.0,
        ahead=5.0,
        paced=True,
        bar=TimerBar(held=True),
    ),
    TimerLoad(
        name="timer-minute",
        text="1,000,000 messages sent ahead, due within one minute",
        count=1_000_000,
        span=60.0,
        ahead=45.0,
        patience=120.0,
        bar=TimerBar(p99_ms=1000.0),
    ),
)
# What a server does first, so that Java's compilers have seen it. Paced: it need not be fast to do that in time.
WARM: Final = TimerLoad(name="timer-warm", text="", count=60_000, span=6.0, ahead=2.0, paced=True)


def shortened(load: TimerLoad) -> TimerLoad:
    """The load for a quick run: of the same rate, but shorter; one without a span is short as it is."""
    if not load.span:
        return load
    text = f"{load.text} (1/{_QUICK} of it)"
    ahead = min(load.ahead, _QUICK_AHEAD)
    return replace(load, text=text, count=load.count // _QUICK, span=load.span / _QUICK, ahead=ahead)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerSample:
    """One run. Lateness is in ms.

    `drain_seconds`: from the last due time until all could be seen (or the run ended); `half_rate`: messages stored a
    second in the last half of the span; `growth_ms`: how much larger the middle lateness of those due there is than
    that of the first half; `send_lag_ms`: how far a paced send's answer came behind its turn, at most.
    `server_cpu_seconds` is from the first send to the last delivery.
    """

    messages: int
    delivered: int
    duplicates: int
    early: int
    early_max_ms: float
    p50_ms: float
    p99_ms: float
    max_ms: float
    drain_seconds: float
    send_seconds: float
    send_lag_ms: float
    half_rate: float
    growth_ms: float
    server_cpu_seconds: float
    client_cpu_seconds: float
    rss: int = 0
    private: int = 0

    @property
    def missing(self) -> int:
        """Messages that did not come."""
        return self.messages - self.delivered

    @property
    def send_rate(self) -> float:
        """Messages sent a second."""
        return self.messages / self.send_seconds if self.send_seconds > 0 else 0.0

    @property
    def cpu_us(self) -> float:
        """Server CPU microseconds a message delivered, its send counted too."""
        return self.server_cpu_seconds * 1e6 / self.delivered if self.delivered else 0.0

    @property
    def right(self) -> bool:
        """Whether each message came, once, and none before its time."""
        return not (self.missing or self.duplicates or self.early)

    def holds(self, load: TimerLoad) -> bool:
        """Whether the load's rate was sent, and held until its end."""
        rate = load.rate or 0.0
        kept = self.half_rate >= _HELD * rate and self.growth_ms <= _GROWTH_MS
        return kept and self.send_lag_ms <= _LAG_MS


_COUNTS: Final = ("messages", "delivered", "duplicates", "early")
_FIGURES: Final = tuple({one.name for one in fields(TimerSample)} - {*_COUNTS, "rss", "private"})


def read_timer_result(result: Mapping[str, object]) -> TimerSample:
    """The outcome that the load program printed."""
    figures = {name: number(result, name, 0.0) for name in _FIGURES}
    counts = {name: int(number(result, name, 0.0)) for name in _COUNTS}
    return TimerSample(**figures, **counts)  # type: ignore[arg-type]  # their names are those of the fields


def missed(load: TimerLoad, sample: TimerSample) -> list[str]:
    """The bars that the load did not reach, by the names of the table's columns."""
    bar = load.bar
    found = []
    if bar.p99_ms is not None and sample.p99_ms > bar.p99_ms:
        found.append("p99")
    if bar.drain_seconds is not None and sample.drain_seconds > bar.drain_seconds:
        found.append("drain")
    if bar.held and not sample.holds(load):
        found.append("rate")
    if not sample.right:
        found.append("once, not early")
    return found
