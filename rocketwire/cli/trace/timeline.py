"""The timeline of a message: its events as reported by producers, brokers and consumers.

Times are those of the reporting machines: events of different machines are in order as far as their clocks agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from rocketwire.cli.trace.query import ReportedTrace, TracedMessage
from rocketwire.wire.trace import (
    CONSUME_RESULTS,
    MESSAGE_TYPES,
    ConsumeBeginTrace,
    ConsumeEndTrace,
    EndTransactionTrace,
    RecallTrace,
    SendTrace,
)

_STATES: Final = {"COMMIT_MESSAGE": "commit", "ROLLBACK_MESSAGE": "rollback", "UNKNOW": "unknown"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEvent:
    """An event of the message; None means not reported.

    Attributes:
        what: send, store, consume, transaction or recall.
        time: When it began, in ms since 1970.
        group: The producer's or consumer's.
        host: The client's address; for a store event the broker's.
        cost: How long it took, in ms.
        result: Its result.
        retries: How often the message had been sent back before.
        details: Further details as text.
    """

    what: str
    time: int | None
    group: str | None = None
    host: str | None = None
    cost: int | None = None
    result: str | None = None
    retries: int | None = None
    details: str = ""


def timeline(reports: Iterable[ReportedTrace], stored: Iterable[TracedMessage]) -> list[TimelineEvent]:
    """All events in the order of their times; those without a time come last."""
    every = list(reports)
    events = [
        _produced(each.trace, each.client)
        for each in every
        if isinstance(each.trace, SendTrace | EndTransactionTrace | RecallTrace)
    ]
    events += map(_store, stored)
    events += _consumed(every)
    return sorted(events, key=lambda event: (event.time is None, event.time or 0))


def _produced(trace: SendTrace | EndTransactionTrace | RecallTrace, client: str) -> TimelineEvent:
    if isinstance(trace, SendTrace):
        kind = MESSAGE_TYPES[trace.message_type] if trace.message_type in range(len(MESSAGE_TYPES)) else "?"
        return TimelineEvent(
            what="send",
            time=trace.time,
            group=trace.group,
            host=trace.client_host or client,
            cost=trace.cost,
            result=_success(done=trace.success),
            details=f"{kind} message of {trace.body_length} bytes to {trace.store_host or 'no broker'}",
        )
    if isinstance(trace, EndTransactionTrace):
        return TimelineEvent(
            what="transaction",
            time=trace.time,
            group=trace.group,
            host=client,
            result=_STATES.get(trace.state or "", trace.state),
            details="asked by the broker" if trace.from_check else "",
        )
    return TimelineEvent(
        what="recall", time=trace.time, group=trace.group, host=client, result=_success(done=trace.success)
    )


def _success(*, done: bool) -> str:
    return "success" if done else "failed"


def _store(stored: TracedMessage) -> TimelineEvent:
    message = stored.found.message
    address, port = message.store_host
    return TimelineEvent(
        what="store",
        time=message.store_timestamp,
        host=f"[{address}]:{port}" if ":" in address else f"{address}:{port}",
        details=f"{message.topic}, broker {stored.broker}, queue {message.queue_id}, offset {message.queue_offset}",
    )


def _consumed(reports: list[ReportedTrace]) -> Iterator[TimelineEvent]:
    """Start and end events in pairs: both name the request, which may have had several messages."""
    ends = {(e.request_id, e.message_id): (e, r.client) for r in reports if isinstance(e := r.trace, ConsumeEndTrace)}
    for report in reports:
        begin = report.trace
        if isinstance(begin, ConsumeBeginTrace):
            end, _ = ends.pop((begin.request_id, begin.message_id), (None, ""))
            yield _consume(begin, end, report.client)
    for end, client in ends.values():
        yield _consume(None, end, client)


def _consume(begin: ConsumeBeginTrace | None, end: ConsumeEndTrace | None, client: str) -> TimelineEvent:
    time = group = None
    if begin is not None:
        time, group = begin.time, begin.group
    elif end is not None:
        time, group = None if end.time is None else end.time - end.cost, end.group
    return TimelineEvent(
        what="consume",
        time=time,
        group=group,
        host=client,
        cost=None if end is None else end.cost,
        result="no end reported" if end is None else _result(end),
        retries=None if begin is None else begin.retry_times,
        details="" if begin is None or not begin.retry_times else f"retry {begin.retry_times}",
    )


def _result(end: ConsumeEndTrace) -> str:
    # Old clients report 0 = success whatever the result was: the flag has the result.
    if end.success:
        return "success"
    if end.result in range(1, len(CONSUME_RESULTS)):
        return CONSUME_RESULTS[end.result or 0]
    return "failed"
