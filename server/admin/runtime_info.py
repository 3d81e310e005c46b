"""The broker's runtime information (28), with the keys and formats of Apache 4.9.7, and those that 5.5.0 adds.

There are no thread pools here: their queues are always empty, and have the capacity that Apache's have by default. The
same holds for the dispatch of messages to queues, which is part of the append.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from rocketwire.remoting.core.steps import Operation
from rocketwire.server.admin.timer_info import TimerInfo
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.long_tasks import in_thread
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.delay.delivery import DelayDelivery
from rocketwire.server.messages.page_cache import AppendTimes
from rocketwire.server.statistics.rates import Rates
from rocketwire.store.layout.record import store_timestamp
from rocketwire.store.protocol import StoreProtocol
from rocketwire.wire.facts.codes import VERSION_4_9_7, version_name

_POOLS: Final = {"send": 10_000, "pull": 100_000, "query": 20_000, "ack": 100_000, "litePull": 100_000}
_END_TRANSACTIONS: Final = 100_000
_UNITS: Final = "KMGTPE"
_FIXED: Final = {
    "EndTransactionQueueSize": "0",
    "EndTransactionThreadPoolQueueCapacity": str(_END_TRANSACTIONS),
    "brokerActive": "true",
    "brokerVersion": str(VERSION_4_9_7),
    "brokerVersionDesc": version_name(VERSION_4_9_7),
    "dispatchBehindBytes": "0",
    "dispatchMaxBuffer": "0",
    "getMessageEntireTimeMax": "0",
    "pageCacheLockTimeMills": "0",
    "remainTransientStoreBufferNumbs": str(2**31 - 1),
    "startAcceptSendRequestTimeStamp": "0",
    **{f"{pool}ThreadPoolQueueSize": "0" for pool in _POOLS},
    **{f"{pool}ThreadPoolQueueHeadWaitTimeMills": "0" for pool in _POOLS},
    **{f"{pool}ThreadPoolQueueCapacity": str(capacity) for pool, capacity in _POOLS.items()},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """The disks of a store: the used parts, from 0 to 1, and the bytes of the store's.

    Attributes:
        folder: The commit log's folder, as it is configured.
    """

    folder: str
    commit_log: float
    consume_queues: float
    total: int
    free: int

    def table(self) -> Mapping[str, str]:
        """Its fields as text."""
        return {
            "commitLogDirCapacity": f"Total : {readable(self.total)}, Free : {readable(self.free)}.",
            "commitLogDiskRatio": str(self.commit_log),
            f"commitLogDiskRatio_{self.folder}": str(self.commit_log),
            "consumeQueueDiskRatio": str(self.consume_queues),
        }


def readable(size: int) -> str:
    """Bytes as Apache prints them: 252.0 GiB."""
    if size < 1024:
        return f"{size} B"
    unit = int(math.log2(size) // 10)
    return f"{size / 1024**unit:.1f} {_UNITS[unit - 1]}iB"


class RuntimeInfo:
    """The runtime information of one broker.

    Args:
        store: The store.
        clock: The time in ms since 1970.
        metrics: The totals since the start.
        rates: The rates.
        append_times: How long appends took.
        delays: The delay levels.
        timer: The timer's fields.
        disk: Measures the disks. Blocking.
    """

    def __init__(
        self,
        *,
        store: StoreProtocol,
        clock: Clock,
        metrics: Metrics,
        rates: Rates,
        append_times: AppendTimes,
        delays: DelayDelivery,
        timer: TimerInfo,
        disk: Callable[[], Disk],
    ) -> None:
        self._store = store
        self._clock = clock
        self._metrics = metrics
        self._rates = rates
        self._append_times = append_times
        self._delays = delays
        self._timer = timer
        self._disk = disk
        self._started = clock()

    def table(self) -> Operation[dict[str, str]]:
        """Every field as text."""
        disk: Disk = yield from in_thread(self._disk)
        return {
            **_FIXED,
            **disk.table(),
            **self._log(),
            **self._stored(),
            **self._rates_and_totals(),
            **{f"scheduleMessageOffset_{level}": f"{at},{end}" for level, at, end in self._delays.progress()},
            **self._timer.table(),
        }

    def _log(self) -> Mapping[str, str]:
        store = self._store
        oldest = store.record_at(store.min_physical_offset) if store.max_physical_offset else None
        return {
            "commitLogMinOffset": str(store.min_physical_offset),
            "commitLogMaxOffset": str(store.max_physical_offset),
            "earliestMessageTimeStamp": str(-1 if oldest is None else store_timestamp(oldest)),
            "remainHowManyDataToFlush": readable(max(0, store.max_physical_offset - store.flushed_offset)),
        }

    def _stored(self) -> Mapping[str, str]:
        metrics, times = self._metrics, self._append_times
        return {
            "bootTimestamp": str(self._started),
            "putLatency99": f"{times.percentile(0.99):.2f}",
            "putLatency999": f"{times.percentile(0.999):.2f}",
            "putMessageAverageSize": str(metrics.bytes_in / max(1, metrics.messages_in)),
            "putMessageDistributeTime": times.text(),
            "putMessageEntireTimeMax": str(times.longest_ms),
            "putMessageFailedTimes": str(metrics.puts_failed),
            "putMessageSizeTotal": str(metrics.bytes_in),
            "putMessageTimesTotal": str(max(1, metrics.messages_in)),
            "runtime": _duration(self._clock() - self._started),
        }

    def _rates_and_totals(self) -> Mapping[str, str]:
        rates, now = self._rates, self._rates.totals()
        delivered = rates.text("delivered")
        return {
            "putTps": rates.text("stored"),
            "getFoundTps": rates.text("found"),
            "getMissTps": rates.text("missed"),
            "getTotalTps": rates.text("found", "missed", without="0.0"),
            "getTransferedTps": delivered,
            "getTransferredTps": delivered,
            "msgPutTotalTodayNow": str(now.stored),
            "msgPutTotalTodayMorning": str(rates.today.stored),
            "msgPutTotalYesterdayMorning": str(rates.yesterday.stored),
            "msgGetTotalTodayNow": str(now.delivered),
            "msgGetTotalTodayMorning": str(rates.today.delivered),
            "msgGetTotalYesterdayMorning": str(rates.yesterday.delivered),
        }


def _duration(milliseconds: int) -> str:
    seconds = max(0, milliseconds) // 1000
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"[ {days:,} days, {hours} hours, {minutes} minutes, {seconds} seconds ]"
