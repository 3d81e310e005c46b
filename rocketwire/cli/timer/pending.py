"""Queries on waiting timer messages of either source: due time, topic, and whether a message is cancelled.

A record is read only if the fields of its unit are not enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rocketwire.cli.timer.source import TimerSource
from rocketwire.store.layout.timer_log import UnitMagic
from rocketwire.store.offline.timer.messages import NO_MARK, TimerMessage
from rocketwire.store.timer.units import due_time
from rocketwire.wire.java import string_hash

MINUTE: Final = 60_000
HOUR: Final = 60 * MINUTE
_SECOND: Final = 1000
_SHOWN_AT_ONCE: Final = 1024


class DueBucket(NamedTuple):
    """How many messages are due from one time up to, not including, another (ms)."""

    start: int
    stop: int
    messages: int


class TimerTopicSummary(NamedTuple):
    """The waiting messages for one topic; due times in ms."""

    topic: str
    messages: int
    cancelled: int
    overdue: int
    next_due: int
    last_due: int


class TimerStatistics(NamedTuple):
    """Statistics of all waiting messages.

    Attributes:
        messages: Messages that wait; those that are cancelled count until their time comes.
        cancelled: How many of them a marker cancels.
        markers: Markers that wait for the time of the messages they cancel.
        overdue: Messages whose time is past.
        oldest_due: Time of the first of them, ms; None without.
        topics: The same by topic, in the order of their names.
        histogram: When the others are due: by minutes for an hour, by hours from then on; none that are empty.
    """

    messages: int
    cancelled: int
    markers: int
    overdue: int
    oldest_due: int | None
    topics: list[TimerTopicSummary]
    histogram: list[DueBucket]


class TimerListing(NamedTuple):
    """A message that waits, its broker's name (None: not known), when it is due (ms), and whether it is cancelled."""

    message: TimerMessage
    broker: str | None
    due: int
    cancelled: bool


def counted(source: TimerSource, now: int) -> TimerStatistics:
    """Count the messages that wait at a time (ms).

    Raises:
        StoreUnreadable, NotReached: it cannot be read.
    """
    rows, markers = _split(source)
    rolls = (rows["magic"] & UnitMagic.ROLL) != 0
    rows = np.concatenate([rows[~rolls], _read(source, rows[rolls])])
    cancelled = _cancelled(source, rows, markers)
    times = _due(rows["out"], source.precision)
    overdue = times <= now
    topics = []
    hashes, group = np.unique(rows["topic_hash"], return_inverse=True)
    for number, topic_hash in enumerate(hashes.tolist()):
        own = group == number
        topics.append(
            TimerTopicSummary(
                topic=_topic(source, topic_hash, rows[own][:1]),
                messages=int(own.sum()),
                cancelled=int((own & cancelled).sum()),
                overdue=int((own & overdue).sum()),
                next_due=int(times[own].min()),
                last_due=int(times[own].max()),
            )
        )
    return TimerStatistics(
        messages=len(rows),
        cancelled=int(cancelled.sum()),
        markers=len(markers),
        overdue=int(overdue.sum()),
        oldest_due=int(times[overdue].min()) if overdue.any() else None,
        topics=sorted(topics),
        histogram=list(_histogram(times[~overdue], now)),
    )


def in_order(
    source: TimerSource, *, topic: str | None, start: int | None, end: int | None, limit: int | None
) -> Iterator[TimerListing]:
    """The messages that wait in the order of their times.

    Args:
        source: Where they wait.
        topic: Only those for this topic.
        start: Only those due at or after this time, ms.
        end: Only those due before this time.
        limit: No more than so many.

    Raises:
        StoreUnreadable, NotReached: they cannot be read.
    """
    rows, markers = _split(source)
    if topic is not None:
        rows = rows[rows["topic_hash"] == string_hash(topic)]
    rolls = (rows["magic"] & UnitMagic.ROLL) != 0
    near, far = rows[~rolls], rows[rolls]
    near = _within(near, source.precision, start, end)
    # A message rolls before it is due. So those that roll later than all requested times need not be read.
    last = end
    if limit is not None and 0 < limit <= len(near):
        last = 1 + int(np.partition(near["out"], limit - 1)[limit - 1])
    far = far if last is None else far[far["out"] < last]
    rows = np.concatenate([near, _within(_read(source, far), source.precision, start, end)])
    rows = rows[np.lexsort((rows["physical_offset"], rows["out"]))][:limit]
    marks = np.unique(_read(source, markers)["mark"])
    for first in range(0, len(rows), _SHOWN_AT_ONCE):
        some = rows[first : first + _SHOWN_AT_ONCE]
        for number, message in sorted(source.messages(some), key=lambda found: found[0]):
            # Another topic may have the same hash.
            if message is not None and topic in (None, message.topic):
                broker = source.broker(int(some["broker"][number]))
                cancelled = message.mark != NO_MARK and bool(np.isin(message.mark, marks))
                yield TimerListing(message, broker, due_time(message.out, source.precision), cancelled)


def _split(source: TimerSource) -> tuple[NDArray[Any], NDArray[Any]]:
    """Messages and markers."""
    markers = (source.waiting["magic"] & UnitMagic.DELETE) != 0
    return source.waiting[~markers], source.waiting[markers]


def _read(source: TimerSource, rows: NDArray[Any]) -> NDArray[Any]:
    """The rows completed from their records; without those whose record is removed."""
    rows, keep = rows.copy(), np.ones(len(rows), bool)
    unread = np.flatnonzero(rows["mark"] == 0)
    for number, message in source.messages(rows[unread]):
        if message is None:
            keep[unread[number]] = False
        else:
            rows["out"][unread[number]] = message.out
            rows["mark"][unread[number]] = message.mark
    return rows[keep]


def _cancelled(source: TimerSource, rows: NDArray[Any], markers: NDArray[Any]) -> NDArray[np.bool_]:
    """Which messages a marker cancels; records are read only of those with a marker in their second."""
    markers = _read(source, markers)
    marks = rows["mark"].copy()
    unread = (marks == 0) & np.isin(rows["out"] // _SECOND, np.unique(markers["out"] // _SECOND))
    suspects = np.flatnonzero(unread)
    for number, message in source.messages(rows[suspects]):
        marks[suspects[number]] = 0 if message is None else message.mark
    cancelled: NDArray[np.bool_] = np.isin(marks, markers["mark"]) & (marks != NO_MARK)
    return cancelled


def _due(out: NDArray[np.int64], precision: int) -> NDArray[np.int64]:
    """`due_time` of many."""
    last = out % 10
    times: NDArray[np.int64] = out + np.where(last == 0, precision, last == 9)
    return times


def _within(rows: NDArray[Any], precision: int, start: int | None, end: int | None) -> NDArray[Any]:
    times = _due(rows["out"], precision)
    keep = np.ones(len(rows), bool)
    if start is not None:
        keep &= times >= start
    if end is not None:
        keep &= times < end
    return rows[keep]


def _histogram(times: NDArray[np.int64], now: int) -> Iterator[DueBucket]:
    hours = now // MINUTE * MINUTE + HOUR
    starts = np.where(times < hours, times // MINUTE * MINUTE, np.maximum(times // HOUR * HOUR, hours))
    for start, messages in zip(*(each.tolist() for each in np.unique(starts, return_counts=True)), strict=True):
        yield DueBucket(start, start + MINUTE if start < hours else start // HOUR * HOUR + HOUR, messages)


def _topic(source: TimerSource, topic_hash: int, example: NDArray[Any]) -> str:
    """A topic's name: from a record if no table has it, as after its deletion."""
    known = source.topic(topic_hash)
    if known is not None:
        return known
    messages = [message for _, message in source.messages(example) if message is not None]
    return messages[0].topic if messages else f"? (hash {topic_hash})"
