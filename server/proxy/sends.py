"""Sends and pulls as a proxy knows them: by their codes, and by fields of headers that it does not decode further."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from msgspec.structs import replace

from rocketwire.wire.batch import decode_batch, encode_batch
from rocketwire.wire.errors import BatchInvalid
from rocketwire.wire.facts.codes import RequestCode, SysFlag
from rocketwire.wire.facts.properties import ITEM_SEP, NAME_SEP, POP_CK
from rocketwire.wire.frame import Buffer
from rocketwire.wire.header import Header
from rocketwire.wire.property_edits import remove_properties

PULLS: Final = frozenset({RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE, RequestCode.POP_MESSAGE})
_POP_CK: Final = POP_CK.encode()
_DIGITS: Final = 10
"""The most of a 32-bit number."""


class SendFields(NamedTuple):
    """The names of a send's fields."""

    topic: str
    group: str
    queue: str
    properties: str
    sys_flag: str
    batch: str


_LONG: Final = SendFields("topic", "producerGroup", "queueId", "properties", "sysFlag", "batch")
_SHORT: Final = SendFields("b", "a", "e", "i", "f", "m")
SENDS: Final[Mapping[int, SendFields]] = {
    RequestCode.SEND_MESSAGE: _LONG,
    RequestCode.SEND_MESSAGE_V2: _SHORT,
    RequestCode.SEND_BATCH_MESSAGE: _SHORT,
}


def number(text: str | None, default: int = 0) -> int:
    """A field's number, if it is a usual one: not negative, and of 32 bits or little more."""
    usual = text is not None and len(text) <= _DIGITS and text.isascii() and text.isdecimal()
    return int(text) if text is not None and usual else default


def is_half(fields: SendFields, ext: Mapping[str, str]) -> bool:
    """Whether a send is the half message of a transaction."""
    return number(ext.get(fields.sys_flag)) & SysFlag.TRANSACTION_MASK == SysFlag.TRANSACTION_PREPARED


def without_handles(header: Header, body: Buffer) -> tuple[Header, Buffer]:
    """A send without the handles (POP_CK) in its properties, as a consumer sends one that forwards a popped message.

    Brokers of 4.9 would store them. Another request, and a batch that cannot be read, is given back as it is.
    """
    fields = SENDS.get(header.code)
    ext = header.ext or {}
    if fields is None:
        return header, body
    text = ext.get(fields.properties, "")
    if POP_CK in text:
        items = [item for item in text.split(ITEM_SEP) if not item.startswith(POP_CK + NAME_SEP)]
        header = replace(header, ext={**ext, fields.properties: ITEM_SEP.join(items)})
    if header.code == RequestCode.SEND_BATCH_MESSAGE or ext.get(fields.batch, "").lower() == "true":
        body = _batch_without_handles(body)
    return header, body


def _batch_without_handles(body: Buffer) -> Buffer:
    data = bytes(body)
    if _POP_CK not in data:
        return body
    try:
        items = decode_batch(data)
    except BatchInvalid:
        return body
    return encode_batch(each._replace(properties=remove_properties(each.properties, (_POP_CK,))) for each in items)
