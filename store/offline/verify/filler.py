"""Filler records: they take the place of lost records in a repaired log, and no consumer gets them.

A filler is a message of a rolled back transaction, which gets no consume queue entry and no index entry, neither here
nor with Apache. So the records behind it keep their physical offsets, and all references to them stay valid: message
ids, transactions, the timer log. Up to the end of a file an end-of-file blank does the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.facts.record import SMALLEST_RECORD
from rocketwire.wire.message import MessageRecord, encode_record

#: Topic of such a record, or as much of it as there is room for.
FILLER_TOPIC: Final = "LOST"
#: A reader may allocate a whole record: this size does no harm.
_MOST: Final = 1 << 20
#: A topic has one letter at least. No record is smaller, so no lost part is.
LEAST: Final[int] = SMALLEST_RECORD + 1


def fillers(start: int, stop: int, timestamp: int) -> Iterator[bytes]:
    """Records that fill the log from one physical offset to another, stored at a time (ms).

    Raises:
        ValueError: the part is smaller than a record.
    """
    if stop - start < LEAST:
        raise ValueError(f"{stop - start} bytes cannot be filled with a record")
    while start < stop:
        left = stop - start
        size = left if left <= _MOST else min(_MOST, left - LEAST)
        topic = FILLER_TOPIC[: size - SMALLEST_RECORD]
        yield encode_record(
            MessageRecord(
                topic=topic,
                queue_id=0,
                body=bytes(size - SMALLEST_RECORD - len(topic)),
                physical_offset=start,
                sys_flag=SysFlag.TRANSACTION_ROLLBACK,
                born_timestamp=timestamp,
                store_timestamp=timestamp,
            )
        )
        start += size


def is_filler(topic: str, sys_flag: int) -> bool:
    """Whether a record is a filler."""
    rolled_back = sys_flag & SysFlag.TRANSACTION_MASK == SysFlag.TRANSACTION_ROLLBACK
    return rolled_back and bool(topic) and FILLER_TOPIC.startswith(topic)
