"""Verifying POP's records in the revive topic: check points and acknowledgements.

An unreadable one is a note: brokers ignore it, and the messages of an unreadable check point are not redelivered.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.disk.segment import file_name
from rocketwire.store.layout.record import properties_of
from rocketwire.store.offline.read.directory import StoreDirectory
from rocketwire.store.offline.verify.findings import Finding, FindingKind, FindingMerger, ReportFinding
from rocketwire.store.records.columns import RecordColumns
from rocketwire.wire.errors import PopRecordInvalid
from rocketwire.wire.facts import properties as property_names
from rocketwire.wire.names import REVIVE_TOPIC_PREFIX
from rocketwire.wire.pop_records import ACK_TAG, BATCH_ACK_TAG, CHECK_POINT_TAG, decode_ack, decode_check_point
from rocketwire.wire.properties import property_reader

_tags: Final = property_reader(property_names.TAGS.encode())
_CHECK_POINT: Final = CHECK_POINT_TAG.encode()
_ACKS: Final = frozenset({ACK_TAG.encode(), BATCH_ACK_TAG.encode()})


class PopCheck:
    """The revive topic of one store.

    Attributes:
        check_points: How many check points it has.
        acknowledgements: How many records that acknowledge messages.
    """

    def __init__(self, directory: StoreDirectory, report: ReportFinding) -> None:
        self.check_points = 0
        self.acknowledgements = 0
        self._starts = [file.start for file in directory.commit_log]
        self._gathered = FindingMerger(report)

    def feed(self, buffer: bytes, records: RecordColumns, topics: NDArray[np.int32], names: list[str]) -> None:
        """Check a batch of records."""
        wanted = [number for number, name in enumerate(names) if name.startswith(REVIVE_TOPIC_PREFIX)]
        if not wanted:
            return
        for at in np.flatnonzero(np.isin(topics, wanted)).tolist():
            position, size = int(records.position[at]), int(records.size[at])
            record = memoryview(buffer)[position : position + size]
            body_at, length = int(records.body_position[at]), int(records.body_length[at])
            reason = self._read(_tags(properties_of(record)), bytes(memoryview(buffer)[body_at : body_at + length]))
            if reason:
                self._report_record(int(records.physical_offset[at]), names[topics[at]], records, at, reason)

    def _read(self, tag: bytes | None, body: bytes) -> str:
        """Count a record; why it is unreadable, or ""."""
        try:
            if tag == _CHECK_POINT:
                decode_check_point(body)
                self.check_points += 1
            elif tag in _ACKS:
                decode_ack(body)
                self.acknowledgements += 1
            else:
                return "it has another tag"
        except PopRecordInvalid as error:
            return str(error)
        return ""

    def _report_record(self, place: int, topic: str, records: RecordColumns, at: int, reason: str) -> None:
        start = max((start for start in self._starts if start <= place), default=0)
        finding = Finding(
            kind=FindingKind.NOTE,
            path=f"commitlog/{file_name(start)}",
            what=f"neither a check point nor an acknowledgement of POP: {reason}",
            position=place - start,
            topic=topic,
            queue_id=int(records.queue_id[at]),
            offset=int(records.queue_offset[at]),
        )
        self._gathered.add("record", place, finding)

    def finish(self) -> None:
        """Report what was not reported yet."""
        self._gathered.close()
