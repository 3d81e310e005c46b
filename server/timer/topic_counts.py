"""How many messages of each topic wait: the timer's index knows topics by the hash of their names only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rocketwire.wire.java import string_hash


class TopicNames:
    """Names of topics by their hash, which is worked out once for each."""

    def __init__(self, topics: Mapping[str, object]) -> None:
        """Begin.

        Args:
            topics: Has the names of all topics there are, at any time.
        """
        self._topics = topics
        self._names: dict[int, str] = {}
        self._known: set[str] = set()

    def counts(self, by_hash: Mapping[int, int]) -> dict[str, int]:
        """Counts by name; those of topics that are not there any more are left out."""
        if any(count and name_hash not in self._names for name_hash, count in by_hash.items()):
            self._learn(self._topics)
        return {
            self._names[name_hash]: count
            for name_hash, count in by_hash.items()
            if count > 0 and name_hash in self._names
        }

    def _learn(self, topics: Iterable[str]) -> None:
        for topic in topics:
            if topic not in self._known:
                self._known.add(topic)
                self._names[string_hash(topic)] = topic
