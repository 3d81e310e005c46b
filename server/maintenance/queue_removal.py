"""Removal of whole queues by administrators: one at a time, so that other requests are served in between.

The answer is sent when all are removed, as by Apache's broker, even if one could not be removed: only the log has that.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Callable, Container, Generator, Iterable, Iterator, Mapping
from typing import Final

import trio

from rocketwire.server.core.background import BackgroundBudget
from rocketwire.store.queues.consume_queue import ConsumeQueue
from rocketwire.store.retention import Retention

log = logging.getLogger(__name__)

_MOST_NAMED: Final = 5  # topics in a line of the log

_Job = tuple[Iterator[ConsumeQueue | None], Callable[[], None]]


class QueueRemoval:
    """Removes queues of one store."""

    def __init__(self, retention: Retention, budget: BackgroundBudget) -> None:
        self._retention = retention
        self._budget = budget
        self._queue, self._jobs = trio.open_memory_channel[_Job](math.inf)

    def remove_expired(self, done: Callable[[], None]) -> None:
        """Remove the queues whose messages have all expired; `done` is called when that is over."""
        self._queue.send_nowait((self._retention.expired_queues(), done))

    def remove_unused(self, topics: Container[str], done: Callable[[], None]) -> None:
        """Remove the queues of topics that do not exist any more; `done` is called when that is over."""
        self._queue.send_nowait((self._retention.unused_queues(topics), done))

    async def run(self) -> None:
        """Remove queued ones; never returns."""
        async for queues, done in self._jobs:
            try:
                await self._budget.carry_out(removing(self._retention, queues))
            except OSError as error:
                log.error("queues to remove: %(reason)s", {"reason": error})  # noqa: TRY400 - the text suffices
            done()


def removing(retention: Retention, queues: Iterable[ConsumeQueue | None]) -> Generator[None, None, None]:
    """Remove queues, one in each step; None stands for one that stays. Only the log has the failures.

    At the end one line of the log has the number of the removed ones.
    """
    removed: Counter[str] = Counter()
    failed: dict[tuple[str, int], OSError] = {}
    try:
        for queue in queues:
            if queue is not None:
                try:
                    retention.remove_queue(queue)
                    removed[queue.key[0]] += 1
                except OSError as error:
                    failed[queue.key] = error
            yield
    finally:
        _log_removal(removed, failed)


def _log_removal(removed: Counter[str], failed: Mapping[tuple[str, int], OSError]) -> None:
    if removed:
        named = ", ".join(f"{topic} ({count})" for topic, count in removed.most_common(_MOST_NAMED))
        others = len(removed) - _MOST_NAMED
        log.info(
            "%(queues)d queues removed, of topic %(topics)s",
            {"queues": removed.total(), "topics": named + (f" and {others} more" if others > 0 else "")},
        )
    if failed:
        (topic, queue_id), error = next(iter(failed.items()))
        log.error(
            "%(queues)d queues are not removed; topic %(topic)s: queue %(queue)d: %(reason)s",
            {"queues": len(failed), "topic": topic, "queue": queue_id, "reason": error},
        )
