"""The waiting timer messages of a store directory."""

from __future__ import annotations

from rocketwire.server.core.clocks import clock
from rocketwire.store.offline.plan.plan import known_topics
from rocketwire.store.offline.read.directory import StoreDirectory
from rocketwire.store.offline.read.scan import ReportProblem
from rocketwire.store.offline.timer.timer import StoreTimer
from rocketwire.wire.java import string_hash
from rocketwire.wire.names import TIMER_TOPIC


class LocalTimer(StoreTimer):
    """A store's timer, with the names of its topics.

    Attributes:
        time: When its files were read, ms.
        unused: Whether no message has ever waited here.
    """

    def __init__(self, directory: StoreDirectory, report: ReportProblem) -> None:
        """Read it.

        Raises:
            StoreUnreadable: one of its files cannot be read.
        """
        self.time = clock.system_clock()
        super().__init__(directory, report)
        self.directory = directory
        self.unused = not directory.timer_log and not directory.queues_of(TIMER_TOPIC)
        self._topics = {string_hash(topic): topic for topic in known_topics(directory, report)}

    def topic(self, topic_hash: int) -> str | None:
        """The topic with a hash, if the store has one."""
        return self._topics.get(topic_hash)

    def broker(self, number: int) -> None:  # noqa: ARG002 - as of a running endpoint
        """None: a directory does not contain its broker's name."""
        return
