"""Rates, lags and counts, from several samples."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from typing import Final

from rocketwire.cli.top.sample import ClusterSample, QueuePlace
from rocketwire.wire.names import (
    DEAD_LETTER_PREFIX,
    PREDEFINED_GROUPS,
    REPLY_TOPIC_SUFFIX,
    RETRY_PREFIX,
    is_system_group,
    is_system_topic_of_any_version,
    reply_topic,
)

WINDOW_SECONDS: Final = 10.0
"""Rates are means of so many seconds: consumers commit their offsets every 5 s."""
_KEPT: Final = 64


class RateMeter:
    """The rate at which a number grows."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque(maxlen=_KEPT)

    def observe(self, time: float, value: int) -> None:
        """The number at a time in seconds; after it has become less the rate begins again."""
        if self._seen and value < self._seen[-1][1]:
            self._seen.clear()
        self._seen.append((time, value))
        while len(self._seen) > 2 and time - self._seen[1][0] >= WINDOW_SECONDS:
            self._seen.popleft()

    @property
    def rate(self) -> float | None:
        """How much it grows a second; None before the second observation."""
        (start, first), (end, last) = (self._seen[0], self._seen[-1]) if self._seen else ((0.0, 0), (0.0, 0))
        return (last - first) / (end - start) if end > start else None


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRow:
    """A broker; rates are a second, as it reports them; None where it does not."""

    broker: str
    version: str | None
    put_tps: float | None
    get_tps: float | None
    put_today: int | None
    disk_ratio: float | None
    problem: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRow:
    """A topic: messages a second in, and out to all groups; None where that is not known yet."""

    topic: str
    rate_in: float | None
    rate_out: float | None
    messages: int | None
    queues: int
    groups: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """A consumer group: messages a second, how many it is behind, and its members; None where not known yet."""

    group: str
    rate: float | None
    lag: int
    members: int | None
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRow:
    """A queue of a topic (`group` None), or a group's progress in it."""

    place: QueuePlace
    group: str | None
    consumed: int | None
    end: int
    lag: int | None
    rate: float | None


class ClusterTraffic:
    """The result of the samples so far; `everything`: with RocketMQ's own topics and groups."""

    def __init__(self, *, everything: bool = False) -> None:
        self._everything = everything
        self._ends: dict[QueuePlace, RateMeter] = defaultdict(RateMeter)
        self._consumed: dict[tuple[str, QueuePlace], RateMeter] = defaultdict(RateMeter)
        self._queues: dict[QueuePlace, tuple[int | None, int]] = {}
        self._members: dict[str, int] = {}
        self._sample = ClusterSample(0.0)

    def add(self, sample: ClusterSample) -> None:
        """Take one more sample."""
        self._sample = sample
        for place, (first, end) in sample.queues.items():
            self._ends[place].observe(sample.time, end)
            self._queues[place] = (first, end)
        seen: dict[QueuePlace, int] = {}
        for group, offsets in sample.groups.items():
            for place, (consumed, end) in offsets.items():
                self._consumed[group, place].observe(sample.time, consumed)
                seen[place] = max(end, seen.get(place, 0))
        for place, end in seen.items():
            if place not in sample.queues:
                self._ends[place].observe(sample.time, end)
                self._queues[place] = (self._queues.get(place, (None, 0))[0], end)
        self._members |= sample.members

    @property
    def brokers(self) -> list[BrokerRow]:
        """All brokers, by name."""
        names = sorted({*self._sample.runtime, *self._sample.unreachable})
        return [_broker(name, self._sample.runtime.get(name, {}), self._sample.unreachable.get(name)) for name in names]

    @property
    def topics(self) -> list[TopicRow]:
        """The topics, by name."""
        places: dict[str, list[QueuePlace]] = defaultdict(list)
        for place in self._queues:
            places[place.topic].append(place)
        readers: dict[str, set[str]] = defaultdict(set)
        out: dict[str, list[float | None]] = defaultdict(list)
        for group, offsets in self._sample.groups.items():
            if self._is_shown_group(group):
                for place in offsets:
                    readers[place.topic].add(group)
                    out[place.topic].append(self._consumed[group, place].rate)
        return [
            TopicRow(
                topic=topic,
                rate_in=_sum([self._ends[place].rate for place in places[topic]]),
                rate_out=_sum(out[topic]) if topic in out else (0.0 if places[topic] else None),
                messages=self._messages(places[topic]),
                queues=len(places[topic]),
                groups=len(readers[topic]),
            )
            for topic in self._sample.topics
            if self._is_shown_topic(topic)
        ]

    @property
    def groups(self) -> list[GroupRow]:
        """The groups that have offsets, by name."""
        return [
            GroupRow(
                group=group,
                rate=_sum([self._consumed[group, place].rate for place in offsets]),
                lag=sum(max(0, each.end - each.consumed) for each in offsets.values()),
                members=self._members.get(group),
                topics=tuple(sorted({place.topic for place in offsets})),
            )
            for group, offsets in sorted(self._sample.groups.items())
            if self._is_shown_group(group)
        ]

    def queues_of_topic(self, topic: str) -> list[QueueRow]:
        """The queues of a topic, with how fast messages come."""
        return [
            QueueRow(place=place, group=None, consumed=None, end=end, lag=None, rate=self._ends[place].rate)
            for place, (_, end) in sorted(self._queues.items())
            if place.topic == topic
        ]

    def queues_of_group(self, group: str) -> list[QueueRow]:
        """The queues that a group reads."""
        return [
            QueueRow(
                place=place,
                group=group,
                consumed=each.consumed,
                end=each.end,
                lag=max(0, each.end - each.consumed),
                rate=self._consumed[group, place].rate,
            )
            for place, each in sorted(self._sample.groups.get(group, {}).items())
        ]

    def _messages(self, places: list[QueuePlace]) -> int | None:
        found = [self._queues[place] for place in places]
        if not found or any(first is None for first, _ in found):
            return None
        return sum(end - (first or 0) for first, end in found)

    def _is_shown_topic(self, topic: str) -> bool:
        if self._everything:
            return True
        own = {*self._sample.runtime, *self._sample.unreachable}
        return not (
            topic.startswith((RETRY_PREFIX, DEAD_LETTER_PREFIX))
            or is_system_topic_of_any_version(topic)
            or topic in own
            or topic.endswith(REPLY_TOPIC_SUFFIX)
            or reply_topic(topic) in self._sample.topics  # a cluster's own name
        )

    def _is_shown_group(self, group: str) -> bool:
        return self._everything or not (is_system_group(group) or group in PREDEFINED_GROUPS)


def _sum(rates: list[float | None]) -> float | None:
    known = [rate for rate in rates if rate is not None]
    return sum(known) if known else None


def _broker(name: str, runtime: dict[str, str], problem: str | None) -> BrokerRow:
    return BrokerRow(
        broker=name,
        version=runtime.get("brokerVersionDesc"),
        put_tps=_number(runtime.get("putTps")),
        get_tps=_number(runtime.get("getTransferredTps") or runtime.get("getTransferedTps")),
        put_today=_difference(runtime.get("msgPutTotalTodayNow"), runtime.get("msgPutTotalTodayMorning")),
        disk_ratio=_number(runtime.get("commitLogDiskRatio")),
        problem=problem,
    )


def _number(text: str | None) -> float | None:
    """The first of the numbers, which is the mean of the shortest time."""
    try:
        return float((text or "").split()[0])
    except (ValueError, IndexError):
        return None


def _difference(now: str | None, morning: str | None) -> int | None:
    end, start = _number(now), _number(morning)
    return None if end is None or start is None else int(end - start)
