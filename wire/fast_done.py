"""The fast path of answers that only report success.

A property test proves them equal to what the general encoder writes.
"""

from __future__ import annotations

from typing import Final

from rocketwire.wire.codes import FLAG_RESPONSE, ResponseCode
from rocketwire.wire.frame import PREFIX

_TYPE_WORD: Final = 4


class DoneAnswers:
    """Writes such answers of one broker."""

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
