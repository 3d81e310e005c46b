"""Hosts as text, and the ids that are made of a host and a physical offset."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rocketwire.spark.columns.twin.fields import host_bits, places
from rocketwire.spark.columns.twin.gathering import gathered
from rocketwire.store.records.columns import Buffer, gather
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.facts.record import PHYSICAL_OFFSET_AT
from rocketwire.wire.hosts import HOST_V4_SIZE, HOST_V6_SIZE, decode_host

_OFFSET_SIZE: Final = 8
_HOSTS_KEPT: Final = 4096
#: More different hosts of IPv4 than this are made text together.
_FEW: Final = 16
#: Each byte as a decimal number.
_BYTES: Final = pa.array(list(map(str, range(256))))
_LAST_DIGIT: Final = 9
_FROM_9_TO_A: Final = np.uint8(ord("A") - ord("9") - 1)
_HOSTS: Final = {"born_host": SysFlag.BORN_HOST_V6, "store_host": SysFlag.STORE_HOST_V6}


def host_texts(buffer: Buffer, positions: NDArray[np.int64], field: str) -> pa.Array:
    """A host of each record, as `address:port`; an IPv6 address stands in brackets."""
    if not len(positions):
        return pa.array([], pa.string())
    octets = np.frombuffer(buffer, np.uint8)
    codes = np.empty(len(positions), np.int32)
    known: list[pa.Array] = []
    at = positions + places(octets, positions, field)
    for size, rows in _by_size(octets, positions, field):
        # Numbers are compared faster than bytes.
        hosts = gather(octets, at[rows], np.dtype("<u8" if size == HOST_V4_SIZE else f"S{size}"))
        # Mostly many in a row are the same.
        bounds = np.concatenate([[0], np.flatnonzero(hosts[1:] != hosts[:-1]) + 1, [len(hosts)]])
        distinct, numbers = np.unique(hosts[bounds[:-1]], return_inverse=True)
        codes[rows] = np.repeat(numbers + sum(map(len, known)), np.diff(bounds))
        known.append(_texts(distinct.tobytes(), size))
    return pa.concat_arrays(known).take(pa.array(codes))


def offset_ids(buffer: Buffer, positions: NDArray[np.int64]) -> pa.Array:
    """The offset message id of each record."""
    if not len(positions):
        return pa.array([], pa.string())
    octets = np.frombuffer(buffer, np.uint8)
    at = positions + places(octets, positions, "store_host")
    digits: list[NDArray[np.uint8]] = []
    begins = np.empty(len(positions), np.int64)
    lengths = np.empty(len(positions), np.int64)
    done = 0
    for size, rows in _by_size(octets, positions, "store_host"):
        hosts = _rows_of(octets, at[rows], size)
        offsets = _rows_of(octets, positions[rows] + PHYSICAL_OFFSET_AT, _OFFSET_SIZE)
        ids = np.concatenate([hosts, offsets], axis=1)
        lengths[rows] = 2 * ids.shape[1]
        begins[rows] = done + np.arange(len(ids)) * (2 * ids.shape[1])
        digits.append(_digits(ids))
        done += digits[-1].size
    return gathered(np.concatenate(digits), begins, begins + lengths, pa.string())


def _digits(ids: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Two hexadecimal digits for each byte."""
    digits = np.empty((ids.size, 2), np.uint8)
    digits[:, 0] = ids.reshape(-1) >> 4
    digits[:, 1] = ids.reshape(-1) & 0xF
    digits += (digits > _LAST_DIGIT) * _FROM_9_TO_A
    digits += ord("0")
    return digits.reshape(-1)


def _by_size(
    octets: NDArray[np.uint8], positions: NDArray[np.int64], field: str
) -> list[tuple[int, slice | NDArray[np.intp]]]:
    """The sizes that a host has, and which records have it so."""
    long = (host_bits(octets, positions) & _HOSTS[field]) != 0
    if not long.any():
        return [(HOST_V4_SIZE, slice(None))]
    kinds = ((HOST_V4_SIZE, np.flatnonzero(~long)), (HOST_V6_SIZE, np.flatnonzero(long)))
    return [(size, rows) for size, rows in kinds if len(rows)]


def _rows_of(octets: NDArray[np.uint8], at: NDArray[np.int64], size: int) -> NDArray[np.uint8]:
    rows: NDArray[np.uint8] = gather(octets, at, np.dtype(f"V{size}")).view(np.uint8).reshape(-1, size)
    return rows


def _texts(hosts: bytes, size: int) -> pa.Array:
    """The texts of hosts of one size, which stand one behind the other. Few are known from before, mostly."""
    count = len(hosts) // size
    if size == HOST_V4_SIZE and count > _FEW:
        octets = np.frombuffer(hosts, np.uint8).reshape(count, size)
        ports = octets[:, -4:].copy().view(">i4").astype(np.int32).reshape(count)
        parts = [_BYTES.take(pa.array(octets[:, place])) for place in range(4)]
        address = pc.binary_join_element_wise(*parts, ".")
        return pc.binary_join_element_wise(address, pa.array(ports).cast(pa.string()), ":")
    return pa.array([_host_text(hosts[start : start + size]) for start in range(0, len(hosts), size)], pa.string())


@lru_cache(_HOSTS_KEPT)
def _host_text(host: bytes) -> str:
    address, port = decode_host(host)
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
