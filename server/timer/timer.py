"""The timer of one broker: connects its stages and runs them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Final

import trio

from rocketwire.server.core.background import BackgroundBudget, as_steps
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.threads import RunSync
from rocketwire.server.messages.message_writer import MessageWriter
from rocketwire.server.timer.counts import TimerCounts, TopicNames
from rocketwire.server.timer.progress import TimerProgress
from rocketwire.server.timer.stages.dequeue import DequeueGet, DequeueMessage
from rocketwire.server.timer.stages.dequeue_put import DequeuePut
from rocketwire.server.timer.stages.enqueue import EnqueueGet, EnqueuePut
from rocketwire.server.timer.tasks import JobFaults, WakeSignal
from rocketwire.server.timer.topic import QUEUE, TimerEntries, TimerTopicReader
from rocketwire.server.timer.wheel.loaded import DueCopy, DueRun
from rocketwire.server.timer.wheel.markers import CancelMarkers
from rocketwire.server.timer.wheel.wheel import NearWheel
from rocketwire.store.disk.files import FileSystem
from rocketwire.store.errors import StoreError
from rocketwire.store.event import Event
from rocketwire.store.store import MessageStore
from rocketwire.store.timer.check import TimerCheckpoint
from rocketwire.store.timer.metrics_table import TimerMetricsTable
from rocketwire.store.timer.timer_index import TimerIndex

log = logging.getLogger(__name__)

#: Most groups in the channel between two stages.
_CHANNEL: Final = 2
#: Between the first two, which go through several groups at a time.
_ENTRIES_CHANNEL: Final = 16
#: Entries of the topic that the stop puts into the index in one step.
_REST: Final = 1024
#: If it is more than so many ms behind, it is catching up after a stop, or after the clock was set.
_BEHIND: Final = 60_000
_HOUR_MS: Final = 3_600_000
_SLOW_IMPORT: Final = "rocketwire.store.timer.recovery"


def warn_of_lost_messages(lap_ms: int, kept_hours: int) -> None:
    """Log a warning if messages wait for longer than the log is kept; see `Timer.lap_ms`."""
    if lap_ms > kept_hours * _HOUR_MS:
        log.warning(
            "timer: messages are lost while they wait, see fileReservedTime (%(reserved_hours)d h) "
            "and timerRollWindowSlot (%(roll_hours).1f h)",
            {"reserved_hours": kept_hours, "roll_hours": lap_ms / _HOUR_MS},
        )


class Timer:
    """Delivers the timer messages of one broker.

    Attributes:
        counts: Outcomes of messages since the start.
        table: The saved table of the number of waiting messages of each topic.
        ready: Whether the index is recovered, which takes a while after a start.
    """

    def __init__(
        self,
        *,
        store: MessageStore,
        files: FileSystem,
        storing: MessageWriter,
        clock: Clock,
        wake: Callable[[], None],
        run_sync: RunSync,
        topics: Mapping[str, object],
        moved: Event[[]],
        budget: BackgroundBudget,
    ) -> None:
        """Make the timer of a store to which nothing was appended since it was opened.

        Args:
            store: The store, open.
            files: The file system.
            storing: Stores messages that are due.
            clock: Gives the time in ms since 1970.
            wake: Called when messages were stored.
            run_sync: Runs functions that wait for the disk.
            topics: The existing topics, by name.
            moved: Called when the clock has jumped ahead.
            budget: Of the background work, which overdue messages are.

        Raises:
            StoreForeign: the timer's files have another size than the settings.
            OSError: they cannot be read.
        """
        self.counts = TimerCounts()
        self.ready = False
        self._index = TimerIndex.open(store.settings, store, files, now=clock())
        self._store = store
        self._files = files
        self._storing = storing
        self._clock = clock
        self._wake = wake
        self._run_sync = run_sync
        self._budget = budget
        self.table = TimerMetricsTable.open(store.settings.timer_metrics, files)
        self._names = TopicNames(topics)
        self._interval = store.settings.timer_flush_interval / 1000
        self._arrivals = WakeSignal()
        self._due = WakeSignal()
        moved.subscribe(self._due.wake)
        self._topic = TimerTopicReader(store)
        self._wheel: NearWheel | None = None
        self._end_at_start = self._topic.end

    # --- its state ---

    @property
    def pending(self) -> int:
        """How many messages wait, as far as they are in the index."""
        return self._index.pending if self.ready else 0

    def topic_counts(self) -> dict[str, int]:
        """How many messages of each topic wait, as far as they are in the index."""
        return self._names.counts(self._index.pending_by_hash) if self.ready else {}

    @property
    def enqueued_count(self) -> int:
        """How many records of the timer's topic were ever put into the index."""
        return self._index.queue_offset

    @property
    def stored_count(self) -> int:
        """How many records the timer's topic has ever got."""
        return self._topic.end

    def delivered_before(self, now: int) -> int:
        """All messages of the index that are due before this time in ms are delivered; `now` at most."""
        return 0 if self._wheel is None else self._wheel.delivered_before(now)

    def check(self) -> TimerCheckpoint:
        """The progress, as it will be saved in config/timercheck."""
        return self._index.check_now() if self.ready else TimerCheckpoint()

    def metrics(self) -> bytes:
        """The number of waiting messages of each topic, as it will be saved in config/timermetrics."""
        if self.ready:
            self._note_counts()
        return self.table.text()

    @property
    def enqueue_behind(self) -> int:
        """How many records of the timer's topic are not in the index yet."""
        return self._topic.end - self._index.queue_offset

    @property
    def lag_ms(self) -> int:
        """How long the oldest undelivered message has been due, in ms."""
        if self._wheel is None:
            return 0
        return self._wheel.lag(self._clock())

    @property
    def lap_ms(self) -> int:
        """How long a message waits at most, in ms, before it is delivered or stored again."""
        return self._index.window * self._index.precision

    @property
    def catching_up(self) -> bool:
        """Whether messages may be long overdue: the log has to keep their records, however old."""
        return not self.ready or self._index.queue_offset < self._end_at_start or self.lag_ms > _BEHIND

    def arrived(self, queues: Iterable[tuple[str, int]]) -> None:
        """Wake the first stage if messages were stored in the timer's queue."""
        if QUEUE in queues:
            self._arrivals.wake()

    # --- running ---

    async def run(self) -> None:
        """Recover the index, then deliver messages when they are due, without end."""
        await self._recover()
        index = self._index
        changed, due = WakeSignal(), self._due
        markers = CancelMarkers(self._topic, index.precision, index.queue_offset)
        self._wheel = wheel = NearWheel(index, self._topic, markers, self._clock, due)
        entries_in, entries_out = trio.open_memory_channel[TimerEntries](_ENTRIES_CHANNEL)
        runs_in, runs_out = trio.open_memory_channel[Sequence[DueRun]](_CHANNEL)
        copies_in, copies_out = trio.open_memory_channel[list[DueCopy]](_CHANNEL)
        budget = self._budget
        enqueue_put = EnqueuePut(wheel, changed.wake, lambda: self.enqueue_behind, budget)
        enqueue_get = EnqueueGet(
            self._topic, markers, self.counts, self._arrivals, index.queue_offset, enqueue_put.enter_now, budget
        )
        dequeue_get = DequeueGet(wheel, due, budget)
        dequeue_message = DequeueMessage(index, self._store, self._clock, budget)
        dequeue_put = DequeuePut(
            wheel,
            markers,
            storing=self._storing,
            counts=self.counts,
            wake=self._wake,
            changed=changed.wake,
            budget=budget,
        )
        progress = TimerProgress(
            index,
            self._store,
            changed,
            interval=self._interval,
            run_sync=self._run_sync,
            note=self._note_counts,
        )
        self.ready = True
        async with trio.open_nursery() as nursery:
            nursery.start_soon(enqueue_get.run, entries_in)
            nursery.start_soon(enqueue_put.run, entries_out)
            nursery.start_soon(dequeue_get.run, runs_in)
            nursery.start_soon(dequeue_message.run, runs_out, copies_in)
            nursery.start_soon(dequeue_put.run, copies_out)
            nursery.start_soon(progress.run)

    async def _recover(self) -> None:
        faults = JobFaults("timer files")
        done = False
        while not done:
            async with faults.log_and_pause():
                if self._index.needs_recovery:
                    await self._run_sync(import_module, _SLOW_IMPORT)
                await self._budget.carry_out(as_steps(self._index.recovery()))
                done = True
        self.counts.stale += self._index.stale
        if self._index.stale:
            log.error(
                "timer: %(messages)d messages that wait are not in the log any more", {"messages": self._index.stale}
            )

    def _note_counts(self) -> None:
        self.table.put(self.topic_counts(), self._clock())

    def close(self) -> None:
        """Put everything on the disk; nothing is delivered after this.

        Raises:
            StoreError: something could not be written; the next start recovers.
        """
        if self._wheel is not None:
            self._put_the_rest(self._wheel)
            self._store.flush_to(self._store.max_physical_offset)
            self._note_counts()
            self._index.close()

    def _put_the_rest(self, wheel: NearWheel) -> None:
        """Put all waiting messages into the index: else Apache's broker would deliver some that a marker cancels."""
        try:
            while (offset := self._index.queue_offset) < self._topic.end:
                wheel.enter(self._topic.read(offset, _REST))
        except (OSError, StoreError) as error:
            log.error(  # noqa: TRY400 - the text suffices
                "timer: %(messages)d messages are yet to be put into the timer's files: %(reason)s",
                {"messages": self.enqueue_behind, "reason": error},
            )
