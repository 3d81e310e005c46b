"""The short way of CONSUMER_SEND_MSG_BACK (36), as `wire.fast` has it for sends.

A consumer in trouble gives back all it gets, so these come as often as sends. Reading and answering them are proven
equal to the declared headers by property tests; a frame that does not look as expected is left to those.
"""

from __future__ import annotations

from typing import Final

import msgspec

from rocketwire.wire.codes import FLAG_RESPONSE, RequestCode, ResponseCode
from rocketwire.wire.frame import PREFIX
from rocketwire.wire.headers.send import ConsumerSendMsgBackRequestHeader
from rocketwire.wire.java import Int32

_START: Final = b'{"code":%d,' % RequestCode.CONSUMER_SEND_MSG_BACK
_TYPE_WORD: Final = 4


class SendBackHeader(msgspec.Struct, gc=False, frozen=True):
    """The header of a request that gives a message back."""

    code: Int32
    opaque: Int32
    fields: ConsumerSendMsgBackRequestHeader = msgspec.field(name="extFields")
    flag: Int32 = 0
    version: Int32 = 0


_decode = msgspec.json.Decoder(SendBackHeader, strict=False).decode


def decode_send_back(header: memoryview) -> SendBackHeader | None:
    """The header of such a request in JSON, or None when it is another code or needs the general decoder."""
    if header[: len(_START)] != _START:
        return None
    try:
        return _decode(header)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


class SendBackAnswers:
    """Writes the frames that say that a message was taken back."""

    __slots__ = ("_template",)

    def __init__(self, *, version: int) -> None:
        end = b'"serializeTypeCurrentRPC":"JSON","version":%d}' % version
        self._template = (
            b'{"code":%d,"flag":%d,"language":"JAVA","opaque":%%d,' % (ResponseCode.SUCCESS, FLAG_RESPONSE) + end
        )

    def encode(self, opaque: int) -> bytes:
        """The frame that answers a request in JSON."""
        header = self._template % opaque
        length = len(header)
        return PREFIX.pack(length + _TYPE_WORD, length) + header
