"""Counts by the names of topics."""

from __future__ import annotations

from rocketwire.server.timer.counts import TopicNames
from rocketwire.wire.java import string_hash


def test_counts_are_reported_by_name() -> None:
    topics: dict[str, None] = {"A": None, "B": None}
    names = TopicNames(topics)
    by_hash = {string_hash("A"): 2, string_hash("B"): 0, string_hash("C"): 5}
    assert names.counts(by_hash) == {"A": 2}
    topics["C"] = None
    assert names.counts(by_hash) == {"A": 2, "C": 5}
    topics.clear()  # a name stays known while messages wait
    assert names.counts(by_hash) == {"A": 2, "C": 5}
