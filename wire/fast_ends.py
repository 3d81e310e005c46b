"""The short way of END_TRANSACTION (37), as `wire.fast` has it for sends: each transaction brings one.

Reading and answering them are proven equal to the declared headers by property tests; a frame that does not look as
expected is left to those.
"""

from __future__ import annotations

from typing import Final

import msgspec

from rocketwire.wire.codes import RequestCode
from rocketwire.wire.frame import PREFIX
from rocketwire.wire.headers.transaction import EndTransactionRequestHeader
from rocketwire.wire.java import Int32

_START: Final = b'{"code":%d,' % RequestCode.END_TRANSACTION
_TYPE_WORD: Final = 4
_ANSWER: Final = b'{"code":0,"flag":1,"language":"JAVA","opaque":%d,"serializeTypeCurrentRPC":"JSON","version":%d}'


class EndHeader(msgspec.Struct, gc=False, frozen=True):
    """The header of a request that ends a transaction."""

    code: Int32
    opaque: Int32
    fields: EndTransactionRequestHeader = msgspec.field(name="extFields")
    flag: Int32 = 0
    version: Int32 = 0


_decode = msgspec.json.Decoder(EndHeader, strict=False).decode


def decode_end(header: memoryview) -> EndHeader | None:
    """The header of such a request in JSON, or None when it is another code or needs the general decoder."""
    if header[: len(_START)] != _START:
        return None
    try:
        return _decode(header)
    except (msgspec.DecodeError, UnicodeDecodeError):  # the general decoder names what is wrong with it
        return None


def end_answer(opaque: int, version: int) -> bytes:
    """The frame that says that such a request in JSON was carried out."""
    header = _ANSWER % (opaque, version)
    return PREFIX.pack(len(header) + _TYPE_WORD, len(header)) + header
