"""The fast path of CONSUMER_SEND_MSG_BACK (36): decoding its header, as `wire.fast` does for sends.

A failing consumer sends back all it gets, so these come as often as sends. Property tests prove it equal to the
declared headers; frames of any other form are left to those.
"""

from __future__ import annotations

from typing import Final

import msgspec

from rocketwire.wire.codes import RequestCode
from rocketwire.wire.fast_texts import OddTexts
from rocketwire.wire.headers.send import ConsumerSendMsgBackRequestHeader
from rocketwire.wire.java import Int32


class SendBackHeader(msgspec.Struct, gc=False, frozen=True):
    """The header of a request that sends a message back."""

    code: Int32
    opaque: Int32
    fields: ConsumerSendMsgBackRequestHeader = msgspec.field(name="extFields")
    flag: Int32 = 0
    version: Int32 = 0


_decode = msgspec.json.Decoder(SendBackHeader, strict=False).decode
_odd_texts: Final = OddTexts("unitMode")


def decode_send_back(header: memoryview) -> SendBackHeader | None:
    """The header of such a request in JSON, or None when it is another code or needs the general decoder."""
    try:
        found = _decode(header)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    if found.code != RequestCode.CONSUMER_SEND_MSG_BACK:
        return None
    return None if _odd_texts(bytes(header), true=found.fields.unit_mode) else found
