"""Arrow columns from the records in a buffer: the operations that every reader of this package is built on.

Two kernels implement them, with the same results: the native one, in C (`native_kernel`), and its twin (`twin`), with
numpy and Arrow. `rocketwire.native` chooses, as for the broker. What both share is here: why a walk ended, compressed
bodies, and columns that are too long for Arrow.

A buffer has records as in the commit log, or the answer to a pull. A position is that of a record in it.
The other functions take positions that `walk` or `check` has passed. They check again only that they stay within the
buffer: for a position without a record they return nonsense or raise ValueError.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rocketwire import native
from rocketwire.spark.columns.inflating import inflated
from rocketwire.spark.schema import COLUMNS, PLACE_COLUMNS, arrow_schema
from rocketwire.store.records.columns import Buffer
from rocketwire.store.records.walk import WalkEnd
from rocketwire.store.records.walk import walk as walk_of_store
from rocketwire.wire.java import INT32_MAX

Positions: TypeAlias = NDArray[np.int64]

#: The columns that come out of a record, in the schema's order.
RECORD_COLUMNS: Final = tuple(name for name in COLUMNS if name not in PLACE_COLUMNS)


class Kernel(Protocol):
    """The operations of a kernel; the functions of this module document them."""

    def whole_records(
        self, buffer: Buffer, *, base: int | None, position: int, end: int, most: int
    ) -> tuple[Positions, int]:
        """The longest chain of whole records from a position on, and where it ends."""
        ...

    def check(
        self, buffer: Buffer, positions: Positions, sizes: NDArray[np.int64], *, base: int | None
    ) -> NDArray[np.bool_]:
        """Which places hold a whole record of that size."""
        ...

    def heads(self, buffer: Buffer, positions: Positions, names: Sequence[str]) -> list[NDArray[Any]]:
        """Fixed fields as numbers."""
        ...

    def topics(self, buffer: Buffer, positions: Positions) -> tuple[NDArray[np.int32], list[bytes]]:
        """A code for each topic, and the topics."""
        ...

    def tags_are(self, buffer: Buffer, positions: Positions, wanted: frozenset[bytes]) -> NDArray[np.bool_]:
        """Which records have one of the tags."""
        ...

    def bodies_good(self, buffer: Buffer, positions: Positions) -> NDArray[np.bool_]:
        """Which bodies have their CRC."""
        ...

    def columns(self, buffer: Buffer, positions: Positions, names: Sequence[str]) -> pa.RecordBatch:
        """Columns, with bodies as they are stored."""
        ...


_kernel: Kernel
# Only one is imported: importing the twin takes a worker longer than everything else of this package.
if native.kernel is None:
    from rocketwire.spark.columns import twin

    _kernel = twin
else:
    from rocketwire.spark.columns import native_kernel

    _kernel = native_kernel


class Walk(NamedTuple):
    """The result of a walk: positions of whole records, the next position, why it ended, and for DAMAGED a reason."""

    positions: Positions
    next: int
    stop: WalkEnd
    reason: str


class Arrays(NamedTuple):
    """Columns in the requested order, and the rows whose body could not be inflated (None: no row).

    The number of rows of a batch without columns is undefined.
    """

    batch: pa.RecordBatch
    bad: NDArray[np.bool_] | None


def walk(buffer: Buffer, *, base: int | None, position: int, end: int, whole: bool, most: int) -> Walk:
    """Find the consecutive whole records from a position on; all of a record is checked but for the body's CRC.

    Args:
        buffer: A part of a commit log file, or the answer to a pull.
        base: Physical offset of the buffer's first byte, with which records must agree; None for what was pulled.
        position: Where a record begins.
        end: What is at or behind this position is not read.
        whole: `end` is the end of the file: a record that runs past it is damaged. Else the walk ends with MORE there.
        most: At most so many records.

    Raises:
        ValueError: the positions are not within the buffer.
    """
    if not 0 <= position <= end <= len(buffer):
        raise ValueError(f"no range of a buffer of {len(buffer)} bytes: {position} to {end}")
    positions, position = _kernel.whole_records(buffer, base=base, position=position, end=end, most=most)
    if len(positions) >= most:
        return Walk(positions, position, WalkEnd.FULL, "")
    ended = walk_of_store(buffer, base=base, position=position, end=end, whole=whole, check_crc=False, most=1)
    return Walk(positions, position, ended.stop, ended.reason)


def check(
    buffer: Buffer, positions: Positions, sizes: NDArray[np.signedinteger[Any]], *, base: int | None
) -> NDArray[np.bool_]:
    """Which of these positions, from consume queue entries, have a whole record of the given size.

    A record is checked as `walk` does; places outside of the buffer hold none.

    Raises:
        ValueError: there are not as many sizes as positions.
    """
    if len(positions) != len(sizes):
        raise ValueError(f"{len(positions)} positions with {len(sizes)} sizes")
    return _kernel.check(buffer, _positions(positions), np.ascontiguousarray(sizes, np.int64), base=base)


def heads(buffer: Buffer, positions: Positions, names: Sequence[str]) -> list[NDArray[Any]]:
    """Fixed fields of records as numbers (int32 or int64): the schema's columns of that kind, times in ms.

    Raises:
        ValueError: there is no such field, or a position is outside of the buffer.
    """
    return _kernel.heads(buffer, _positions(positions), names)


def topics(buffer: Buffer, positions: Positions) -> tuple[NDArray[np.int32], list[bytes]]:
    """A code for each record's topic, and the topics by their codes, in no certain order."""
    return _kernel.topics(buffer, _positions(positions))


def tags_are(buffer: Buffer, positions: Positions, wanted: frozenset[bytes]) -> NDArray[np.bool_]:
    """Which records have one of these tags (UTF-8; other stored tags are compared as the column shows them)."""
    return _kernel.tags_are(buffer, _positions(positions), wanted)


def bodies_good(buffer: Buffer, positions: Positions) -> NDArray[np.bool_]:
    """Which bodies have the CRC of their records; that of an empty one is not checked, as in Apache's broker."""
    return _kernel.bodies_good(buffer, _positions(positions))


def arrays(buffer: Buffer, positions: Positions, names: Sequence[str], *, decompress: bool) -> Arrays:
    """Columns of records, in the Arrow types of the schema, with the values of `rocketwire store cat --json`.

    Times out of the range of Arrow's microseconds become the nearest one within it.

    Args:
        buffer: The records. The columns are copies.
        positions: Their places, rising.
        names: Which columns, of RECORD_COLUMNS.
        decompress: Whether bodies that were compressed are inflated: null where that fails. Else they are as stored.

    Raises:
        ValueError: there is no such column or no record at one of the places, or a column would be too large: take
            fewer records. (Spark takes less than 2 GiB.)
        PackageMissing: a body is compressed in a way whose package is not installed.
    """
    for name in names:
        if name not in RECORD_COLUMNS:
            raise ValueError(f"no column of records: {name}")
    positions = _positions(positions)
    if len(buffer) > INT32_MAX:
        raise ValueError(f"a buffer of {len(buffer)} bytes is too large")
    if not len(positions):
        schema = arrow_schema(names)
        return Arrays(pa.RecordBatch.from_arrays([pa.nulls(0, kind) for kind in schema.types], schema=schema), None)
    batch = _kernel.columns(buffer, positions, names)
    if not (decompress and "body" in names):
        return Arrays(batch, None)
    [sys_flags] = _kernel.heads(buffer, positions, ["sys_flag"])
    stored = batch.column(names.index("body"))
    bodies, bad = inflated(stored, sys_flags)
    if bodies is stored:
        return Arrays(batch, None)
    columns = [bodies if name == "body" else batch.column(number) for number, name in enumerate(names)]
    return Arrays(pa.RecordBatch.from_arrays(columns, schema=batch.schema), bad)


def _positions(positions: Positions) -> Positions:
    return np.ascontiguousarray(positions, np.int64)
