"""Bodies of the broker's statistics."""

from dataclasses import dataclass, field

from rocketwire.wire.bodies.progress import ConsumeStats
from rocketwire.wire.java import Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerStatsItem:
    """What was counted within a window: in all, a second, and for each request."""

    sum: Int64 = 0
    tps: float = 0.0
    avgpt: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerStatsData:
    """One item of the statistics (answer to 315)."""

    stats_minute: BrokerStatsItem = field(default_factory=BrokerStatsItem)
    stats_hour: BrokerStatsItem = field(default_factory=BrokerStatsItem)
    stats_day: BrokerStatsItem = field(default_factory=BrokerStatsItem)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumeStatsList:
    """The progress of all groups, each with an entry for every topic, and how far they are behind (answer to 317)."""

    consume_stats_list: tuple[dict[str, tuple[ConsumeStats, ...]], ...] = ()
    broker_addr: str | None = None
    total_diff: Int64 = 0
    total_inflight_diff: Int64 | None = None
    """Only 5.x has it."""
