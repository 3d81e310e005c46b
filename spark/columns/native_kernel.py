"""The native kernel (kernel/records) with numpy's and Arrow's arrays around it: see `kernel`.

To be imported only where there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rocketwire import _kernel as native
from rocketwire.spark.schema import arrow_schema
from rocketwire.store.layout.record import SMALLEST
from rocketwire.store.records.columns import Buffer
from rocketwire.wire.hosts import decode_host

Positions: TypeAlias = NDArray[np.int64]
#: Heads' numbers that have 64 bits; the others have 32.
_LONG: Final = frozenset(
    {"queue_offset", "physical_offset", "born_timestamp", "store_timestamp", "prepared_transaction_offset"}
)
_HOSTS_KEPT: Final = 1024


def whole_records(buffer: Buffer, *, base: int | None, position: int, end: int, most: int) -> tuple[Positions, int]:
    """The positions of consecutive whole records, and where the first non-record begins."""
    room = max(0, min(most, (end - position) // SMALLEST))
    positions = np.empty(room, np.int64)
    count, behind = native.walk_records(buffer, base, position, end, positions.data)
    return positions[:count], behind


def check(buffer: Buffer, positions: Positions, sizes: NDArray[np.int64], *, base: int | None) -> NDArray[np.bool_]:
    """At which positions a whole record of that size is."""
    good = np.empty(len(positions), np.bool_)
    native.check_records(buffer, positions.data, sizes.data, base, good.data)
    return good


def heads(buffer: Buffer, positions: Positions, names: Sequence[str]) -> list[NDArray[Any]]:
    """Numbers out of the heads, in native byte order; times in ms."""
    found: list[NDArray[Any]] = [np.empty(len(positions), np.int64 if name in _LONG else np.int32) for name in names]
    native.read_heads(buffer, positions.data, tuple(names), tuple(numbers.data for numbers in found))
    return found


def topics(buffer: Buffer, positions: Positions) -> tuple[NDArray[np.int32], list[bytes]]:
    """A code for each record's topic, and the topics by their codes."""
    codes = np.empty(len(positions), np.int32)
    return codes, native.topics_of_records(buffer, positions.data, codes.data)


def tags_are(buffer: Buffer, positions: Positions, wanted: frozenset[bytes]) -> NDArray[np.bool_]:
    """Which records have one of the tags."""
    found = np.empty(len(positions), np.bool_)
    native.tags_of_records(buffer, positions.data, wanted, found.data)
    return found


def bodies_good(buffer: Buffer, positions: Positions) -> NDArray[np.bool_]:
    """Which bodies have the CRC of their records; empty ones always have."""
    good = np.empty(len(positions), np.bool_)
    native.check_bodies(buffer, positions.data, good.data)
    return good


def columns(buffer: Buffer, positions: Positions, names: Sequence[str]) -> pa.RecordBatch:
    """Columns of records, bodies as stored; all in one piece of memory."""
    asked = tuple(names)
    memory, places = native.record_columns(buffer, positions.data, asked, pa.allocate_buffer, _v6_text)
    return pa.RecordBatch._import_from_c(  # noqa: SLF001 - so Arrow's documents name it
        native.arrow_of_columns(asked, len(positions), memory, places), _schema(asked)
    )


@lru_cache(maxsize=_HOSTS_KEPT)
def _v6_text(host: bytes) -> bytes:
    address, port = decode_host(host)
    return f"[{address}]:{port}".encode()


_schema = cache(arrow_schema)
