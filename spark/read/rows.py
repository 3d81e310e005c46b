"""Makes batches of rows of the records in a buffer, and handles damaged places by the option `mode`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import pyarrow as pa

from rocketwire.spark.columns import kernel
from rocketwire.spark.columns.kernel import Positions
from rocketwire.spark.columns.plain_arrays import repeated
from rocketwire.spark.errors import RecordMalformed
from rocketwire.spark.request.options import DamageMode
from rocketwire.spark.request.ranges import log
from rocketwire.spark.request.request import ReadRequest
from rocketwire.spark.schema import CORRUPT_RECORD, arrow_schema
from rocketwire.store.records.columns import Buffer

_REMEDY: Final = "Set mode to PERMISSIVE or DROPMALFORMED to read on past damage"
_CRC: Final = "its body has another CRC than its record says"
_INFLATE: Final = "its body cannot be inflated"
_FIELDS: Final = ("queue_id", "queue_offset", "physical_offset", "store_size")


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
        self.schema = arrow_schema(request.columns)
        self._columns = request.columns
        self._options = request.options
        self._broker = broker
        self._of_records = [name for name in request.columns if name in kernel.RECORD_COLUMNS]
        self._damaged: list[DamagedPlace] = []
        self._passed_over = 0

    def of(self, buffer: Buffer, positions: Positions, file: str | None) -> Iterator[pa.RecordBatch]:
        """Batches of the records at some places, which are whole and of one file (None: of an endpoint).

        Raises:
            RecordMalformed: a body is damaged, and `mode` makes this an error.
        """
        if self._options.verify_checksums and "body" in self._columns and len(positions):
            good = kernel.bodies_good(buffer, positions)
            if not good.all():
                self._note(buffer, positions[~good], file, _CRC)
                positions = positions[good]
        if len(positions):
            yield from self._batches(buffer, positions, file)
        yield from self._of_damaged()

    def damaged(self, place: DamagedPlace) -> None:
        """Remember a damaged place: its row comes with the next batches, or at `rest`.

        Raises:
            RecordMalformed: `mode` makes this an error.
        """
        if self._options.mode is DamageMode.FAILFAST:
            raise RecordMalformed(self._told(place), _REMEDY)
        if self._options.mode is DamageMode.PERMISSIVE:
            self._damaged.append(place)
            return
        self._passed_over += 1
        if self._passed_over == 1:
            log.warning("passed over: %s", self._told(place))

    def rest(self) -> Iterator[pa.RecordBatch]:
        """What is left at the end."""
        yield from self._of_damaged()
        if self._passed_over > 1:
            log.warning("%d damaged places of %s were passed over", self._passed_over, self._broker)

    def made_of(self, columns: dict[str, pa.Array], count: int) -> pa.RecordBatch:
        """A batch of so many rows with the given columns; the other columns are null."""
        arrays = [
            columns[field.name] if field.name in columns else self._constant(field, None, count)
            for field in self.schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _batches(self, buffer: Buffer, positions: Positions, file: str | None) -> Iterator[pa.RecordBatch]:
        try:
            found = kernel.arrays(buffer, positions, self._of_records, decompress=self._options.decompress)
        except ValueError:
            # Too large for one batch when inflated.
            if len(positions) == 1:
                self._note(buffer, positions, file, _INFLATE)
                return
            half = len(positions) // 2
            yield from self._batches(buffer, positions[:half], file)
            yield from self._batches(buffer, positions[half:], file)
            return
        batch = found.batch
        if found.bad is not None and found.bad.any():
            self._note(buffer, positions[found.bad], file, _INFLATE)
            batch, positions = batch.filter(pa.array(~found.bad)), positions[~found.bad]
        count = len(positions)
        if count and len(self._of_records) == len(self._columns):
            yield batch
            return
        columns = dict(zip(self._of_records, batch.columns, strict=True))
        for field in self.schema:
            if field.name == "broker":
                columns["broker"] = self._constant(field, self._broker, count)
            elif field.name == "file":
                columns["file"] = self._constant(field, file, count)
        if count:
            yield self.made_of(columns, count)

    def _note(self, buffer: Buffer, positions: Positions, file: str | None, reason: str) -> None:
        """Remember records of which only the body is damaged."""
        heads = kernel.heads(buffer, positions, _FIELDS)
        codes, topics = kernel.topics(buffer, positions)
        for code, queue_id, queue_offset, place, size in zip(
            codes.tolist(), *(head.tolist() for head in heads), strict=True
        ):
            topic = topics[code].decode("utf-8", "replace")
            self.damaged(DamagedPlace(file, place, reason, topic, queue_id, queue_offset, size))

    def _told(self, place: DamagedPlace) -> str:
        at = "" if place.physical_offset is None else f" at physical offset {place.physical_offset}"
        return f"{place.file or self._broker}{at}: {place.reason}"

    def _of_damaged(self) -> Iterator[pa.RecordBatch]:
        if not self._damaged:
            return
        places, self._damaged = self._damaged, []
        columns: dict[str, pa.Array] = {}
        for field in self.schema:
            if field.name == "broker":
                columns["broker"] = self._constant(field, self._broker, len(places))
            elif field.name in (*DamagedPlace._fields, CORRUPT_RECORD):
                name = "reason" if field.name == CORRUPT_RECORD else field.name
                columns[field.name] = pa.array([getattr(place, name) for place in places], field.type)
        yield self.made_of(columns, len(places))

    def _constant(self, field: pa.Field, value: str | None, count: int) -> pa.Array:
        return pa.nulls(count, field.type) if value is None else repeated(value, count)
