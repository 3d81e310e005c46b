"""What the timer counts: messages since the start, and those that wait, by topic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rocketwire.wire.java import string_hash


class TimerCounts:
    """Messages since the start.

    Attributes:
        delivered: Copies that were stored.
        cancelled: Messages that a marker cancelled.
        rolled: Records that were stored again, for the next lap.
        stale: References that led to no record any more.
        dropped: Messages that can never be delivered.
        lateness: How late the last copies were stored, in ms.
    """

    __slots__ = ("cancelled", "delivered", "dropped", "lateness", "rolled", "stale")

    def __init__(self) -> None:
        self.delivered = 0
        self.cancelled = 0
        self.rolled = 0
        self.stale = 0
        self.dropped = 0
        self.lateness = 0


class TopicNames:
    """Names of topics by their hash, which is all that the timer's index knows of them; each is worked out once."""

    def __init__(self, topics: Mapping[str, object]) -> None:
        """Begin.

        Args:
            topics: Has the names of all topics there are, at any time.
        """
        self._topics = topics
        self._names: dict[int, str] = {}
        self._entered: set[str] = set()

    def counts(self, by_hash: Mapping[int, int]) -> dict[str, int]:
        """Counts by name; those of topics that do not exist any more are omitted."""
        if any(count and name_hash not in self._names for name_hash, count in by_hash.items()):
            self._learn(self._topics)
        return {
            self._names[name_hash]: count
            for name_hash, count in by_hash.items()
            if count > 0 and name_hash in self._names
        }

    def _learn(self, topics: Iterable[str]) -> None:
        for topic in topics:
            if topic not in self._entered:
                self._entered.add(topic)
                self._names[string_hash(topic)] = topic
