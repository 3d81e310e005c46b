"""Reads the messages that entries of consume queues point to, in the order of the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rocketwire.spark.plan.entries import Entries
from rocketwire.spark.plan.partitions import LogSpan, QueueRange
from rocketwire.spark.read.conditions import RowConditions
from rocketwire.spark.read.rows import DamagedPlace, Rows, record_in
from rocketwire.spark.request.options import is_hidden
from rocketwire.spark.request.ranges import lost
from rocketwire.spark.request.request import ReadRequest
from rocketwire.store.layout.consume_queue import HIGHEST_EXT_ADDRESS
from rocketwire.store.offline.read.log import CommitLogReader, RecordPlace
from rocketwire.store.offline.read.selected import SelectedMessage
from rocketwire.wire.java import string_hash
from rocketwire.wire.names import LIGHT_QUEUE_PREFIX

#: Entries that are made objects at once.
_MANY: Final = 4096
#: Bytes at a record's beginning that are zeros where nothing is any more: its size and its magic number.
_HEAD: Final = 8
_ENTRIES_GONE: Final = (
    "Set failOnDataLoss to false to read what is left; if the log has the messages still, rocketwire store repair "
    "makes its queues again"
)
_REPLACED: Final = "\ufffd"
#: An entry: `place` is a physical offset, `queue` is the number of the range among the span's.
_FOUND: Final = np.dtype([("place", "i8"), ("size", "i8"), ("queue_offset", "i8"), ("queue", "i4")])


def places_of(span: LogSpan, request: ReadRequest) -> Iterator[RecordPlace]:
    """Where the messages of a span are, in the order of the log, without those excluded by their tags code.

    Raises:
        StoreUnreadable: a file of a queue cannot be read.
        DataLost: entries are missing, or do not point into the log's files, and options make this an error.
    """
    found = _entries_of(span, request)
    if span.clipped:
        found = found[(found["place"] >= span.start) & (found["place"] < span.end)]
    is_inside = np.zeros(len(found), bool)
    for file in span.files:
        is_inside |= (found["place"] >= file.start) & (found["place"] < file.end)
    if not is_inside.all():
        outside = found[~is_inside]
        queue = (span.queues or ())[int(outside["queue"][0])]
        where = f"{queue.topic}, queue {queue.queue_id}, offset {int(outside['queue_offset'][0])}"
        what = (
            f"{len(outside)} messages are not in the log of {span.broker}, to which their queues lead (first: {where})"
        )
        lost(what, fail=request.options.fail_on_data_loss)
        found = found[is_inside]
    found = found[np.argsort(found["place"], kind="stable")]
    for start in range(0, len(found), _MANY):
        yield from map(RecordPlace._make, found[start : start + _MANY].tolist())


def _entries_of(span: LogSpan, request: ReadRequest) -> NDArray[Any]:
    """The entries of a span, in the order of the queues."""
    parts = [np.empty(0, _FOUND)]
    codes = _tags_codes(request)
    for number, queue in enumerate(span.queues or ()):
        with Entries(queue) as reader:
            offsets, entries, gone = reader.written(queue.first, queue.end)
        if gone:
            what = f"{gone} entries of {queue.topic}, queue {queue.queue_id}, are gone from {queue.path}"
            lost(what, fail=request.options.fail_on_data_loss, remedy=_ENTRIES_GONE)
        if codes is not None and not is_hidden(queue.topic):
            kept = np.isin(entries["tags_code"], codes) | (entries["tags_code"] <= HIGHEST_EXT_ADDRESS)
            offsets, entries = offsets[kept], entries[kept]
        part = np.empty(len(offsets), _FOUND)
        part["place"], part["size"] = entries["physical_offset"], entries["size"]
        part["queue_offset"], part["queue"] = offsets, number
        parts.append(part)
    return np.concatenate(parts)


def _tags_codes(request: ReadRequest) -> NDArray[np.int64] | None:
    """Hashes of the requested tags; None if hashes do not suffice."""
    tags = request.narrowed.tags
    # Tags that are not UTF-8 are shown with replacement characters, but hashed as Java does.
    if tags is None or any(_REPLACED in tag for tag in tags):
        return None
    return np.array([string_hash(tag) for tag in tags], np.int64)


def gathered(span: LogSpan, request: ReadRequest, rows: Rows) -> Iterator[pa.RecordBatch]:
    """The selected messages of a span's queues.

    Raises:
        StoreUnreadable: a file cannot be read.
        DataLost: messages are missing, and options make this an error.
        RecordMalformed: something is damaged, and options make this an error.
    """
    conditions = RowConditions(request, span.broker)
    queues = span.queues or ()
    gone: Counter[str] = Counter()
    first_gone: dict[str, str] = {}
    with CommitLogReader(span.files) as log:
        for place, data in log.gather(places_of(span, request)):
            queue = queues[place.queue]
            file = log.file_of(place.physical_offset)
            path = "" if file is None else file.path
            record = record_in(data, 0, place.size)
            if record is not None and _is_message_of(record, place, queue):
                if conditions.fits_entry(record):
                    yield from rows.of(record, path)
            elif any(data[:_HEAD]):
                reason = f"the queue's entry leads to what is not its message of {place.size} bytes"
                topic, queue_id, offset = queue.topic, queue.queue_id, place.queue_offset
                rows.damaged(DamagedPlace(path, place.physical_offset, reason, topic, queue_id, offset, place.size))
            else:
                gone[path] += 1
                first_gone.setdefault(path, f"{queue.topic}, queue {queue.queue_id}, offset {place.queue_offset}")
    for path, count in gone.items():
        what = f"{count} messages are no longer in {path}, which was cut or removed (first: {first_gone[path]})"
        lost(what, fail=request.options.fail_on_data_loss)


def _is_message_of(record: SelectedMessage, place: RecordPlace, queue: QueueRange) -> bool:
    """Whether a record is the message that an entry of a queue points to."""
    message = record.message
    # Light queues point to messages of other topics.
    return message.physical_offset == place.physical_offset and (
        queue.topic.startswith(LIGHT_QUEUE_PREFIX)
        or (message.topic, message.queue_id, message.queue_offset) == (queue.topic, queue.queue_id, place.queue_offset)
    )
