"""Metrics of the store, and of messages that wait: timer, delayed and half messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from prometheus_client import Metric

from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.delay.delivery import DelayDelivery
from rocketwire.server.maintenance.retention import FileRetention
from rocketwire.server.monitoring.families import counters, gauge, gauges
from rocketwire.server.monitoring.sources import MonitoredServices
from rocketwire.server.pop.reviving.reviver import Reviver
from rocketwire.server.timer.timer import Timer
from rocketwire.server.transactions.half import HALF
from rocketwire.server.transactions.state import TransactionState
from rocketwire.store.store import MessageStore

_MS: Final = 1000


def store(services: MonitoredServices) -> Iterator[Metric]:
    """The log, the index, the tables."""
    of = services.store
    start, end = of.min_physical_offset, of.max_physical_offset
    yield gauge("commit_log_min_offset_bytes", "Where the oldest file of the commit log begins.", start)
    yield gauge("commit_log_max_offset_bytes", "Where the next message goes in the commit log.", end)
    yield gauge(
        "commit_log_unflushed_bytes", "End of the log that the disk does not have yet.", end - of.flushed_offset
    )
    yield gauge("index_behind_bytes", "End of the log that is not in the index yet.", of.index_behind)
    yield gauge("store_writable", "1: messages are taken; 0: all are refused.", of.append_refusal is None)
    yield gauge("topics", "Topics there are, system topics among them.", len(services.topics.table.configs))
    yield gauge("consume_queues", "Queues that have messages or had some.", len(of.queues))
    yield _disks(services.lifetime)


def _disks(lifetime: FileRetention) -> Metric:
    usage = lifetime.usage
    parts = {} if usage is None else usage._asdict()
    return gauges(
        "disk_used_ratio",
        "How full the disk of a part of the store is, 0 to 1, read every 10 s.",
        ("part",),
        (((part,), ratio) for part, ratio in parts.items()),
    )


def timer(of: Timer) -> Iterator[Metric]:
    """Timer messages."""
    counts = of.counts
    yield gauge("timer_waiting_messages", "Messages that wait for their time.", of.pending)
    yield gauge("timer_overdue_seconds", "How long the longest waiting message has been due.", of.lag_ms / _MS)
    yield gauge("timer_lateness_seconds", "How late the last messages were delivered.", counts.lateness / _MS)
    yield gauge("timer_not_taken_up_messages", "Messages that are not in the wheel yet.", of.enqueue_behind)
    yield counters(
        "timer_messages",
        "Outcomes of messages: delivered, cancelled, rolled (stored again), stale (the record is gone), dropped "
        "(can never be delivered).",
        ("outcome",),
        (((name,), getattr(counts, name)) for name in ("delivered", "cancelled", "rolled", "stale", "dropped")),
    )


def pop(of: Reviver) -> Iterator[Metric]:
    """Messages that were popped."""
    counts = of.counts
    yield gauge("pop_due_check_points", "Check points whose time is over soon, or that cannot be settled.", of.pending)
    yield gauge("pop_lateness_seconds", "How late the last messages were redelivered.", counts.lateness / _MS)
    yield counters(
        "pop_messages",
        "Outcomes of messages not acknowledged in time: revived (redelivered), lost (they are not in "
        "the log any more, or can never be stored).",
        ("outcome",),
        (((name,), getattr(counts, name)) for name in ("revived", "lost")),
    )


def delay(of: DelayDelivery) -> Iterator[Metric]:
    """Messages with a delay level."""
    yield gauges(
        "delay_waiting_messages",
        "Messages that wait on a delay level.",
        ("level",),
        (((str(level),), count) for level, count in enumerate(of.waiting(), start=1)),
    )
    yield counters(
        "delay_messages",
        "Outcomes of delayed messages: delivered, dropped (can never be delivered).",
        ("outcome",),
        [(("delivered",), of.delivered), (("dropped",), of.dropped)],
    )


def transactions(of: TransactionState, within: MessageStore, clock: Clock) -> Iterator[Metric]:
    """Half messages."""
    yield gauge("transactions_undecided_messages", "Half messages without an outcome.", of.undecided_count)
    oldest = of.next_undecided(of.first)
    stored = -1 if oldest is None else within.store_time(*HALF, oldest)
    age = 0.0 if stored < 0 else max(0, clock() - stored) / _MS
    yield gauge("transactions_oldest_undecided_seconds", "Age of the oldest of them since it was last put.", age)
