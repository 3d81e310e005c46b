"""Removal of whole queues by administrators: one at a time, so that other requests are served in between.

The answer is sent when all are removed, as by Apache's broker, even if one could not be removed: only the log says so.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Container, Iterator

import trio

from rocketwire.store.queues.consume_queue import ConsumeQueue
from rocketwire.store.retention import Retention

log = logging.getLogger(__name__)

_Job = tuple[Iterator[ConsumeQueue], Callable[[], None]]


class QueueRemoval:
    """Removes queues of one store."""

    def __init__(self, retention: Retention) -> None:
        self._retention = retention
        self._asked, self._jobs = trio.open_memory_channel[_Job](math.inf)

    def remove_expired(self, done: Callable[[], None]) -> None:
        """Remove the queues of which no message is left; `done` is called when that is over."""
        self._asked.send_nowait((self._retention.expired_queues(), done))

    def remove_unused(self, topics: Container[str], done: Callable[[], None]) -> None:
        """Remove the queues of topics that do not exist any more; `done` is called when that is over."""
        self._asked.send_nowait((self._retention.unused_queues(topics), done))

    async def run(self) -> None:
        """Remove queued ones; never returns."""
        async for queues, done in self._jobs:
            try:
                for queue in queues:
                    remove_one(self._retention, queue)
                    await trio.lowlevel.checkpoint()
            except OSError as error:
                log.error("queues to remove: %(reason)s", {"reason": error})  # noqa: TRY400 - the text says it all
            done()


def remove_one(retention: Retention, queue: ConsumeQueue) -> None:
    """Remove a queue; if that fails only the log says so."""
    try:
        retention.remove_queue(queue)
    except OSError as error:
        topic, queue_id = queue.key
        log.error(  # noqa: TRY400 - the text says it all
            "topic %(topic)s: queue %(queue)d: %(reason)s", {"topic": topic, "queue": queue_id, "reason": error}
        )
