"""Finding records by key, with the semantics of Apache 4.9.7's queryMessage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from rocketwire.store.index.key_index import KeyIndex
from rocketwire.store.layout.record import store_timestamp
from rocketwire.wire.facts.record import MAX_PROPERTIES_LENGTH

_ROUNDS: Final = 3
#: Steps of the index before an answer. Without the kernel they are 8192 messages, all that was appended lately, and
#: some 30 ms of work at most. The kernel takes all keys there are in one, 4096 a millisecond or more; a query waits as
#: long for a step that a thread is in, and longer where that makes a file. Where keys are read from the log, as after a
#: crash, they are 1024 messages.
_STEPS: Final = 8
_LONGEST: Final = 2 * MAX_PROPERTIES_LENGTH
"""Characters of a topic and a key: no message has more, and the time to hash a text grows with its length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryResult:
    """Records found by key, in the order of the log, and how far the index reaches."""

    records: list[memoryview]
    index_last_update_timestamp: int
    index_last_update_offset: int


def query(
    index: KeyIndex,
    record_at: Callable[[int], memoryview | None],
    topic: str,
    key: str,
    *,
    most: int,
    begin: int,
    end: int,
) -> QueryResult:
    """Records with a key (or another of the same hash), stored between two times in ms.

    If the log no longer has what the index found, older entries are tried, up to three times. Messages that were just
    appended are indexed first, but only a bounded number: during a large backlog (after a crash) the answer is what is
    indexed so far.
    """
    if len(topic) + len(key) > _LONGEST:
        return QueryResult(records=[], index_last_update_timestamp=0, index_last_update_offset=0)
    index.catch_up(_STEPS)
    records: list[memoryview] = []
    last_timestamp = last_offset = 0
    for _ in range(_ROUNDS):
        found = index.find(topic, key, most, begin, end)
        if not found.offsets:
            break
        last_timestamp, last_offset = found.last_timestamp, found.last_offset
        for number, offset in enumerate(sorted(found.offsets)):
            record = record_at(offset)
            if record is None:
                continue
            if number == 0:
                end = store_timestamp(record)
            records.append(record)
        if records or end < begin:
            break
    return QueryResult(
        records=records, index_last_update_timestamp=last_timestamp, index_last_update_offset=last_offset
    )
