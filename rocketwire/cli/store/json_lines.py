"""JSON lines of whole blocks of records: what `json_object` gives for each, for many at once.

The kernel writes them. Without it the columns of a block become lists by one call each, hosts are looked up among those
seen lately, and msgspec encodes all lines of a block at once. Records that are compressed, or have a host of IPv6, go
through `json_object` one by one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from rocketwire import native
from rocketwire.cli.output import json_line
from rocketwire.cli.shown_message import json_object
from rocketwire.store.layout.record import HOST_BITS
from rocketwire.store.offline.read.selected import with_properties
from rocketwire.store.records.columns import topics_of
from rocketwire.wire.facts import properties as names
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.hosts import decode_host
from rocketwire.wire.message import decode_record
from rocketwire.wire.properties import decode_stored_properties, split_keys

if TYPE_CHECKING:
    from rocketwire.store.offline.read.log import RecordBlock
    from rocketwire.store.offline.read.scan import ReportProblem

_HOSTS_KEPT: Final = 1024
_ONE_BY_ONE: Final = HOST_BITS | int(SysFlag.COMPRESSED)
#: Records of a block whose lines are in memory together.
_MOST: Final = 256
#: Offsets as in an offset message id.
_OFFSET: Final = (1 << 64) - 1


class _Line(msgspec.Struct, gc=False):
    """The members of a line in their order; msgspec writes bytes as base64."""

    topic: str
    queue_id: int
    queue_offset: int
    message_id: str
    offset_message_id: str
    born_timestamp: int
    store_timestamp: int
    born_host: str
    store_host: str
    tags: str | None
    keys: list[str]
    body: str | None
    properties: dict[str, str]
    sys_flag: int
    flag: int
    reconsume_times: int
    prepared_transaction_offset: int
    body_crc: int
    physical_offset: int
    store_size: int
    broker: None
    body_base64: bytes | msgspec.UnsetType = msgspec.UNSET


_encode_lines = msgspec.json.Encoder().encode_lines


def write_lines(blocks: Iterable[tuple[RecordBlock, NDArray[np.intp]]], most: int | None, report: ReportProblem) -> int:
    """Write a line to stdout for each of the chosen records of blocks, of no more than `most`; how many there were."""
    count = 0
    for block, numbers in blocks:
        chosen = numbers if most is None else numbers[: most - count]
        for at in range(0, len(chosen), _MOST):
            _write(block, chosen[at : at + _MOST], report)
        count += len(chosen)
        if count == most:
            break
    return count


def _write(block: RecordBlock, numbers: NDArray[np.intp], report: ReportProblem) -> None:
    if native.kernel is None:
        _write_by_columns(block, numbers, report)
        return
    places = block.records.position[numbers]
    done = 0
    while done < len(places):
        count, lines = native.kernel.record_lines(block.buffer, places[done:])
        sys.stdout.buffer.write(lines)
        done += count
        if not lines:
            _write_alone(block, int(numbers[done]), report)
            done += 1


def _write_alone(block: RecordBlock, number: int, report: ReportProblem) -> None:
    data = block.record(number)
    json_line(json_object(with_properties(decode_record(data, check_crc=False), len(data)), report))


def _write_by_columns(block: RecordBlock, numbers: NDArray[np.intp], report: ReportProblem) -> None:
    special = (block.records.sys_flag[numbers] & _ONE_BY_ONE) != 0
    if not special.any():
        sys.stdout.buffer.write(_encode_lines(_lines(block, numbers)))
        return
    # What is reported comes behind the lines before it.
    for alone, some in groupby(zip(special.tolist(), numbers.tolist(), strict=True), key=lambda pair: pair[0]):
        part = [number for _, number in some]
        if not alone:
            sys.stdout.buffer.write(_encode_lines(_lines(block, np.array(part, np.intp))))
            continue
        for number in part:
            _write_alone(block, number, report)


def _lines(block: RecordBlock, numbers: NDArray[np.intp]) -> list[_Line]:
    records, buffer = block.records.part(numbers), block.buffer
    codes, topics = topics_of(buffer, records)
    bodies = records.body_position
    texts = records.properties_position
    rows = zip(
        codes.tolist(),
        records.queue_id.tolist(),
        records.queue_offset.tolist(),
        records.born_timestamp.tolist(),
        records.store_timestamp.tolist(),
        records.heads["born_host"].tolist(),
        records.heads["store_host"].tolist(),
        bodies.tolist(),
        (bodies + records.body_length).tolist(),
        texts.tolist(),
        (texts + records.properties_length).tolist(),
        records.sys_flag.tolist(),
        records.flag.tolist(),
        records.reconsume_times.tolist(),
        records.prepared_offset.tolist(),
        records.body_crc.tolist(),
        records.physical_offset.tolist(),
        records.size.tolist(),
        strict=True,
    )
    lines: list[_Line] = []
    for (
        topic,
        queue_id,
        queue_offset,
        born_timestamp,
        store_timestamp,
        born_host,
        store_host,
        body_start,
        body_end,
        properties_start,
        properties_end,
        sys_flag,
        flag,
        reconsume_times,
        prepared_offset,
        body_crc,
        physical_offset,
        size,
    ) in rows:
        properties = decode_stored_properties(buffer[properties_start:properties_end])
        store_text, store_digits = _host(store_host)
        offset_id = f"{store_digits}{physical_offset & _OFFSET:016X}"
        stored = buffer[body_start:body_end]
        body: str | None
        base64: bytes | msgspec.UnsetType = msgspec.UNSET
        try:
            body = stored.decode()
        except UnicodeDecodeError:
            body, base64 = None, stored
        lines.append(
            _Line(
                topics[topic],
                queue_id,
                queue_offset,
                properties.get(names.UNIQ_KEY) or offset_id,
                offset_id,
                born_timestamp,
                store_timestamp,
                _host(born_host)[0],
                store_text,
                properties.get(names.TAGS),
                split_keys(properties.get(names.KEYS)),
                body,
                properties,
                sys_flag,
                flag,
                reconsume_times,
                prepared_offset,
                body_crc,
                physical_offset,
                size,
                None,
                base64,
            )
        )
    return lines


@lru_cache(maxsize=_HOSTS_KEPT)
def _host(stored: bytes) -> tuple[str, str]:
    """A host of IPv4 as text, and as the digits of an offset message id."""
    address, port = decode_host(stored)
    return f"{address}:{port}", stored.hex().upper()
