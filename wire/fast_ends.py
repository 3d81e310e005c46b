"""The short way of END_TRANSACTION (37), as `wire.fast` has it for sends: each transaction brings one.

Reading it is proven equal to the declared headers by property tests; a frame that does not look as
expected is left to those.
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
    except (msgspec.DecodeError, UnicodeDecodeError):  # the general decoder names what is wrong with it
        return None
    if found.code != RequestCode.END_TRANSACTION:
        return None
    return None if _odd_texts(bytes(header), true=found.fields.from_transaction_check) else found
