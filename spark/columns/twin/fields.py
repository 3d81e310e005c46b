"""Gathers single fields of records' heads, for callers that need a few of them, and the hosts as bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.layout.record import HOST_BITS, HOST_FORMS, head_dtype
from rocketwire.store.records.columns import Buffer, gather
from rocketwire.wire.facts.record import SYS_FLAG_AT

#: What the schema calls otherwise than the layout does.
_STORED_AS: Final = {"store_size": "total_size"}
#: By the flags of IPv6 hosts: the type and the position of each field.
_FIELDS: Final = {bits: dict(np.dtype(head_dtype(bits)).fields or {}) for bits in HOST_FORMS}
_NUMBERS: Final = frozenset(
    {
        "queue_id",
        "queue_offset",
        "born_timestamp",
        "store_timestamp",
        "sys_flag",
        "flag",
        "reconsume_times",
        "prepared_transaction_offset",
        "body_crc",
        "physical_offset",
        "store_size",
    }
)


def heads(buffer: Buffer, positions: NDArray[np.int64], names: Sequence[str]) -> list[NDArray[Any]]:
    """Fixed fields of records as numbers."""
    for name in names:
        if name not in _NUMBERS:
            raise ValueError(f"no fixed field of records: {name}")
    octets = np.frombuffer(buffer, np.uint8)
    found = []
    for name in names:
        stored = _STORED_AS.get(name, name)
        kind = _FIELDS[0][stored][0]
        numbers = _items(octets, positions + places(octets, positions, stored), kind)
        found.append(numbers.astype(kind.newbyteorder("=")))
    return found


def places(octets: NDArray[np.uint8], positions: NDArray[np.int64], field: str) -> NDArray[np.int64] | int:
    """Where a field stands in each record: one number where that is the same in all."""
    at = {bits: fields[field][1] for bits, fields in _FIELDS.items()}
    if len(set(at.values())) > 1:
        bits = host_bits(octets, positions)
        if bits.any():
            table = np.zeros(HOST_BITS + 1, np.int64)
            table[list(at)] = list(at.values())
            return table[bits]
    return int(at[0])


def host_bits(octets: NDArray[np.uint8], positions: NDArray[np.int64]) -> NDArray[np.int32]:
    """The bits of each record's sysFlag that tell the sizes of its hosts."""
    bits: NDArray[np.int32] = _items(octets, positions + SYS_FLAG_AT, np.dtype(">i4")).astype(np.int32) & HOST_BITS
    return bits


def _items(octets: NDArray[np.uint8], at: NDArray[np.int64], kind: np.dtype[Any]) -> NDArray[Any]:
    if len(at) and not 0 <= int(at.min()) <= int(at.max()) <= len(octets) - kind.itemsize:
        raise ValueError("a position where no record begins")
    return gather(octets, at, kind) if len(at) else np.empty(0, kind)
