"""Handles (POP_CK) in stored records: a broker of 4.9 stores what a producer sends, and consumers would believe it."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from operator import contains
from typing import Final

from rocketwire import native
from rocketwire.wire.errors import RecordInvalid
from rocketwire.wire.facts import properties as names
from rocketwire.wire.message import MessageRecord, decode_record, encode_record
from rocketwire.wire.property_edits import remove_properties

PLACE: Final = struct.Struct(">i16xq")
"""Size and queue offset, with which each record begins."""
_POP_CK: Final = names.POP_CK.encode()
_holds: Callable[[bytes, bytes], bool] = contains if native.kernel is None else native.kernel.holds


def without_handles(body: bytes) -> bytes:
    """Records less the handles in them; one that cannot be read stays as it is: the client decides about it."""
    if not _holds(body, _POP_CK):
        return body
    found: list[bytes] = []
    for record in records_of(body):
        try:
            found.append(without_handle(decode_record(record, check_crc=False)))
        except RecordInvalid:
            found.append(record)
    return b"".join(found)


def without_handle(message: MessageRecord) -> bytes:
    """The record of a message, less a handle in it."""
    return encode_record(replace(message, properties=remove_properties(message.properties, (_POP_CK,))))


def records_of(body: bytes) -> Iterator[bytes]:
    """Each record; one whose size is damaged, and all behind it, are the last."""
    at = 0
    while at < len(body):
        size = PLACE.unpack_from(body, at)[0] if len(body) - at >= PLACE.size else 0
        end = at + size if size >= PLACE.size else len(body)
        yield body[at:end]
        at = end
