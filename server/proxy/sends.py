"""Sends and pulls as a proxy knows them: by their codes, and by fields of headers that it does not decode further."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from rocketwire.wire.codes import RequestCode, SysFlag

PULLS: Final = frozenset({RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE, RequestCode.POP_MESSAGE})
_DIGITS: Final = 10
"""The most of a 32-bit number."""


class SendFields(NamedTuple):
    """The names of a send's fields."""

    topic: str
    group: str
    queue: str
    properties: str
    sys_flag: str


_LONG: Final = SendFields("topic", "producerGroup", "queueId", "properties", "sysFlag")
_SHORT: Final = SendFields("b", "a", "e", "i", "f")
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
