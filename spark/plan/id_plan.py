"""Finds messages by ids: at the physical offset in an offset message id, or those from the index.

The parts of the log that the index does not cover are walked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rocketwire.spark.plan.partitions import LogSpan
from rocketwire.spark.plan.walk_plan import plan_walk
from rocketwire.spark.request.request import ReadRequest
from rocketwire.spark.stores.snapshot import StoreSnapshot
from rocketwire.store.offline.read.directory import StoreState
from rocketwire.store.offline.read.index_files import IndexedPart, look_up
from rocketwire.wire.errors import MessageIdInvalid
from rocketwire.wire.message_id import parse_offset_message_id


def plan_ids(store: StoreSnapshot, request: ReadRequest, least: int) -> list[LogSpan]:
    """The tasks that search messages by their ids.

    Raises:
        StoreUnreadable: a file of the log cannot be read.
        DataLost: a part of the log is missing where they may be, and options make this an error.
    """
    offset_ids, ids = request.narrowed.offset_message_ids, request.narrowed.message_ids
    if offset_ids is not None:
        places = set(_places(offset_ids))
        _check_tail(store, request, places)
        return list(_at(store, places))
    assert ids is not None  # noqa: S101 - has_ids
    topics = store.topics()
    places = set(_places(ids))
    covered: list[IndexedPart] = []
    if store.directory.state in (StoreState.LIVE, StoreState.AT_REST) and topics is not None:
        wanted = sorted(filter(request.takes_topic, topics))
        found, covered = look_up(store.directory.index, [(topic, one) for topic in wanted for one in ids])
        places.update(found)
    _check_tail(store, request, places)
    uncovered = list(_gaps(store, covered))
    walked = plan_walk(store, request, least, uncovered) if uncovered else []
    known = [place for place in places if not any(start <= place < end for start, end in uncovered)]
    return [*_at(store, known), *walked]


def _places(ids: Iterable[str]) -> Iterator[int]:
    for one in ids:
        try:
            yield parse_offset_message_id(one)[1]
        except MessageIdInvalid:
            continue


def _check_tail(store: StoreSnapshot, request: ReadRequest, places: Iterable[int]) -> None:
    """Report physical offsets in a missing part of the log's end."""
    behind = [place for place in places if place >= store.end]
    if behind and store.lost_tail is not None and min(behind) < store.lost_tail.end:
        store.lost_tail.description(store.broker, request)


def _gaps(store: StoreSnapshot, covered: Sequence[IndexedPart]) -> Iterator[tuple[int, int]]:
    at = store.start
    for part in sorted(covered):
        if part.start > at:
            yield at, min(part.start, store.end)
        at = max(at, part.end)
        if at >= store.end:
            return
    yield at, store.end


def _at(store: StoreSnapshot, places: Iterable[int]) -> Iterator[LogSpan]:
    here = tuple(sorted(place for place in set(places) if store.start <= place < store.end))
    if here:
        files = store.directory.commit_log
        yield LogSpan(
            broker=store.broker,
            state=store.directory.state,
            start=here[0],
            end=here[-1] + 1,
            files=tuple(file for file in files if any(file.start <= place < file.end for place in here)),
            places=here,
        )
