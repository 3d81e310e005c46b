"""The fast path of END_TRANSACTION (37): decoding its header, as `wire.fast` does for sends.

Property tests prove it equal to the declared headers; frames of any other form are left to those.
"""

from __future__ import annotations

from typing import Final

import msgspec

from rocketwire.wire.codes import RequestCode
from rocketwire.wire.fast_texts import OddTexts
from rocketwire.wire.headers.transaction import EndTransactionRequestHeader
from rocketwire.wire.java import Int32


class EndHeader(msgspec.Struct, gc=False, frozen=True):
    """The header of a request that ends a transaction."""

    code: Int32
    opaque: Int32
    fields: EndTransactionRequestHeader = msgspec.field(name="extFields")
    flag: Int32 = 0
    version: Int32 = 0


_decode = msgspec.json.Decoder(EndHeader, strict=False).decode
_odd_texts: Final = OddTexts("fromTransactionCheck")


def decode_end(header: memoryview) -> EndHeader | None:
    """The header of such a request in JSON, or None when it is another code or needs the general decoder."""
    try:
        found = _decode(header)
    except (msgspec.DecodeError, UnicodeDecodeError):  # the general decoder reports the error
        return None
    if found.code != RequestCode.END_TRANSACTION:
        return None
    return None if _odd_texts(bytes(header), true=found.fields.from_transaction_check) else found
