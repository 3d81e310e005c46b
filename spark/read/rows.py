"""Makes rows of records, and handles damaged places by the option `mode`.

The values are those of `rocketwire store cat --json`: `VALUES` defines how each column is made of a record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import pyarrow as pa

from rocketwire.spark.errors import PackageMissing, RecordMalformed
from rocketwire.spark.request.options import DamageMode
from rocketwire.spark.request.ranges import log
from rocketwire.spark.request.request import ReadRequest
from rocketwire.spark.schema import CORRUPT_RECORD, arrow_schema
from rocketwire.store.offline.read.selected import SelectedMessage, with_properties
from rocketwire.store.records.columns import Buffer
from rocketwire.wire.compression import decompress
from rocketwire.wire.errors import CompressionUnavailable, WireError
from rocketwire.wire.java import INT64_MAX, INT64_MIN
from rocketwire.wire.message import MessageRecord, body_crc, decode_record

#: A batch is complete with so many rows, or so many bytes of bodies and properties.
MOST_ROWS: Final = 4096
_MOST_BYTES: Final = 1 << 20
#: A body that inflates to more counts as damaged, as in `rocketwire store cat`: by default brokers accept 4 MiB.
_MOST_INFLATED: Final = 256 << 20
_REMEDY: Final = "Set mode to PERMISSIVE or DROPMALFORMED to read on past damage"
_CRC: Final = "its body has another CRC than its record says"
_INFLATE: Final = "its body cannot be inflated"


def microseconds(ms: int) -> int:
    """A time in ms as Arrow's microseconds; what is out of their range becomes the first or the last."""
    return max(INT64_MIN, min(ms * 1000, INT64_MAX))


def _host(host: tuple[str, int]) -> str:
    address, port = host
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


#: The value of each column that is made of a record, except for the body.
VALUES: Final[Mapping[str, Callable[[SelectedMessage], object]]] = {
    "topic": lambda one: one.message.topic,
    "queue_id": lambda one: one.message.queue_id,
    "queue_offset": lambda one: one.message.queue_offset,
    "message_id": lambda one: one.message_id,
    "offset_message_id": lambda one: one.offset_message_id,
    "born_timestamp": lambda one: microseconds(one.message.born_timestamp),
    "store_timestamp": lambda one: microseconds(one.message.store_timestamp),
    "born_host": lambda one: _host(one.message.born_host),
    "store_host": lambda one: _host(one.message.store_host),
    "tags": lambda one: one.tags,
    "keys": lambda one: one.keys,
    "properties": lambda one: list(one.properties.items()),
    "sys_flag": lambda one: one.message.sys_flag,
    "flag": lambda one: one.message.flag,
    "reconsume_times": lambda one: one.message.reconsume_times,
    "prepared_transaction_offset": lambda one: one.message.prepared_transaction_offset,
    "body_crc": lambda one: one.message.body_crc,
    "physical_offset": lambda one: one.message.physical_offset,
    "store_size": lambda one: one.size,
}


def record_in(buffer: Buffer, position: int, size: int) -> SelectedMessage | None:
    """The record of a size at a position of a buffer, whatever the CRC of its body; None when there is none."""
    if not 0 <= position <= len(buffer) - size:
        return None
    try:
        with memoryview(buffer) as view, view[position : position + size] as record:
            if int.from_bytes(record[:4], "big") != size:
                return None
            return with_properties(decode_record(record, check_crc=False), size)
    except WireError:
        return None


class DamagedPlace(NamedTuple):
    """A place of the log without a valid message: the values that are certain, and what is wrong."""

    file: str | None
    physical_offset: int | None
    reason: str
    topic: str | None = None
    queue_id: int | None = None
    queue_offset: int | None = None
    store_size: int | None = None


class Rows:
    """Makes the batches of one task."""

    def __init__(self, request: ReadRequest, broker: str) -> None:
        self._schema = arrow_schema(request.columns)
        self._options = request.options
        self._broker = broker
        self._values = [(name, VALUES[name]) for name in request.columns if name in VALUES]
        self._has_bodies = "body" in request.columns
        self._rows: list[dict[str, Any]] = []
        self._size = 0
        self._skipped = 0

    def of(self, record: SelectedMessage, file: str | None) -> Iterator[pa.RecordBatch]:
        """Take a whole record of a file (None: of an endpoint); a batch when there are enough rows.

        Raises:
            RecordMalformed: its body is damaged, and `mode` makes this an error.
            PackageMissing: a package that inflates its body is not installed.
        """
        message = record.message
        row: dict[str, Any] = {"file": file}
        if self._has_bodies:
            body, reason = self._body(message)
            if body is None:
                place, queue = message.physical_offset, (message.topic, message.queue_id, message.queue_offset)
                self.damaged(DamagedPlace(file, place, reason, *queue, record.size))
                return
            row["body"] = body
            self._size += len(body)
        self._size += len(message.properties)
        for name, value in self._values:
            row[name] = value(record)
        yield from self.take(row)

    def take(self, row: dict[str, Any]) -> Iterator[pa.RecordBatch]:
        """Take the values of a row, by column; a batch when there are enough rows."""
        self._rows.append({"broker": self._broker} | row)
        if len(self._rows) >= MOST_ROWS or self._size >= _MOST_BYTES:
            yield self._batch()

    def damaged(self, place: DamagedPlace) -> None:
        """Take a damaged place: its row comes with a later batch, or at `rest`.

        Raises:
            RecordMalformed: `mode` makes this an error.
        """
        if self._options.mode is DamageMode.FAILFAST:
            raise RecordMalformed(self._text_of(place), _REMEDY)
        if self._options.mode is DamageMode.PERMISSIVE:
            self._rows.append({"broker": self._broker, CORRUPT_RECORD: place.reason} | place._asdict())
            return
        self._skipped += 1
        if self._skipped == 1:
            log.warning("passed over: %s", self._text_of(place))

    def rest(self) -> Iterator[pa.RecordBatch]:
        """The last rows."""
        if self._rows:
            yield self._batch()
        if self._skipped > 1:
            log.warning("%d damaged places of %s were passed over", self._skipped, self._broker)

    def _body(self, message: MessageRecord) -> tuple[bytes | None, str]:
        """A body as the producer's application had it; None, and what is wrong with it, where it is damaged."""
        body = message.body
        if self._options.verify_checksums and body and body_crc(body) != message.body_crc:
            return None, _CRC
        if not self._options.decompress:
            return body, ""
        try:
            return decompress(body, message.sys_flag, max_size=_MOST_INFLATED), ""
        except CompressionUnavailable as missing:
            raise PackageMissing(str(missing), f"pip install {missing.package} where Spark's workers run") from missing
        except WireError:
            return None, _INFLATE

    def _batch(self) -> pa.RecordBatch:
        rows, self._rows, self._size = self._rows, [], 0
        return pa.RecordBatch.from_pylist(rows, schema=self._schema)

    def _text_of(self, place: DamagedPlace) -> str:
        at = "" if place.physical_offset is None else f" at physical offset {place.physical_offset}"
        return f"{place.file or self._broker}{at}: {place.reason}"
